package lab

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
)

// Names of interfaces. They are only seen inside the lab's namespaces.
const (
	coreBridge = "core"
	hostLink   = "eth0"
)

// fabric is the switch while it is built.
type fabric struct {
	*netlink.Handle
	core netlink.Link
}

// openFabric makes the core of a switch in a namespace; the caller closes it.
func openFabric(ns *os.File) (*fabric, error) {
	h, err := handleIn(ns)
	if err != nil {
		return nil, err
	}
	f := &fabric{Handle: h}
	if f.core, err = f.bridge(coreBridge); err != nil {
		h.Close()
		return nil, err
	}
	return f, nil
}

// wire builds the network: bridges and uplinks in the switch, and a link to
// each host. open holds the namespaces by name.
func wire(m Manifest, spec Spec, open map[string]*os.File) error {
	for name, ns := range open {
		if err := prepare(ns); err != nil {
			return fmt.Errorf("preparing network namespace %s: %w", name, err)
		}
	}
	f, err := openFabric(open[m.Switch.Name])
	if err != nil {
		return err
	}
	defer f.Close()
	byName := make(map[model.NodeID]HostRecord)
	var hosts []Host
	for _, r := range m.Hosts {
		hosts, byName[r.Name] = append(hosts, r.Host), r
	}
	for i, r := range spec.racks(hosts) {
		bridge, err := f.rack(i, r)
		if err != nil {
			return fmt.Errorf("making the bridge of group %d: %w", i, err)
		}
		for _, name := range r.hosts {
			if err := f.plug(bridge, byName[name], open[byName[name].Namespace.Name]); err != nil {
				return fmt.Errorf("linking host %s: %w", name, err)
			}
		}
	}
	return nil
}

