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

// systemInterfaces asks the system.
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
		rank []int // the smaller, the earlier
	}
	routes := defaultRoutes(root)
	var list []ranked
	for _, i := range interfaces {
		if !i.Up {
			continue
		}
		rank := interfaceRank(root, routes, i.Name)
		for _, a := range i.Addresses {
			a = a.Unmap().WithZone("")
			if a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() {
				continue
			}
			list = append(list, ranked{a, []int{rank, truth(!a.IsGlobalUnicast()), truth(a.Is6())}})
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return slices.Compare(a.rank, b.rank) })
	var out []string
	for _, r := range list {
		out = appendNew(out, r.addr.String())
	}
	return out
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// interfaceRank is the place among the default routes, then other interfaces,
// then bridges.
func interfaceRank(root tree, routes []string, name string) int {
	if i := slices.Index(routes, name); i >= 0 {
		return i
	}
	if root.exists("sys/class/net/" + name + "/bridge") {
		return len(routes) + 1
	}
	return len(routes)
}

// defaultRoutes lists the interfaces of the default routes: IPv4 before IPv6,
// each by metric, the one that is used first.
func defaultRoutes(root tree) []string {
	var names []string
	for _, r := range parseRoutes4(root.text("proc/net/route")) {
		names = appendNew(names, r.name)
	}
	for _, r := range parseRoutes6(root.text("proc/net/ipv6_route")) {
		names = appendNew(names, r.name)
	}
	return names
}

// route is a default route.
type route struct {
	name   string
	metric uint64
}

// routeUp and routeReject are the kernel's flags RTF_UP and RTF_REJECT.
const (
	routeUp     = 0x1
	routeReject = 0x200
)

// parseRoutes4 reads /proc/net/route and returns its default routes.
func parseRoutes4(text string) []route {
	var list []route
	for line := range strings.SplitSeq(text, "\n") {
		// Iface Destination Gateway Flags RefCnt Use Metric Mask …
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		list = appendRoute(list, f[0], f[3], f[6], 10)
	}
	return byMetric(list)
}

// parseRoutes6 reads /proc/net/ipv6_route and returns its default routes.
func parseRoutes6(text string) []route {
	var list []route
	for line := range strings.SplitSeq(text, "\n") {
		// destination length source length next-hop metric refs use flags name
		f := strings.Fields(line)
		if len(f) < 10 || strings.Trim(f[0], "0") != "" || f[1] != "00" {
			continue
		}
		list = appendRoute(list, f[9], f[8], f[5], 16)
	}
	return byMetric(list)
}

// appendRoute appends a route that is in use.
func appendRoute(list []route, name, flags, metric string, base int) []route {
	bits, err1 := strconv.ParseUint(flags, 16, 32)
	m, err2 := strconv.ParseUint(metric, base, 32)
	if err1 != nil || err2 != nil || bits&routeUp == 0 || bits&routeReject != 0 || name == "lo" {
		return list
	}
	return append(list, route{name, m})
}

func byMetric(list []route) []route {
	slices.SortStableFunc(list, func(a, b route) int { return cmp.Compare(a.metric, b.metric) })
	return list
}
