package facts

import (
	"cmp"
	"io/fs"
	"strings"
)

// hypervisor names what the machine runs on: "kvm", "xen", "vmware",
// "microsoft", "amazon", "google", "qemu", "oracle", "parallels", "apple",
// "bhyve", "acrn"; "vm-other" for one that does not say what it is; "none" on
// bare metal; "" where nothing can be known.
//
// The names and the order of the questions follow systemd-detect-virt, with
// one difference: it reads the hypervisor's signature with the CPUID
// instruction, we know KVM, Xen and Hyper-V by the clock that they offer.
func hypervisor(root tree, cpu cpuInfo) string {
	if strings.Contains(root.text("proc/xen/capabilities"), "control_d") {
		return "none" // Xen's own first domain has the machine
	}
	xen := ""
	if root.text("sys/hypervisor/type") == "xen" || root.exists("proc/xen") {
		xen = "xen"
	}
	name := cmp.Or(dmiVendor(root), xen, clock(root), deviceTree(root))
	// The firmware of a whole machine rented from a cloud names the cloud as that of a
	// virtual machine does. On x86 the hypervisor bit decides; elsewhere the product's name
	// does ("m6g.metal").
	metal := strings.Contains(dmi(root, "product_name"), ".metal")
	if cpu.flags {
		metal = !cpu.hypervisor && !root.exists("sys/hypervisor/type")
	}
	if name != "" && !metal {
		return name
	}
	switch {
	case cpu.hypervisor:
		return "vm-other"
	case cpu.flags, root.exists("sys/class/dmi/id"), root.exists("proc/device-tree"):
		return "none"
	}
	return ""
}

// dmiFiles are the firmware's words that may name a hypervisor, in the order
// of systemd's.
var dmiFiles = []string{"product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version"}

// dmiVendors are prefixes of those words.
var dmiVendors = []struct{ prefix, name string }{
	{"KVM", "kvm"},
	{"OpenStack", "kvm"},
	{"KubeVirt", "kvm"},
	{"Amazon EC2", "amazon"},
	{"Google Compute Engine", "google"},
	{"QEMU", "qemu"},
	{"VMware", "vmware"},
	{"VMW", "vmware"},
	{"innotek GmbH", "oracle"},
	{"VirtualBox", "oracle"},
	{"Xen", "xen"},
	{"Bochs", "bochs"},
	{"Parallels", "parallels"},
	{"BHYVE", "bhyve"},
	{"Hyper-V", "microsoft"},
	{"Apple Virtualization", "apple"},
	{"Alibaba Cloud ECS", "kvm"},
}

func dmi(root tree, file string) string { return root.text("sys/class/dmi/id/" + file) }

func dmiVendor(root tree) string {
	for _, file := range dmiFiles {
		word := dmi(root, file)
		for _, v := range dmiVendors {
			if strings.HasPrefix(word, v.prefix) {
				return v.name
			}
		}
	}
	return ""
}

// clock knows the hypervisors that offer a clock of their own.
func clock(root tree) string {
	offered := root.text("sys/devices/system/clocksource/clocksource0/available_clocksource")
	for _, c := range []struct{ part, name string }{
		{"kvm-clock", "kvm"}, {"xen", "xen"}, {"hyperv", "microsoft"},
	} {
		if strings.Contains(offered, c.part) {
			return c.name
		}
	}
	return ""
}

// deviceTree is where arm64 machines without DMI describe themselves.
func deviceTree(root tree) string {
	switch compatible := root.text("proc/device-tree/hypervisor/compatible"); {
	case strings.HasPrefix(compatible, "linux,kvm"):
		return "kvm"
	case strings.Contains(compatible, "xen"):
		return "xen"
	case strings.Contains(compatible, "vmware"):
		return "vmware"
	case compatible != "":
		return "vm-other"
	}
	if nodes, _ := fs.Glob(root, "proc/device-tree/*fw-cfg*"); len(nodes) > 0 {
		return "qemu"
	}
	return ""
}
