package monitor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestFindCgroups looks at trees that were made after real machines.
func TestFindCgroups(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	const v1 = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	tests := []struct {
		name  string
		files map[string]string
		want  cgroupFiles // relative to the root
	}{
		{
			"version 2, a service",
			map[string]string{
				"proc/self/cgroup": "0::/system.slice/agent.service\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/system.slice/agent.service/cgroup.events":  "populated 1\n",
				"sys/fs/cgroup/system.slice/agent.service/cpu.stat":       "usage_usec 1\n",
				"sys/fs/cgroup/system.slice/agent.service/memory.current": "1\n",
			},
			cgroupFiles{stat2: "sys/fs/cgroup/system.slice/agent.service/cpu.stat", memory: "sys/fs/cgroup/system.slice/agent.service/memory.current"},
		},
		{
			"version 2, the root group",
			map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2, "sys/fs/cgroup/cpu.stat": "usage_usec 1\n"},
			cgroupFiles{},
		},
		{
			"version 2, a container with a cgroup namespace",
			map[string]string{
				"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/cgroup.events": "populated 1\n", "sys/fs/cgroup/cpu.stat": "usage_usec 1\n",
			},
			cgroupFiles{stat2: "sys/fs/cgroup/cpu.stat"},
		},
		{
			"version 1, a group of its own",
			map[string]string{
				"proc/self/cgroup": "3:memory:/lab/n1\n2:cpu,cpuacct:/lab/n1\n", "proc/self/mountinfo": v1,
				"sys/fs/cgroup/cpu,cpuacct/release_agent": "", "sys/fs/cgroup/memory/release_agent": "",
				"sys/fs/cgroup/cpu,cpuacct/lab/n1/cpuacct.usage":    "1\n",
				"sys/fs/cgroup/cpu,cpuacct/lab/n1/cpu.stat":         "throttled_time 0\n",
				"sys/fs/cgroup/memory/lab/n1/memory.usage_in_bytes": "1\n",
			},
			cgroupFiles{
				usage1: "sys/fs/cgroup/cpu,cpuacct/lab/n1/cpuacct.usage", stat1: "sys/fs/cgroup/cpu,cpuacct/lab/n1/cpu.stat",
				memory: "sys/fs/cgroup/memory/lab/n1/memory.usage_in_bytes",
			},
		},
		{
			"version 1, a container that sees its own part",
			map[string]string{
				"proc/self/cgroup":                        "3:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n",
				"proc/self/mountinfo":                     strings.ReplaceAll(v1, " / /sys", " /docker/abc /sys"),
				"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "1\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
			},
			cgroupFiles{usage1: "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", memory: "sys/fs/cgroup/memory/memory.usage_in_bytes"},
		},
		{
			"both versions, and the root group of version 1",
			map[string]string{
				"proc/self/cgroup":                        "2:cpu,cpuacct:/\n0::/user.slice\n",
				"proc/self/mountinfo":                     v1 + "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/cpu,cpuacct/release_agent": "", "sys/fs/cgroup/cpu,cpuacct/cpuacct.usage": "1\n",
				"sys/fs/cgroup/unified/user.slice/cgroup.events": "", "sys/fs/cgroup/unified/user.slice/cpu.stat": "usage_usec 1\n",
			},
			cgroupFiles{stat2: "sys/fs/cgroup/unified/user.slice/cpu.stat"},
		},
		{
			"both versions, a group of its own in each",
			map[string]string{
				"proc/self/cgroup":                               "2:cpu,cpuacct:/lab\n0::/user.slice\n",
				"proc/self/mountinfo":                            v1 + "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/cpu,cpuacct/lab/cpuacct.usage":    "1\n",
				"sys/fs/cgroup/unified/user.slice/cgroup.events": "", "sys/fs/cgroup/unified/user.slice/cpu.stat": "usage_usec 1\n",
			},
			cgroupFiles{usage1: "sys/fs/cgroup/cpu,cpuacct/lab/cpuacct.usage"},
		},
		{"no control groups", map[string]string{"proc/self/mountinfo": "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"}, cgroupFiles{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files)
			got := findCgroups(root)
			for _, f := range []*string{&got.usage1, &got.stat1, &got.stat2, &got.memory} {
				if *f != "" {
					*f, _ = filepath.Rel(root, *f) // both are absolute
				}
			}
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(cgroupFiles{})); d != "" {
				t.Errorf("findCgroups (-want +got):\n%s", d)
			}
		})
	}
}

// TestNothingToRead: a monitor without the kernel's files has no series.
func TestNothingToRead(t *testing.T) {
	r := New(Config{Root: t.TempDir()}).Start(t.Context())
	r.Stop()
	if got := r.Series(time.Now()); len(got) > 0 {
		t.Errorf("Series = %v, want none", got)
	}
}

func TestOthers(t *testing.T) {
	host := []model.HostSeries{
		{Metric: "cpu.user", Values: []float64{0, 3, 5}}, {Metric: "cpu.system", Values: []float64{0, 1, 1.5}},
		{Metric: "cpu.idle", Values: []float64{0, 50, 90}}, {Metric: "cpu.steal", Values: []float64{0, 1, 2}},
	}
	if got, ok := Others(host, 4*time.Second); got != 2.5 || !ok {
		t.Errorf("Others = %v, %v, want 2.5, true", got, ok)
	}
	if _, ok := Others(host[2:], 0); ok {
		t.Error("Others without processor times is ok, want not")
	}
}
