package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutward(t *testing.T) {
	lo := Link{index: 1, name: "lo", loopback: true}
	tests := []struct {
		name  string
		links []Link
		want  []string
	}{
		{"virtual machine with containers", []Link{lo, {index: 2, name: "eth0"}, {index: 3, name: "docker0", kind: "bridge"},
			{index: 4, name: "veth1", kind: "veth", master: 3}}, []string{"eth0"}},
		{"bond", []Link{lo, {index: 2, name: "eth0", master: 4}, {index: 3, name: "eth1", master: 4},
			{index: 4, name: "bond0", kind: "bond"}, {index: 5, name: "bond0.7", kind: "vlan"}}, []string{"eth0", "eth1"}},
		{"Azure, accelerated", []Link{lo, {index: 2, name: "eth0"}, {index: 3, name: "enP1", master: 2}}, []string{"eth0"}},
		{"container", []Link{lo, {index: 9, name: "eth0", kind: "veth"}}, []string{"eth0"}},
		{"host of a lab, shaped", []Link{lo, {index: 2, name: "eth0", kind: "veth"}, {index: 3, name: "ifb0", kind: "ifb"},
			{index: 4, name: "tunl0", kind: "ipip"}}, []string{"eth0"}},
		{"pod with two networks", []Link{lo, {index: 2, name: "eth0", kind: "veth"}, {index: 3, name: "net1", kind: "macvlan"}},
			[]string{"eth0", "net1"}},
		{"nothing but loopback", []Link{lo}, nil},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, outward(tt.links)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// netText writes /proc/net/dev with 16 numbers that begin at a base.
func netText(interfaces map[string]uint64, colon string) string {
	var b strings.Builder
	b.WriteString("Inter-|   Receive                            |  Transmit\n face |bytes    packets errs|bytes    packets\n")
	for name, base := range interfaces {
		fmt.Fprintf(&b, "%6s%s", name, colon)
		for i := range uint64(16) {
			fmt.Fprintf(&b, "%d ", base+i*base)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestNetwork(t *testing.T) {
	for kernel, colon := range map[string]string{"2.6": ":", "4 and later": ": "} {
		n := NewNetwork(func() []Link {
			return []Link{{index: 1, name: "lo", loopback: true}, {index: 2, name: "eth0"}, {index: 3, name: "br0", kind: "bridge"}}
		})
		first := collect(t, n.Parse, netText(map[string]uint64{"lo": 100, "eth0": 1000, "br0": 1000}, colon))
		second := collect(t, n.Parse, netText(map[string]uint64{"lo": 300, "eth0": 1010, "br0": 1010}, colon))
		want := map[string]float64{}
		for _, m := range netMetrics {
			if v, ok := first[m.metric]; !ok || v != 0 {
				t.Errorf("%s: %s begins at %v, want 0", kernel, m.metric, v)
			}
			want[m.metric] = float64(10 * (m.at + 1))
		}
		if d := cmp.Diff(want, second); d != "" {
			t.Errorf("%s: second reading (-want +got):\n%s", kernel, d)
		}
	}
}

// TestNetworkLearns: an interface that comes later is classified then, and
// counts from then on.
func TestNetworkLearns(t *testing.T) {
	links := []Link{{index: 2, name: "eth0"}}
	asked := 0
	n := NewNetwork(func() []Link { asked++; return links })
	for i, s := range []struct {
		interfaces map[string]uint64
		want       float64
	}{
		{map[string]uint64{"eth0": 1000}, 0},
		{map[string]uint64{"eth0": 1001}, 1},
		{map[string]uint64{"eth0": 1002, "eth1": 500, "veth7": 400}, 2},
		{map[string]uint64{"eth0": 1003, "eth1": 510, "veth7": 999}, 13},
		{map[string]uint64{"eth1": 520}, 23},
	} {
		if len(s.interfaces) == 3 {
			links = []Link{{index: 2, name: "eth0"}, {index: 3, name: "eth1"}, {index: 4, name: "veth7", kind: "veth"}}
		}
		if got := collect(t, n.Parse, netText(s.interfaces, ": "))["net.rx_bytes"]; got != s.want {
			t.Errorf("reading %d: net.rx_bytes = %v, want %v", i, got, s.want)
		}
	}
	if asked != 2 {
		t.Errorf("the interfaces were asked for %d times, want 2", asked)
	}
}

// TestNetworkWithoutLinks: where the kernel does not tell what the interfaces
// are, all but loopback count.
func TestNetworkWithoutLinks(t *testing.T) {
	n := NewNetwork(func() []Link { return nil })
	collect(t, n.Parse, netText(map[string]uint64{"lo": 1, "eth0": 10}, ": "))
	got := collect(t, n.Parse, netText(map[string]uint64{"lo": 100, "eth0": 15}, ": "))
	if got["net.rx_bytes"] != 5 {
		t.Errorf("net.rx_bytes = %v, want 5", got["net.rx_bytes"])
	}
}
