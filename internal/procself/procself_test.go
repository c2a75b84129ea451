package procself

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const table = `22 28 0:21 / /proc rw,nosuid shared:14 - proc proc rw
31 22 0:27 /a /sys/fs/cgroup/cpu\040x rw - cgroup cgroup rw,cpu,cpuacct
no line
32 22 0:28 / /sys/fs/cgroup/unified rw shared:1 master:2 - cgroup2 cgroup2 rw
33 22 8:1 / / rw - ext4 /dev/sda\0401 rw`

func TestMounts(t *testing.T) {
	want := []Mount{
		{"0:21", "/", "/proc", "proc", "rw"},
		{"0:27", "/a", "/sys/fs/cgroup/cpu x", "cgroup", "rw,cpu,cpuacct"},
		{"0:28", "/", "/sys/fs/cgroup/unified", "cgroup2", "rw"},
		{"8:1", "/", "/", "ext4", "rw"},
	}
	got := slices.Collect(Mounts(table))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Mounts (-want +got):\n%s", diff)
	}
	if !got[1].Controls("cpuacct") || got[1].Controls("cpua") || got[2].Controls("") || !got[2].Unified() || got[1].Unified() {
		t.Errorf("controllers of %v and %v are mistaken", got[1], got[2])
	}
}

func TestGroups(t *testing.T) {
	got := Groups("4:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/user.slice/a:b\nnonsense\n")
	want := map[string]string{"cpu": "/a/b", "cpuacct": "/a/b", "name=systemd": "/", "": "/user.slice/a:b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Groups (-want +got):\n%s", diff)
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct{ mounted, group, want string }{
		{"/", "/a/b", "/a/b"}, {"/a", "/a/b", "/b"}, {"/a/b", "/a/b", "/"}, {"/a", "/ab", "/"}, {"/x", "/a", "/"},
		{"/", "/../a", "/a"}, {"/", "", "/"},
	} {
		if got := Below(c.mounted, c.group); got != c.want {
			t.Errorf("Below(%q, %q) = %q, want %q", c.mounted, c.group, got, c.want)
		}
	}
}

// No text breaks the parsers, and what they read has no fields that a reader
// would stumble over.
func FuzzMounts(f *testing.F) {
	for line := range strings.Lines(table) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for m := range Mounts(text) {
			if m.Device == "" || m.Root == "" || m.Point == "" || m.Type == "" || m.Options == "" {
				t.Errorf("Mounts(%q) yields %+v, want no empty fields", text, m)
			}
		}
		Groups(text)
	})
}

func TestParseStat(t *testing.T) {
	rest := " 5 6 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 123456 0 0"
	tests := []struct {
		name, line string
		want       Process
		ok         bool
	}{
		{"plain", "7 (sleep) S 4" + rest, Process{PID: 7, Parent: 4, Group: 5, Start: 123456, CPU: 30 * time.Millisecond}, true},
		{"evil name", "7 (a) Z 1 (b) S 4" + rest, Process{PID: 7, Parent: 4, Group: 5, Start: 123456, CPU: 30 * time.Millisecond}, true},
		{"zombie", "7 (sh) Z 4" + rest, Process{PID: 7, Parent: 4, Group: 5, Zombie: true, Start: 123456, CPU: 30 * time.Millisecond}, true},
		{"short", "7 (sh) S 4 5", Process{}, false},
		{"no name", "7 sh S 4", Process{}, false},
		{"not a number", "7 (sh) S x" + rest, Process{}, false},
	}
	for _, tt := range tests {
		got, err := parseStat(7, tt.line)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: parseStat(%q) = %+v, %v; want %+v, ok %v", tt.name, tt.line, got, err, tt.want, tt.ok)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sleep) S 4 5 6 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 123456 0 0")
	f.Fuzz(func(t *testing.T, line string) {
		p, err := parseStat(7, line)
		if err == nil && p.PID != 7 {
			t.Errorf("parseStat(7, %q) = %+v", line, p)
		}
	})
}
