package kernel

import (
	"bytes"
	"slices"
	"strings"
)

// netMetrics are the metrics of the interfaces, with their columns in
// /proc/net/dev behind the name.
var netMetrics = [...]struct {
	metric string
	at     int
}{
	{"net.rx_bytes", 0}, {"net.rx_packets", 1}, {"net.rx_errors", 2}, {"net.rx_drops", 3},
	{"net.tx_bytes", 8}, {"net.tx_packets", 9}, {"net.tx_errors", 10}, {"net.tx_drops", 11},
}

// Network adds up what the interfaces count by which packets enter and leave this
// network namespace, each packet once.
type Network struct {
	// links says which interfaces there are and what they are; nil when that
	// cannot be known.
	links      func() []Link
	interfaces map[string]*netInterface
}

type netInterface struct {
	counted bool
	stats   [len(netMetrics)]Counter
}

// NewNetwork returns one that knows no interface yet. links says which there are
// and what they are; [Links] asks the kernel.
func NewNetwork(links func() []Link) *Network {
	return &Network{links: links, interfaces: map[string]*netInterface{}}
}

// Parse reads /proc/net/dev: two lines of headings, then lines of name, colon, and
// 16 numbers; older kernels put no blank behind the colon.
func (n *Network) Parse(b []byte, out Emit) {
	n.learn(b)
	eachInterface(b, func(name, rest []byte) {
		var numbers [12]uint64
		i := n.interfaces[string(name)]
		if i == nil || !i.counted || Uints(rest, numbers[:]) < len(numbers) {
			return
		}
		for k := range i.stats {
			i.stats[k].Add(numbers[netMetrics[k].at])
		}
	})
	// An interface that is gone stays in the sums with what it had.
	var sum [len(netMetrics)]uint64
	found := false
	for _, i := range n.interfaces {
		if i.counted {
			found = true
			for k := range sum {
				sum[k] += i.stats[k].Total
			}
		}
	}
	for k, m := range netMetrics {
		if found {
			out(m.metric, float64(sum[k]))
		}
	}
}

// learn asks what the interfaces are when there is one that is not known.
func (n *Network) learn(b []byte) {
	unknown := false
	eachInterface(b, func(name, _ []byte) {
		unknown = unknown || n.interfaces[string(name)] == nil
	})
	if !unknown {
		return
	}
	links := n.links()
	chosen := outward(links)
	eachInterface(b, func(name, _ []byte) {
		counted := string(name) != "lo"
		if len(links) > 0 {
			counted = slices.Contains(chosen, string(name))
		}
		if i := n.interfaces[string(name)]; i != nil {
			i.counted = counted
			return
		}
		n.interfaces[string(name)] = &netInterface{counted: counted}
	})
}

func eachInterface(b []byte, fn func(name, rest []byte)) {
	for line := range Lines(b) {
		before, rest, ok := bytes.Cut(line, []byte{':'}) // a name cannot hold one
		if name, _ := Field(before); ok && len(name) > 0 {
			fn(name, rest)
		}
	}
}

// Link is a network interface as the kernel describes it.
type Link struct {
	index    int32
	name     string
	kind     string // "veth", "bridge", …; empty for hardware
	master   int32  // index of the one that it is a part of; 0: none
	loopback bool
}

// inner are the kinds of interface that only pass on, within the machine or
// packed into packets of another interface, what that other one counts, too.
var inner = strings.Fields("bridge bond team vlan ifb dummy vrf nlmon vxlan geneve gre gretap ip6gre ip6gretap " +
	"ipip ip6tnl sit wireguard openvswitch tun macsec vcan erspan ip6erspan vti vti6 xfrm")

// outward names the interfaces by which packets enter and leave, each packet
// once. Where there is hardware, that is the hardware, except a part of an
// interface without a kind, which counts its parts' packets itself (a virtual
// function below its synthetic interface, as on Azure). Without hardware, as in
// a container, it is what connects the namespace with others (veth, macvlan,
// …).
func outward(links []Link) []string {
	hardware := map[int32]bool{}
	for _, l := range links {
		if l.kind == "" && !l.loopback {
			hardware[l.index] = true
		}
	}
	var names []string
	for _, l := range links {
		switch {
		case l.loopback:
		case len(hardware) > 0:
			if hardware[l.index] && !hardware[l.master] {
				names = append(names, l.name)
			}
		case !slices.Contains(inner, l.kind):
			names = append(names, l.name)
		}
	}
	return names
}
