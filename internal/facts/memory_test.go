package facts

import (
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal:       16384 kB\nMemFree: 1 kB\n")
	tests := []struct {
		name         string
		root         fstest.MapFS
		total, limit int64
	}{
		{"no limit", fstest.MapFS{"proc/meminfo": meminfo}, 16 << 20, 0},
		{"limited", fstest.MapFS{
			"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/node\n"),
			"proc/self/mountinfo":           file("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
			"sys/fs/cgroup/node/memory.max": file("1048576\n"),
		}, 16 << 20, 1 << 20},
		{"unknown", fstest.MapFS{}, 0, 0},
	}
	for _, tt := range tests {
		if total, limit := Memory(tt.root); total != tt.total || limit != tt.limit {
			t.Errorf("%s: Memory() = %d, %d; want %d, %d", tt.name, total, limit, tt.total, tt.limit)
		}
	}
}
