package facts

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Interface is a network interface of the node.
type Interface struct {
	Name      string
	Up        bool
	Addresses []netip.Addr
}

func systemInterfaces() ([]Interface, error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var list []Interface
	for _, i := range found {
		addrs, err := i.Addrs()
		if err != nil {
			continue // it went away meanwhile
		}
		out := Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				out.Addresses = append(out.Addresses, prefix.Addr())
			}
		}
		list = append(list, out)
	}
	return list, nil
}

// addresses lists the node's addresses, those first under which others will
// find it: the default route's interface, then other interfaces, then bridges,
// behind which only this host's own containers live; on each, global unicast
// before the rest and IPv4 before IPv6. Loopback and link-local addresses are
// left out.
func addresses(root tree, interfaces []Interface) []string {
	type ranked struct {
		addr netip.Addr
		rank int // the smaller, the earlier
	}
	routes := defaultRoutes(root)
	var list []ranked
	for _, i := range interfaces {
		if !i.Up {
			continue
		}
		place := slices.Index(routes, i.Name)
		if place < 0 {
			place = len(routes)
			if root.exists("sys/class/net/" + i.Name + "/bridge") {
				place++
			}
		}
		for _, a := range i.Addresses {
			a = a.Unmap().WithZone("")
			if a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() {
				continue
			}
			rank := 4 * place
			if !a.IsGlobalUnicast() {
				rank += 2
			}
			if a.Is6() {
				rank++
			}
			list = append(list, ranked{a, rank})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	var out []string
	for _, r := range list {
		out = appendNew(out, r.addr.String())
	}
	return out
}

// routeUp and routeReject are the kernel's flags RTF_UP and RTF_REJECT.
const (
	routeUp     = 0x1
	routeReject = 0x200
)

// routeTables are the kernel's tables of routes: the columns that matter, and
// the base of the metric's digits.
var routeTables = []struct {
	file                string
	name, flags, metric int
	base                int
	columns             int
	isDefault           func(fields []string) bool
}{
	// Iface Destination Gateway Flags RefCnt Use Metric Mask …
	{"proc/net/route", 0, 3, 6, 10, 8, func(f []string) bool { return f[1] == "00000000" && f[7] == "00000000" }},
	// destination length source length next-hop metric refs use flags name
	{"proc/net/ipv6_route", 9, 8, 5, 16, 10, func(f []string) bool { return strings.Trim(f[0], "0") == "" && f[1] == "00" }},
}

// defaultRoutes lists the interfaces of the default routes that are in use:
// IPv4 before IPv6, each by metric, the one that is used first.
func defaultRoutes(root tree) []string {
	type route struct {
		name   string
		metric uint64
	}
	var names []string
	for _, t := range routeTables {
		var list []route
		for line := range strings.SplitSeq(root.text(t.file), "\n") {
			f := strings.Fields(line)
			if len(f) < t.columns || !t.isDefault(f) || f[t.name] == "lo" {
				continue
			}
			flags, err1 := strconv.ParseUint(f[t.flags], 16, 32)
			metric, err2 := strconv.ParseUint(f[t.metric], t.base, 32)
			if err1 == nil && err2 == nil && flags&routeUp != 0 && flags&routeReject == 0 {
				list = append(list, route{f[t.name], metric})
			}
		}
		slices.SortStableFunc(list, func(a, b route) int { return cmp.Compare(a.metric, b.metric) })
		for _, r := range list {
			names = appendNew(names, r.name)
		}
	}
	return names
}
