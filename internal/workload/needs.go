package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ToolUser is implemented by workloads that start programs of the node. Before
// the first step of a run they are looked for on every node that takes part.
type ToolUser interface {
	// Tools returns what a task cannot do without. It is called on valid
	// parameters.
	Tools() []Tool
}

// Tool is a program that must be on a node.
type Tool struct {
	Name string // or its absolute path
	// Path is the PATH on which it is looked up; empty: that of tasks.
	Path string
	// Get says how to get a program that no package has; may be empty.
	Get string
}

// Installer is implemented by workloads with tasks that may put programs onto
// their node: what later workloads of the file need may come from them.
type Installer interface {
	// MayInstall is called on valid parameters.
	MayInstall() bool
}

// Missing reports whether a program is certainly not on this node. It looks
// anew at each call. It is not certain where a directory of the PATH depends on
// where the program is started, or there is no PATH.
func (t Tool) Missing(environ []string) bool {
	if filepath.IsAbs(t.Name) {
		return !executable(t.Name)
	}
	path := t.Path
	if path == "" {
		path, _ = Getenv(environ, "PATH")
	}
	return path != "" && !slices.ContainsFunc(strings.Split(path, ":"), func(dir string) bool {
		return !filepath.IsAbs(dir) || executable(filepath.Join(dir, t.Name))
	})
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Programs whose packages have their names: benchmarks measure, or work to be
// measured, and install nothing.
const (
	benchmarks = `fio iperf3 sysbench ffmpeg stress-ng stress iperf netperf nuttcp hdparm
		openssl gzip bzip2 zstd bc lame`
	packaged = "bash curl gcc git jq make perl python3 sudo wget"
)

// Benchmark reports whether a program is known to measure and to install nothing.
func Benchmark(program string) bool { return slices.Contains(strings.Fields(benchmarks), program) }

// InstallLine is the command that installs programs on a node with this
// operating system, as its facts tell it; empty where it is not known in which
// packages they are.
func InstallLine(system string, programs ...string) string {
	var packages []string
	for _, p := range programs {
		name := filepath.Base(p)
		if !Benchmark(name) && !slices.Contains(strings.Fields(packaged), name) {
			return ""
		}
		packages = append(packages, name)
	}
	names := strings.Join(packages, " ")
	for _, m := range []struct{ systems, install string }{
		{"debian ubuntu mint raspbian kali pop!_os", "apt-get install"},
		{"fedora red centos rocky almalinux oracle amazon", "dnf install"},
		{"alpine", "apk add"},
		{"opensuse suse sles", "zypper install"},
		{"arch manjaro", "pacman -S"},
		{"darwin macos", "brew install"},
	} {
		first, _, _ := strings.Cut(strings.ToLower(system), " ")
		if first != "" && slices.Contains(strings.Fields(m.systems), first) {
			return m.install + " " + names
		}
	}
	return fmt.Sprintf("apt-get install %s (Debian, Ubuntu) or dnf install %[1]s (Fedora, RHEL)", names)
}
