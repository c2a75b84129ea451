package disk

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/test/paramtest"
)

const mib, gib = int64(1) << 20, int64(1) << 30

func TestSettings(t *testing.T) {
	base := settings{operation: Write, readShare: 50, block: 256 << 10, depth: 1, jobs: 1, direct: true, engine: "psync", duration: 30 * time.Second, layout: true}
	with := func(change func(*settings)) settings {
		s := base
		change(&s)
		return s
	}
	paper := with(func(s *settings) { s.paper, s.direct, s.duration, s.layout = true, false, 0, false })
	tests := []struct {
		params string
		want   settings
	}{
		{`{}`, base},
		{`{"preset": "paper"}`, paper},
		{`{"preset": "paper", "direct": true, "size": "1GiB", "block_size": "1MiB"}`, with(func(s *settings) {
			s.paper, s.duration, s.layout, s.size, s.block = true, 0, false, gib, mib
		})},
		{`{"preset": "paper", "duration": "10s", "operation": "read"}`, with(func(s *settings) {
			s.paper, s.direct, s.duration, s.operation = true, false, 10*time.Second, Read
		})},
		{`{"depth": 8, "pattern": "random", "operation": "mixed", "read_share": 70, "jobs": 2, "layout": false, "direct": false}`, with(func(s *settings) {
			s.depth, s.engine, s.random, s.operation, s.readShare, s.jobs, s.layout, s.direct = 8, "libaio", true, Mixed, 70, 2, false, false
		})},
		{`{"duration": "0s", "fsync": 4, "engine": "io_uring"}`, with(func(s *settings) { s.duration, s.fsync, s.engine = 0, 4, "io_uring" })},
	}
	for _, tt := range tests {
		p := params(t, tt.params)
		if diff := cmp.Diff(tt.want, p.settings(), cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", tt.params, diff)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("Validate(%s) = %v, want nil", tt.params, err)
		}
	}
}

