package kernel

import (
	"net"

	"github.com/vishvananda/netlink"
)

// Links lists the interfaces of this process's network namespace. It
// asks the kernel and not /sys/class/net, which shows the namespace in which
// /sys was mounted. Without an answer the list is empty.
func Links() []Link {
	all, _ := netlink.LinkList()
	var links []Link
	for _, l := range all {
		a, kind := l.Attrs(), l.Type()
		if kind == "device" { // which the kernel has no kind of
			kind = ""
		}
		links = append(links, Link{int32(a.Index), a.Name, kind, int32(a.MasterIndex), a.Flags&net.FlagLoopback != 0})
	}
	return links
}
