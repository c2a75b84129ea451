package facts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Options says where to look. The zero value looks at this machine.
type Options struct {
	// Root is the file system whose proc, sys and etc are read; nil is "/".
	Root fs.FS
	// Hostname is the host's name; empty asks the system.
	Hostname string
	// Interfaces lists the network interfaces; nil asks the system.
	Interfaces func() ([]Interface, error)
	// Version is the agent's, copied into the facts.
	Version string
	// Cloud says whom to ask for the instance's type, zone and id.
	Cloud CloudOptions
}

// Collect returns the facts of a node. It takes at most Options.Cloud.Timeout
// where there is a cloud, and milliseconds elsewhere.
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
	return f, collectOutside(ctx, root, opts, &f)
}

// collectOutside fills in what is not in the kernel's files.
func collectOutside(ctx context.Context, root tree, opts Options, f *model.Facts) error {
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
		return fmt.Errorf("listing network interfaces: %w", err)
	}
	f.Addresses = addresses(root, interfaces)
	f.Cloud, err = askCloud(ctx, root, opts.Cloud)
	return err
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

// names returns the entries of a directory, sorted.
func (t tree) names(dir string) []string {
	entries, err := fs.ReadDir(t, dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

func (t tree) exists(name string) bool {
	_, err := fs.Stat(t, name)
	return err == nil
}
