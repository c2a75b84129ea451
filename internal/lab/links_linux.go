package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/scalebench/scalebench/internal/model"
)

// Shape gives the links of hosts these rates, in whole bytes a second, and volumes these
// limits, and all others those with which they were made. It returns what the kernel
// has then of all that are limited, and fails where that is something else. Links
// without a rate and volumes without limits cannot get any. Frames that wait on a link
// that changes are lost.
func (l *Lab) Shape(want model.Shape) (is model.Shape, err error) {
	if is.Links, err = l.shapeLinks(want.Links); err == nil {
		is.Volumes, err = l.shapeVolumes(want.Volumes)
	}
	return is, err
}

// Shaped is what the kernel has now of links and volumes that are limited.
func (l *Lab) Shaped() (is model.Shape, err error) {
	is.Links, err = l.links(func(HostRecord) model.Link { return model.Link{} })
	if err == nil {
		is.Volumes, err = l.limits(nil)
	}
	return is, err
}

func (l *Lab) shapeLinks(want map[model.NodeID]model.Link) (map[model.NodeID]model.Link, error) {
	for name := range want {
		if r, err := l.host(name); err != nil {
			return nil, err
		} else if _, limited := r.made(); !limited {
			return nil, &model.InputError{Problem: fmt.Sprintf("the link of host %s has no rate in this lab", name), Allowed: "give its group a link"}
		}
	}
	return l.links(func(r HostRecord) model.Link {
		if rates, ok := want[r.Name]; ok {
			return rates
		}
		rates, _ := r.made()
		return rates
	})
}

// made is the rate of a host's link as the lab made it; false: it has none.
func (r HostRecord) made() (model.Link, bool) {
	bytes, err := r.Link.BytesPerSecond()
	return model.Link{Out: bytes, In: bytes}, err == nil && bytes > 0
}

// links sets links to the rates that want returns, of 0 to what they have, and returns
// what they have then.
func (l *Lab) links(want func(HostRecord) model.Link) (map[model.NodeID]model.Link, error) {
	hub, err := l.manifest.Switch.open()
	if err != nil {
		return nil, err
	}
	defer hub.Close() //nolint:errcheck // only looked at
	out := make(map[model.NodeID]model.Link)
	for _, r := range l.manifest.Hosts {
		if _, limited := r.made(); !limited {
			continue
		}
		has, err := r.rated(hub, want(r))
		if err != nil {
			return nil, fmt.Errorf("the link of host %s: %w", r.Name, err)
		}
		out[r.Name] = has
	}
	return out, nil
}

// rated sets both ends of a host's link: its own limits what it sends, the switch's what
// it receives.
func (r HostRecord) rated(hub *os.File, want model.Link) (has model.Link, err error) {
	own, err := r.Namespace.open()
	if err != nil {
		return has, err
	}
	defer own.Close() //nolint:errcheck // only looked at
	out, err1 := rateOf(own, hostLink, want.Out, r.Queue.Std())
	in, err2 := rateOf(hub, r.Port, want.In, r.Queue.Std())
	return model.Link{Out: out, In: in}, errors.Join(err1, err2)
}

// rateOf is the rate of the bucket of an interface in bytes a second, after it was set
// to another one; 0: it stays as it is. A new bucket has a queue of so much time.
func rateOf(ns *os.File, name string, want float64, queue time.Duration) (float64, error) {
	h, err := handleIn(ns)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	link, err := h.LinkByName(name)
	if err != nil {
		return 0, fmt.Errorf("interface %s: %w", name, err)
	}
	is, err := bucketOf(h, link)
	if err != nil || want == 0 || is.Rate == uint64(want) {
		return float64(is.Rate), err
	}
	// A bucket that is changed with frames in its queue was seen to let nothing through
	// from then on (Linux 6.18): a new one takes its place.
	err = h.QdiscDel(&is)
	if err == nil {
		err = h.QdiscAdd(bucket(is.QdiscAttrs, want, queue))
	}
	if err != nil {
		return 0, fmt.Errorf("changing the rate of interface %s: %w", name, err)
	}
	if is, err = bucketOf(h, link); err == nil && is.Rate != uint64(want) {
		err = fmt.Errorf("interface %s has %d bytes a second, and not %.0f, to which it was set", name, is.Rate, want)
	}
	return float64(is.Rate), err
}

// bucketOf is what limits an interface, as the kernel has it.
func bucketOf(h *netlink.Handle, link netlink.Link) (b netlink.Tbf, err error) {
	all, err := h.QdiscList(link)
	for _, q := range all {
		if b, ok := q.(*netlink.Tbf); ok {
			return *b, nil
		}
	}
	return b, cmp.Or(err, fmt.Errorf("interface %s is not limited any more", link.Attrs().Name))
}