func TestEstimate(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`: 30 * time.Second, `{"ramp": "2s", "duration": "1m"}`: 62 * time.Second, `{"preset": "paper"}`: 0,
	} {
		if got := params(t, text).Estimate(); got != want {
			t.Errorf("Estimate(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	tests := []struct{ params, field string }{
		{`{"preset": "article"}`, "preset"},
		{`{"pattern": "seq"}`, "pattern"},
		{`{"operation": "erase"}`, "operation"},
		{`{"engine": "psync, sync"}`, "engine"},
		{`{"depth": -1}`, "depth"},
		{`{"depth": 2, "engine": "psync"}`, "depth"},
		{`{"jobs": 257}`, "jobs"},
		{`{"operation": "mixed", "read_share": 100}`, "read_share"},
		{`{"read_share": 50}`, "read_share"},
		{`{"fsync": 1, "operation": "read"}`, "fsync"},
		{`{"block_size": "1000B"}`, "block_size"},
		{`{"block_size": "2GiB", "size": "4GiB"}`, "block_size"},
		{`{"size": "1MiB", "jobs": 8}`, "size"},
		{`{"duration": "500ms"}`, "duration"},
		{`{"duration": "1000500us"}`, "duration"},
		{`{"ramp": "1us"}`, "ramp"},
		{`{"ramp": "1s", "preset": "paper"}`, "ramp"},
		{`{"path": "data"}`, "path"},
		{`{"path": "/data\nx"}`, "path"},
		{`{"path": "/data", "volume": "data"}`, "path"},
		{`{"destroy": true}`, "destroy"},
		{`{"volumes": ["a", "b"], "volume": "a"}`, "volumes"},
		{`{"volumes": ["a", "a"]}`, "volumes"},
	}
	for _, tt := range tests {
		if err := paramtest.Check(t, Kind(), tt.params); !slices.Contains(paramtest.Fields(err), tt.field) {
			t.Errorf("the parameters %s: %v, want an error of %s", tt.params, err, tt.field)
		}
	}
	if err := params(t, `{"direct": false, "block_size": "1000B"}`).Validate(); err != nil {
		t.Errorf("Validate of odd blocks through the page cache = %v, want nil", err)
	}
}

func TestArguments(t *testing.T) {
	tests := []struct {
		name, params string
		want         []string // among the arguments
		not          string   // the begin of none of them
	}{
		{"default", `{}`, []string{"--rw=write", "--bs=262144", "--ioengine=psync", "--direct=1", "--runtime=30000ms", "--ramp_time=0ms", "--size=536870912"}, "--end_fsync"},
		{"random mixed", `{"pattern": "random", "operation": "mixed", "read_share": 70}`, []string{"--rw=randrw", "--rwmixread=70"}, "--fsync"},
		{"sequential mixed", `{"operation": "mixed"}`, []string{"--rw=rw", "--rwmixread=50"}, "--fsync"},
		{"jobs", `{"jobs": 3, "size": "1GiB"}`, []string{"--numjobs=3", "--size=357826560", "--offset_increment=357826560"}, "--rwmixread"},
		{"fixed amount", `{"direct": false, "duration": "0s"}`, []string{"--direct=0", "--end_fsync=1"}, "--time_based"},
		{"fixed amount read", `{"direct": false, "duration": "0s", "operation": "read"}`, []string{"--rw=read"}, "--end_fsync"},
		{"fsync", `{"fsync": 16}`, []string{"--fsync=16"}, "--end_fsync"},
	}
	for _, tt := range tests {
		s := params(t, tt.params).settings()
		if s.size == 0 {
			s.size = 512 * mib
		}
		got := runArguments(s, []string{"/mnt/a:b"})
		for _, w := range append(tt.want, `--filename=/mnt/a\:b`, "--refill_buffers", "--randrepeat=0", "--thread") {
			if !slices.Contains(got, w) {
				t.Errorf("%s: runArguments() = %q, want %s among them", tt.name, got, w)
			}
		}
		for _, g := range got {
			if strings.HasPrefix(g, tt.not) {
				t.Errorf("%s: runArguments() has %s", tt.name, g)
			}
		}
	}
}

func TestLayoutArguments(t *testing.T) {
	tests := []struct {
		name string
		s    settings
		want string
	}{
		{"whole mebibytes", settings{size: 8 * mib, jobs: 2, block: 4096}, "--bs=1048576 --size=8388608 --direct=1"},
		{"odd size", settings{size: mib + 8192, jobs: 1, block: 4096}, "--bs=4096 --size=1056768 --direct=1"},
		{"odd block", settings{size: 3000, jobs: 1, block: 1000}, "--bs=1000 --size=3000 --direct=0"},
	}
	for _, tt := range tests {
		got := layoutArguments(tt.s, []string{"/x"}, true)
		if last := strings.Join(got[len(got)-3:], " "); last != tt.want {
			t.Errorf("%s: layoutArguments() ends with %s, want %s", tt.name, last, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	ext4 := target{filesystem: "ext4", path: "/data/x"}
	tests := []struct {
		name, params string
		t            target
		want         []string // a part of each
	}{
		{"paper on ext4", `{"preset": "paper", "size": "8GiB"}`, ext4, nil},
		{"paper on xfs", `{"preset": "paper", "size": "8GiB"}`, target{filesystem: "xfs"}, []string{"is xfs"}},
		{"small", `{"preset": "paper", "size": "4GiB"}`, ext4, []string{"less than twice the memory"}},
		{"buffered for a time", `{"direct": false, "size": "8GiB"}`, ext4, []string{"fixed time"}},
		{"buffered libaio", `{"direct": false, "size": "8GiB", "depth": 4, "operation": "read"}`, ext4, []string{"one operation at a time"}},
		{"device that may not be laid out", `{"operation": "read"}`, target{kind: device}, []string{"not laid out"}},
		{"device that may", `{"operation": "read"}`, target{kind: device, erasable: true}, nil},
	}
	for _, tt := range tests {
		s := params(t, tt.params).settings()
		if s.size == 0 {
			s.size = gib
		}
		got := warnings(s, tt.t, 4*gib)
		if len(got) != len(tt.want) {
			t.Errorf("%s: warnings() = %q, want %d", tt.name, got, len(tt.want))
			continue
		}
		for i, w := range tt.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: warning %q, want %q in it", tt.name, got[i], w)
			}
		}
	}
}
