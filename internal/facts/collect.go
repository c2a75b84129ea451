package facts

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Options says where to look. The zero value looks at this machine.
type Options struct {
	// Root is the file system with proc, sys and etc to read; nil is "/".
	Root fs.FS
	// Hostname is the host's name; empty asks the system.
	Hostname string
	// Interfaces lists the network interfaces; nil asks the system.
	Interfaces func() ([]Interface, error)
	// Version is the agent's, copied into the facts.
	Version string
	// Cloud says how to ask for the instance's type, zone and id.
	Cloud CloudOptions
}

// Collect returns the facts of a node. It takes at most a second where there is
// a cloud, and milliseconds elsewhere.
//
// The facts are usable even when the error is not nil: it then says what could
// not be found out although it should be there (a cloud's metadata service
// that does not answer, interfaces that cannot be listed).
func Collect(ctx context.Context, opts Options) (model.Facts, error) {
	root := tree{opts.Root}
	if opts.Root == nil {
		root = tree{os.DirFS("/")}
	}
	cpu := parseCPUInfo(root.text("proc/cpuinfo"))
	f := model.Facts{
		Hostname:   opts.Hostname,
		BootID:     root.text("proc/sys/kernel/random/boot_id"),
		OS:         osName(root),
		Kernel:     root.text("proc/sys/kernel/osrelease"),
		Arch:       runtime.GOARCH,
		CPUModel:   strings.Join(cpu.models, " + "),
		Cores:      cores(root),
		Microcode:  microcode(root, cpu),
		Hypervisor: hypervisor(root, cpu),
		Memory:     memory(root),
		Disks:      disks(root),
		Agent:      opts.Version,
	}
	f.CPULimit, f.MemLimit = limits(root)
	if f.Hostname == "" {
		// A host without a name is named after its address; see NodeID.
		f.Hostname, _ = os.Hostname()
	}
	list := opts.Interfaces
	if list == nil {
		list = systemInterfaces
	}
	interfaces, err := list()
	if err != nil {
		return f, fmt.Errorf("listing network interfaces: %w", err)
	}
	f.Addresses = addresses(root, interfaces)
	f.Cloud, err = askCloud(ctx, root, opts.Cloud)
	return f, err
}

// tree reads small files of the kernel. What is missing or unreadable is
// empty: which files there are differs between machines, and none is needed.
type tree struct{ fs.FS }

// text returns a file without the space and the zero bytes around it.
func (t tree) text(name string) string {
	data, err := fs.ReadFile(t, name)
	if err != nil {
		return ""
	}
	return strings.Trim(string(data), " \t\r\n\x00")
}

// line returns what follows a prefix, in the first line of a file that has it.
func (t tree) line(name, prefix string) string {
	for line := range strings.SplitSeq(t.text(name), "\n") {
		if value, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (t tree) exists(name string) bool {
	_, err := fs.Stat(t, name)
	return err == nil
}

// osName is the distribution's full name, e.g. "Debian GNU/Linux 12
// (bookworm)", or the system's if there is none ("darwin").
func osName(root tree) string {
	const key = "PRETTY_NAME="
	name := cmp.Or(root.line("etc/os-release", key), root.line("usr/lib/os-release", key))
	return cmp.Or(strings.Trim(name, `"'`), runtime.GOOS)
}

// memory is MemTotal, in bytes: what the kernel manages, a little less than
// what the machine was rented with.
func memory(root tree) int64 {
	text, inKiB := strings.CutSuffix(root.line("proc/meminfo", "MemTotal:"), " kB")
	kib, err := strconv.ParseInt(text, 10, 64)
	if !inKiB || err != nil || kib < 0 || kib > 1<<52 {
		return 0
	}
	return kib * 1024
}

// Memory returns the node's memory and what the control groups of this process
// allow of it, in bytes, as Linux shows them below root (os.DirFS("/")): 0 for
// what is unknown or not limited.
func Memory(root fs.FS) (total, limit int64) {
	_, limit = limits(tree{root})
	return memory(tree{root}), limit
}

// notDisks are block devices that hold no volume of the node: files, memory,
// drives for removable media.
var notDisks = []string{"loop", "ram", "zram", "sr", "fd"}

// disks lists the block devices, by name. The kernel counts their size in
// sectors of 512 bytes, whatever the device's own.
func disks(root tree) []model.Disk {
	var list []model.Disk
	dirs, _ := fs.Glob(root, "sys/block/*")
	for _, dir := range dirs {
		name := path.Base(dir)
		sectors, err := strconv.ParseInt(root.text(path.Join(dir, "size")), 10, 64)
		kind := strings.TrimRight(name, "0123456789") // "loop" of "loop0", but not of "loopback"
		if err != nil || sectors <= 0 || sectors > 1<<53 || slices.Contains(notDisks, kind) {
			continue
		}
		list = append(list, model.Disk{
			Name:       strings.ReplaceAll(name, "!", "/"), // sysfs cannot hold a slash
			Size:       sectors * 512,
			Model:      root.text(path.Join(dir, "device/model")),
			Rotational: root.text(path.Join(dir, "queue/rotational")) == "1",
		})
	}
	return list
}

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

// cleanName makes a host's name usable as an id of at most 128 characters: what
// an id may not hold becomes "-".
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-", r) {
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, "._:-")
	return strings.TrimRight(name[:min(len(name), 128)], "._:-")
}
