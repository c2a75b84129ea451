package facts

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

func TestNodeID(t *testing.T) {
	tests := []struct {
		name      string
		addresses []string
		hostname  string
		want      model.NodeID
	}{
		{"the paper's worker", []string{"172.31.0.20", "2600::1"}, "ip-172-31-0-20", "172.31.0.20"},
		{"public address", []string{"203.0.113.9", "10.1.1.4"}, "worker-1", "worker-1"},
		{"bridge beside a public address", []string{"203.0.113.9", "172.17.0.1"}, "localhost", "203.0.113.9"},
		{"everybody's private address", []string{"10.0.2.15"}, "vm", "vm"},
		{"no network", nil, "laptop.example.com", "laptop.example.com"},
		{"IPv6 only", []string{"fd00::2"}, "localhost.localdomain", "fd00::2"},
		{"nothing but localhost", nil, "localhost", "localhost"},
		{"name that no id may hold", nil, "-my host!", "my-host"},
		{"name beyond ASCII", nil, "größe", "gr--e"},
		{"long name", nil, strings.Repeat("a", 200), model.NodeID(strings.Repeat("a", 128))},
		{"nothing", nil, "", "node"},
		{"(none)", nil, "(none)", "none"},
		{"no address", []string{"garbage"}, "", "node"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NodeID(model.Facts{Addresses: tt.addresses}, tt.hostname); got != tt.want {
				t.Errorf("NodeID(%v, %q) = %q, want %q", tt.addresses, tt.hostname, got, tt.want)
			}
		})
	}
}

func FuzzNodeID(f *testing.F) {
	f.Add("172.31.0.20", "host")
	f.Add("::1%eth0", "..")
	f.Fuzz(func(t *testing.T, addr, hostname string) {
		if err := NodeID(model.Facts{Addresses: []string{addr}}, hostname).Validate(); err != nil {
			t.Error(err)
		}
	})
}

func TestParseCPUList(t *testing.T) {
	tests := []struct {
		in   string
		want []int
	}{
		{"0-3,8,10-11", []int{0, 1, 2, 3, 8, 10, 11}},
		{"0", []int{0}},
		{"", nil},
		{"3-1", nil},
		{"0-", nil},
		{"x", nil},
		{"0-99999999999", nil},
		{"-1", nil},
	}
	for _, tt := range tests {
		got := slices.Sorted(maps.Keys(parseCPUList(tt.in)))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("parseCPUList(%q) (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestHypervisor(t *testing.T) {
	const guest, metal = "flags\t: fpu hypervisor", "flags\t: fpu"
	tests := []struct {
		name  string
		cpu   string
		files map[string]string
		want  string
	}{
		{"nothing known", "", nil, ""},
		{"x86 without the flag", metal, nil, "none"},
		{"flag alone", guest, nil, "vm-other"},
		{"EC2 instance", guest, map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "amazon"},
		{"EC2 whole machine", metal, map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "none"},
		{"EC2 whole arm64 machine", "", map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2", "sys/class/dmi/id/product_name": "m6g.metal"}, "none"},
		{"Azure", guest, map[string]string{"sys/class/dmi/id/product_version": "Hyper-V UEFI Release v4.1"}, "microsoft"},
		{"Hyper-V by its clock", guest, map[string]string{"sys/devices/system/clocksource/clocksource0/available_clocksource": "hyperv_clocksource_tsc_page acpi_pm"}, "microsoft"},
		{"VirtualBox", guest, map[string]string{"sys/class/dmi/id/sys_vendor": "innotek GmbH"}, "oracle"},
		{"Xen guest without the flag", metal, map[string]string{"sys/hypervisor/type": "xen"}, "xen"},
		{"Xen's first domain", guest, map[string]string{"proc/xen/capabilities": "control_d", "sys/hypervisor/type": "xen"}, "none"},
		{"arm64 KVM by device tree", "", map[string]string{"proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "kvm"},
		{"arm64 QEMU by device tree", "", map[string]string{"proc/device-tree/fw-cfg@9020000/reg": ""}, "qemu"},
		{"own server", metal, map[string]string{"sys/class/dmi/id/sys_vendor": "Dell Inc."}, "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := hypervisor(tree{root}, parseCPUInfo(tt.cpu)); got != tt.want {
				t.Errorf("hypervisor(%s) = %q, want %q", tt.name, got, tt.want)
			}
		})
	}
}

func TestAddressesLeavesOut(t *testing.T) {
	list := []Interface{{Name: "eth0", Up: true, Addresses: []netip.Addr{
		netip.MustParseAddr("169.254.1.2"), netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("::ffff:10.0.0.1"),
		netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("0.0.0.0"),
	}}}
	got := addresses(tree{fstest.MapFS{}}, list)
	if diff := cmp.Diff([]string{"10.0.0.1"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// FuzzKernelFiles feeds anything to every parser of a kernel's file: none may
// panic, and no number may come out of range.
func FuzzKernelFiles(f *testing.F) {
	for _, seed := range []string{
		"processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\nCPU variant : 0x3\nCPU revision : 1\n\nflags : hypervisor",
		"0-3,8",
		"0::/a/b\n4:cpu,cpuacct:/c",
		"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n31 23 0:26 /../x /../.. rw - cgroup cgroup rw,memory",
		"50000 100000",
		"eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0",
		"00000000000000000000000000000000 00 0 00 fd 00000400 00000002 00000000 00000003 eth1",
		"MemTotal: 9223372036854775807 kB",
	} {
		f.Add(seed)
	}
	files := []string{
		"proc/cpuinfo", "proc/self/status", "sys/devices/system/cpu/online", "proc/meminfo", "sys/block/sda/size",
		"proc/self/cgroup", "proc/self/mountinfo", "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max",
		"proc/net/route", "proc/net/ipv6_route", "etc/os-release",
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := fstest.MapFS{}
		for _, name := range files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := Collect(t.Context(), Options{Root: root, Hostname: "h",
			Interfaces: func() ([]Interface, error) { return nil, nil }, Cloud: CloudOptions{Client: refusing(t)}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Cores < 1 || got.Memory < 0 || got.CPULimit < 0 || got.MemLimit < 0 {
			t.Errorf("out of range: %+v", got)
		}
		for _, d := range got.Disks {
			if d.Size <= 0 {
				t.Errorf("disk of size %d", d.Size)
			}
		}
	})
}