// prepare takes up lo in a new namespace, turns off IPv6 (its neighbour and
// router messages would go over the shaped links), and chooses TCP's congestion
// control. Everything else is as the kernel has it for a new host.
func prepare(ns *os.File) error {
	err := procself.OnThread(func() error {
		if err := enter(ns); err != nil {
			return err
		}
		for _, which := range []string{"all", "default"} {
			// /proc/sys/net is that of the thread that opens the file.
			path := "/proc/sys/net/ipv6/conf/" + which + "/disable_ipv6"
			if err := os.WriteFile(path, []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return controlCongestion()
	})
	if err != nil {
		return err
	}
	h, err := handleIn(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	return setUp(h, "lo", Limits{}, nil)
}

// controlCongestion gives this thread's namespace the congestion control that
// a new Linux host has, whatever this machine uses: a lab must mean the same
// everywhere. It matters: BBR estimates a rate that a token bucket, which lets
// bursts pass, does not have, and was seen to leave a link half empty.
func controlCongestion() (err error) {
	for _, name := range []string{"cubic", "reno"} { // the kernel always has reno
		if err = os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(name), 0); err == nil {
			return nil
		}
	}
	return fmt.Errorf("choosing TCP's congestion control: %w", err)
}

// handleIn opens a netlink socket in a namespace.
func handleIn(ns *os.File) (*netlink.Handle, error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("configuring network namespace %s: %w", ns.Name(), err)
	}
	return h, nil
}

// setUp connects an interface, if there is something to connect it to, limits
// and delays what it sends, and takes it up.
func setUp(h *netlink.Handle, name string, limits Limits, connect func(netlink.Link) error) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	if connect != nil {
		if err := connect(link); err != nil {
			return fmt.Errorf("connecting interface %s: %w", name, err)
		}
	}
	if err := shape(h, link, limits); err != nil {
		return fmt.Errorf("shaping interface %s to %s with a delay of %s: %w", name, limits.Link, limits.Delay, err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return fmt.Errorf("taking interface %s up: %w", name, err)
	}
	return nil
}

// bridge makes a bridge. It has no spanning tree, so its ports forward at
// once.
func (f *fabric) bridge(name string) (netlink.Link, error) {
	b := &netlink.Bridge{LinkAttrs: attrs(name)}
	if err := f.LinkAdd(b); err != nil {
		return nil, fmt.Errorf("making bridge %s: %w", name, err)
	}
	return b, setUp(f.Handle, name, Limits{}, nil)
}

// attrs are the kernel's defaults with a name.
func attrs(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

// rack makes the bridge of a group and its uplink to the core. Both ends send at
// the uplink's rate.
func (f *fabric) rack(number int, r rack) (netlink.Link, error) {
	if r.direct {
		return f.core, nil
	}
	bridge, err := f.bridge(fmt.Sprintf("group%d", number))
	if err != nil {
		return nil, err
	}
	up, down := fmt.Sprintf("up%d", number), fmt.Sprintf("down%d", number)
	if err := f.LinkAdd(&netlink.Veth{LinkAttrs: attrs(up), PeerName: down}); err != nil {
		return nil, fmt.Errorf("making uplink %s: %w", up, err)
	}
	return bridge, errors.Join(
		f.port(up, bridge, Limits{Link: r.uplink}),
		f.port(down, f.core, Limits{Link: r.uplink}))
}

// port attaches an interface of the switch to a bridge and takes it up.
func (f *fabric) port(name string, bridge netlink.Link, limits Limits) error {
	return setUp(f.Handle, name, limits, func(link netlink.Link) error { return f.LinkSetMaster(link, bridge) })
}

// plug makes a host's link. Its own end shapes and delays what it sends, the switch's
// end what it receives.
func (f *fabric) plug(bridge netlink.Link, r HostRecord, ns *os.File) error {
	veth := &netlink.Veth{LinkAttrs: attrs(r.Port), PeerName: hostLink, PeerNamespace: netlink.NsFd(ns.Fd())}
	if err := f.LinkAdd(veth); err != nil {
		return fmt.Errorf("making link %s: %w", r.Port, err)
	}
	if err := f.port(r.Port, bridge, r.Limits); err != nil {
		return err
	}
	h, err := handleIn(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	addr := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(r.Address).To4(), Mask: net.CIDRMask(prefixBits, 32)}}
	return setUp(h, hostLink, r.Limits, func(link netlink.Link) error { return h.AddrAdd(link, addr) })
}

// Token buckets. The bucket must hold what is due between two looks of the
// kernel at it, or the link is slower than its rate when the machine is busy;
// a larger one lets more through at once after a pause.
const (
	burstTime = 0.004     // seconds at the link's rate: 0.4 % of a second's bytes
	minBurst  = 16 * 1024 // bytes; ten frames
	minQueue  = 64 * 1024 // bytes; one segment as TCP hands it down
	tickNanos = 64        // the unit of the kernel's packet scheduler (PSCHED_SHIFT)
)

// defaultQueue is how long a frame waits at most, as in a switch with short buffers.
const defaultQueue = 20 * time.Millisecond

// inFlight is how many packets a delay holds at most: so many that it never drops any,
// for that is what the bucket's queue is for.
const inFlight = 1_000_000

// shape delays what an interface sends, and limits it to a rate, in bytes of Ethernet
// frames. Rate or delay 0 means none.
func shape(h *netlink.Handle, link netlink.Link, limits Limits) error {
	all, err := qdiscs(link.Attrs().Index, limits)
	for _, q := range all {
		if err == nil {
			err = h.QdiscAdd(q)
		}
	}
	return err
}

// qdiscs are what shapes an interface, from the outer to the inner one: with both, what
// has had its delay waits for the bucket (tc-netem(8), "Rate control").
func qdiscs(index int, limits Limits) (out []netlink.Qdisc, err error) {
	at := netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	if delay := limits.Delay.Std(); delay > 0 {
		out = append(out, netlink.NewNetem(at, netlink.NetemQdiscAttrs{Latency: uint32(delay.Microseconds()), Limit: inFlight}))
		at.Handle, at.Parent = netlink.MakeHandle(2, 0), netlink.MakeHandle(1, 1)
	}
	if limits.Link == (unit.Rate{}) {
		return out, nil
	}
	bytes, err := limits.Link.BytesPerSecond()
	if err != nil {
		return nil, err
	}
	return append(out, bucket(at, bytes, limits.Queue.Std())), nil
}

// bucket lets so many bytes a second pass. A frame that would wait for longer than the
// queue's time is dropped; 0: defaultQueue.
func bucket(at netlink.QdiscAttrs, bytes float64, wait time.Duration) *netlink.Tbf {
	burst := max(minBurst, bytes*burstTime)
	queue := max(minQueue, bytes*cmp.Or(wait, defaultQueue).Seconds())
	return &netlink.Tbf{
		QdiscAttrs: at,
		Rate:       uint64(bytes),
		Buffer:     uint32(burst / bytes * 1e9 / tickNanos),
		Limit:      uint32(burst + queue),
	}
}
