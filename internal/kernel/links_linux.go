package kernel

import (
	"bytes"
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

// Links lists the interfaces of this process's network namespace. It
// asks the kernel and not /sys/class/net, which shows the namespace in which
// /sys was mounted. Without an answer the list is empty.
func Links() []Link {
	rib, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return nil
	}
	messages, err := syscall.ParseNetlinkMessage(rib)
	if err != nil {
		return nil
	}
	var links []Link
	for i := range messages {
		if l, ok := parseLink(&messages[i]); ok {
			links = append(links, l)
		}
	}
	return links
}

// parseLink reads an RTM_NEWLINK message (rtnetlink(7)).
func parseLink(m *syscall.NetlinkMessage) (l Link, ok bool) {
	if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
		return l, false
	}
	l.index = int32(binary.NativeEndian.Uint32(m.Data[4:]))
	l.loopback = binary.NativeEndian.Uint32(m.Data[8:])&unix.IFF_LOOPBACK != 0
	eachAttribute(m.Data[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.name = string(bytes.TrimRight(value, "\x00"))
		case unix.IFLA_MASTER:
			if len(value) >= 4 {
				l.master = int32(binary.NativeEndian.Uint32(value))
			}
		case unix.IFLA_LINKINFO:
			eachAttribute(value, func(kind uint16, value []byte) {
				if kind == unix.IFLA_INFO_KIND {
					l.kind = string(bytes.TrimRight(value, "\x00"))
				}
			})
		}
	})
	return l, l.name != ""
}

// eachAttribute cuts up netlink attributes: length, type, value, and zeros up
// to a multiple of four bytes.
func eachAttribute(b []byte, fn func(kind uint16, value []byte)) {
	for len(b) >= unix.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return
		}
		fn(binary.NativeEndian.Uint16(b[2:])&^unix.NLA_F_NESTED, b[unix.SizeofRtAttr:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}
