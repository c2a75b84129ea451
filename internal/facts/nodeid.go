package facts

import (
	"net/netip"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// natAddress is what every guest of VirtualBox and of QEMU's user network has:
// private, but not unique.
const natAddress = "10.0.2.15"

// NodeID chooses the name under which a node takes part when its owner gave
// none. The paper (ScaleBench, section 2.1) uses the worker's private IP
// address, "which is unique in a private network"; so do we, and fall back in
// this order:
//
//  1. the first address, the default route's, if it is a private IPv4 one;
//  2. the host's name, unless it is the kind that every host has (localhost);
//  3. the first address of any kind;
//  4. whatever the host calls itself, or "node".
//
// Private addresses of other interfaces are not taken: a bridge for containers
// has the same one on every host. The id is always valid, and the same at
// every start as long as the facts are.
func NodeID(f model.Facts, hostname string) model.NodeID {
	name := cleanName(hostname)
	first := ""
	if len(f.Addresses) > 0 {
		first = f.Addresses[0]
	}
	addr, err := netip.ParseAddr(first)
	private := err == nil && addr.Is4() && addr.IsPrivate() && first != natAddress
	for _, choice := range []struct {
		id     string
		usable bool
	}{
		{first, private},
		{name, !everyHosts(name)},
		{first, err == nil},
		{name, true},
	} {
		if id := model.NodeID(choice.id); choice.usable && id.Validate() == nil {
			return id
		}
	}
	return "node"
}

// everyHosts reports whether a name says nothing about the host.
func everyHosts(name string) bool {
	first, _, _ := strings.Cut(strings.ToLower(name), ".")
	return first == "" || first == "none" || strings.HasPrefix(first, "localhost")
}

// maxName is the longest node id.
const maxName = 128

// cleanName makes a host's name usable as an id: what an id may not hold
// becomes "-".
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r) {
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, "._:-")
	return strings.TrimRight(name[:min(len(name), maxName)], "._:-")
}
