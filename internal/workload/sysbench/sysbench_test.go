package sysbench

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseSummary(t *testing.T) {
	tests := []struct {
		file, test string
		want       summary
	}{
		{"cpu-1-thread.txt", CPU, summary{rate: 4514.46, total: 13548, seconds: 3.0007, p95: 0.24}},
		{"cpu-2-threads.txt", CPU, summary{rate: 1889.48, total: 3781, seconds: 2.0007, p95: 4.74}},
		{"memory-write-2-threads.txt", Memory, summary{rate: 9831.57 * mib, total: 19672.15 * mib, seconds: 2.0006}},
		{"memory-read-rnd.txt", Memory, summary{rate: 2253.02 * mib, total: 4554.54 * mib, seconds: 2.0212}},
		{"memory-ended-early.txt", Memory, summary{rate: 25664.30 * mib, total: 1024 * mib, seconds: 0.0393}},
	}
	for _, tt := range tests {
		got, err := parseSummary(tt.test, read(t, tt.file))
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(summary{})); diff != "" || err != nil {
			t.Errorf("parseSummary(%s), error %v (-want +got):\n%s", tt.file, err, diff)
		}
	}
}

func TestParseSummaryRefuses(t *testing.T) {
	cpu := read(t, "cpu-1-thread.txt")
	tests := []struct{ name, test, text, want string }{
		{"nothing", CPU, "", "total time"},
		{"another test", Memory, cpu, "MiB transferred"},
		{"cut off", CPU, cpu[:strings.Index(cpu, "95th")], "95th percentile"},
		{"nothing measured", CPU, strings.Replace(cpu, "4514.46", "0.00", 1), "nothing was measured"},
		{"no number", CPU, strings.Replace(cpu, "4514.46", "4.5.1", 1), "is not a number"},
	}
	for _, tt := range tests {
		if s, err := parseSummary(tt.test, tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: parseSummary() = %+v, %v; want an error with %q", tt.name, s, err, tt.want)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPublisher replays a real output, one line a second: the sum of the intervals
// must come close to the total that sysbench counted.
func TestPublisher(t *testing.T) {
	tests := []struct {
		file, test string
		points     int
	}{
		{"cpu-1-thread.txt", CPU, 5}, {"memory-write-2-threads.txt", Memory, 4},
	}
	for _, tt := range tests {
		clock := time.Unix(0, 0)
		r := &workloadtest.Record{T: t}
		m := &publisher{report: r, now: func() time.Time { return clock }}
		out := &workload.Lines{Take: m.take}
		for _, line := range strings.SplitAfter(read(t, tt.file), "\n") {
			if _, ok := parseInterval(line); ok {
				clock = clock.Add(time.Second)
			}
			for _, half := range []string{line[:len(line)/2], line[len(line)/2:]} { // pipes cut anywhere
				if _, err := out.Write([]byte(half)); err != nil {
					t.Fatal(err)
				}
			}
		}
		s, err := parseSummary(tt.test, read(t, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := math.Abs(m.done/s.total - 1); diff > 0.005 {
			t.Errorf("%s: intervals sum up to %v, total is %v", tt.file, m.done, s.total)
		}
		m.finish(s.total)
		if got := r.Readings[m.metric]; len(got) != tt.points || got[0].Value != 0 || got[tt.points-1].Value != s.total {
			t.Errorf("%s: progress = %v, want %d points from 0 to %v", tt.file, got, tt.points, s.total)
		}
	}
}

func TestPublisherNeverGoesBack(t *testing.T) {
	r := &workloadtest.Record{T: t}
	m := &publisher{report: r, now: time.Now, done: 100}
	m.finish(99)
	if len(r.Readings) != 0 {
		t.Errorf("finish(99) after 100 reported %v", r.Readings)
	}
}

func TestReal(t *testing.T) {
	workloadtest.NeedTool(t, "sysbench")
	for _, tt := range []struct {
		test    string
		metrics []string
	}{
		{CPU, []string{"sysbench_cpu_rate op/s", "sysbench_cpu_latency_p95 ms"}},
		{Memory, []string{"sysbench_memory_bandwidth byte/s"}},
	} {
		p := Kind().New().(*Params)
		p.Test, p.Duration = tt.test, unit.Duration(2*time.Second)
		r, out := &workloadtest.Record{T: t}, &bytes.Buffer{}
		env := &workload.Env{Environ: os.Environ(), Stdout: out, Stderr: out, Report: r}
		if err := p.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range r.Samples {
			got = append(got, s.Metric+" "+s.Unit)
		}
		if diff := cmp.Diff(tt.metrics, got); diff != "" || r.Samples[0].Value <= 0 {
			t.Errorf("%s: samples %v (-want +got):\n%s", tt.test, r.Samples, diff)
		}
		points := r.Readings[r.Samples[0].Metric]
		if len(points) < 2 || points[0].Value != 0 || len(r.ExitCodes) != 1 || !strings.Contains(out.String(), "Threads started!") {
			t.Errorf("%s: progress %v, exit codes %v, output %q; want points, 0 and the output", tt.test, points, r.ExitCodes, out)
		}
	}
}

func TestCancel(t *testing.T) {
	workloadtest.NeedTool(t, "sysbench")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	p := Kind().New().(*Params)
	r := &workloadtest.Record{T: t}
	env := &workload.Env{Environ: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Report: r}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(ctx, env); !errors.Is(err, context.DeadlineExceeded) || len(r.Samples) > 0 {
		t.Errorf("Run() = %v with %v, want the end of the context and no sample", err, r.Samples)
	}
}

// TestNotInstalled, TestOtherVersion and TestFails replace sysbench.
func TestNotInstalled(t *testing.T) {
	p := Kind().New()
	err := p.Prepare(t.Context(), &workload.Env{Environ: []string{"PATH=" + t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "apt-get install sysbench") {
		t.Errorf("Prepare() = %v, want it to say how to install", err)
	}
}

func program(t *testing.T, script string) *workload.Env {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sysbench"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &workload.Env{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Report: &workloadtest.Record{T: t}}
}

func TestOtherVersion(t *testing.T) {
	env := program(t, "echo sysbench 0.4.12\n")
	if err := Kind().New().Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "0.4.12") {
		t.Errorf("Prepare() = %v, want it to refuse the version", err)
	}
}

func TestFails(t *testing.T) {
	data, err := filepath.Abs("testdata/cpu-1-thread.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ run, want string }{
		"status":      {"echo FATAL: no memory >&2; exit 1", "exit status 1: FATAL: no memory"},
		"ended early": {"cat " + data, "ended after 3.0007 of 10 seconds"},
		"no report":   {"echo hello", "no line"},
	} {
		env := program(t, `if [ "$1" = --version ]; then echo sysbench 1.0.20; exit; fi`+"\n"+tt.run+"\n")
		p := Kind().New()
		if err := p.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(t.Context(), env); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Run() = %v, want %q", name, err, tt.want)
		}
		if r := env.Report.(*workloadtest.Record); len(r.Samples) > 0 {
			t.Errorf("%s: samples %v, want none", name, r.Samples)
		}
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{}`, ""},
		{`{"test": "memory", "block_size": "1MiB", "operation": "read", "access": "rnd", "threads": 4, "duration": "1m"}`, ""},
		{`{"test": "fileio"}`, "test"},
		{`{"threads": 0}`, "threads"},
		{`{"duration": "1500ms"}`, "duration"},
		{`{"duration": "0s"}`, "duration"},
		{`{"max_prime": 2}`, "max_prime"},
		{`{"block_size": "3KiB"}`, "block_size"},
		{`{"operation": "erase"}`, "operation"},
		{`{"access": "random"}`, "access"},
	})
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"cpu-1-thread.txt", "memory-read-rnd.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, test := range []string{CPU, Memory} {
			if s, err := parseSummary(test, text); err == nil && (s.rate <= 0 || s.seconds <= 0) {
				t.Errorf("parseSummary(%s, %q) = %+v, want numbers above 0", test, text, s)
			}
		}
		if v, ok := parseInterval(text); ok && v < 0 {
			t.Errorf("parseInterval(%q) = %v, want none below 0", text, v)
		}
	})
}
