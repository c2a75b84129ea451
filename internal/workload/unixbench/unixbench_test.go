package unixbench

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/paramtest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environment of a run with the stand-in for UnixBench.
func environment(t *testing.T) (*Params, *workload.Env, *workloadtest.Record) {
	t.Helper()
	dir, err := filepath.Abs("testdata/UnixBench")
	if err != nil {
		t.Fatal(err)
	}
	r := &workloadtest.Record{T: t}
	return &Params{Dir: dir}, &workload.Env{
		Dir: t.TempDir(), Environ: os.Environ(), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Report: r,
	}, r
}

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		set     func(*Params)
		count   int
		metrics map[string]float64
		err     string
	}{
		{"whole", func(*Params) {}, 26, map[string]float64{
			"single_index": 1027.5, "multi_index": 2671.5,
			"multi_double_precision_whetstone": 13299, "single_shell_scripts_8_concurrent": 576,
		}, ""},
		{"partial", func(p *Params) {
			p.Copies, p.Tests, p.Iterations = []int{1, 2, 4}, []string{"dhry2reg", "whetstone-double"}, 3
		}, 9, map[string]float64{
			"single_partial_index": 862.6, "copies2_partial_index": 1638.9, "copies4_partial_index": 2242.6,
		}, ""},
		{"no index", func(p *Params) { p.Tests = []string{"gfx"} }, 0, map[string]float64{}, "no index in the set of 1 copies"},
		{"aborted", func(p *Params) { p.Tests = []string{"broken"} }, 0, map[string]float64{}, "exit status 1"},
		{"other options", func(p *Params) { p.Tests = []string{"other"} }, 0, map[string]float64{}, "exit status 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, env, r := environment(t)
			tt.set(p)
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			if err := p.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			err := p.Run(t.Context(), env)
			if (tt.err == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("Run() = %v, want %q", err, tt.err)
			}
			got := r.Values()
			maps.DeleteFunc(got, func(metric string, _ float64) bool { _, ok := tt.metrics[metric]; return !ok })
			if diff := cmp.Diff(tt.metrics, got); diff != "" || len(r.Samples) != tt.count || len(r.ExitCodes) != 1 {
				t.Errorf("%d samples, exit codes %v; want %d and one (-want +got):\n%s", len(r.Samples), r.ExitCodes, tt.count, diff)
			}
		})
	}
}

// TestParse checks the structure, and that the index fits the scores: UnixBench
// computes it as the geometric mean of score / baseline × 10.
func TestParse(t *testing.T) {
	tests := []struct {
		file string
		want []set
	}{
		{"full.txt", []set{{copies: 1, index: 1027.5, indexed: true}, {copies: 4, index: 2671.5, indexed: true}}},
		{"single.txt", []set{{copies: 1, index: 1027.5, indexed: true}}},
	}
	baselines := []float64{116700, 55, 43, 3960, 1655, 5800, 12440, 4000, 126, 42.4, 6, 15000}
	for _, tt := range tests {
		got, err := parse(read(t, tt.file))
		if err != nil {
			t.Errorf("parse(%s) = %v", tt.file, err)
			continue
		}
		for i := range got {
			if len(got[i].tests) != len(baselines) {
				t.Fatalf("%s: %d tests, want %d", tt.file, len(got[i].tests), len(baselines))
			}
			var sum float64
			for j, b := range baselines {
				sum += math.Log(got[i].tests[j].score / b * 10)
			}
			if index := math.Exp(sum / float64(len(baselines))); math.Abs(index-got[i].index) > 0.1 {
				t.Errorf("%s: scores give the index %.2f, report says %v", tt.file, index, got[i].index)
			}
			got[i].tests = nil
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(set{})); diff != "" {
			t.Errorf("parse(%s) (-want +got):\n%s", tt.file, diff)
		}
	}
	sets, err := parse(read(t, "single.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := score{"Shell Scripts (8 concurrent)", "lpm", 576}
	if got := sets[0].tests[10]; got != want {
		t.Errorf("test 10 = %+v, want %+v", got, want)
	}
}

// TestParseVariants checks forks that print in other widths, with a colon, and
// with the line ends of Windows.
func TestParseVariants(t *testing.T) {
	text := "1 CPU in system; running 1 parallel copy of tests\r\n" +
		"Dhrystone 2 using register variables 123.4 lps (10 s, 1 sample)\r\n" +
		"System Benchmarks Index Score:    17\r\n"
	want := []set{{copies: 1, index: 17, indexed: true, tests: []score{{"Dhrystone 2 using register variables", "lps", 123.4}}}}
	got, err := parse(text)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(set{}, score{})); diff != "" || err != nil {
		t.Errorf("parse(%q), error %v (-want +got):\n%s", text, err, diff)
	}
}

func TestParseRefuses(t *testing.T) {
	full := read(t, "full.txt")
	second := strings.LastIndex(full, "System Benchmarks Index Score")
	tests := []struct{ name, text, want string }{
		{"nothing", "", "printed no report"},
		{"aborted", read(t, "aborted.txt"), "printed no report"},
		{"no index", read(t, "no-index.txt"), "no index in the set of 1 copies"},
		{"cut off", full[:second], "no index in the set of 4 copies"},
		{"index 0", strings.Replace(read(t, "single.txt"), "  1027.5\n", "     0.0\n", 1), "no index"},
		{"index nan", strings.Replace(read(t, "single.txt"), "  1027.5\n", "     nan\n", 1), "no index"},
		{"twice", read(t, "single.txt") + read(t, "single.txt"), "two sets of 1 copies"},
		{"no tests", "1 CPU in system; running 1 parallel copy of tests\nSystem Benchmarks Index Score 5.0\n", "no test"},
	}
	for _, tt := range tests {
		if _, err := parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: parse() = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPrepareRefuses(t *testing.T) {
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "Run"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/dev/null/missing": "byte-unixbench", empty: "run `make`"} {
		p := &Params{Dir: dir}
		if err := p.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare() in %s = %v, want %q", dir, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	p, env, r := environment(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx, env); !errors.Is(err, context.Canceled) || len(r.Samples) > 0 {
		t.Errorf("Run() = %v with %v, want the end of the context and no sample", err, r.Samples)
	}
}

func TestCheckCopies(t *testing.T) {
	p := &Params{Copies: []int{1, 8}}
	if err := p.checkCopies([]set{{copies: 1}}); err == nil || !strings.Contains(err.Error(), "8 copies") {
		t.Errorf("checkCopies() = %v, want 8 missed", err)
	}
}

func TestValidate(t *testing.T) {
	paramtest.Validate(t, Kind(), [][2]string{
		{`{"dir": "/opt/UnixBench"}`, ""},
		{`{"dir": "/opt/UnixBench", "tests": ["dhry2reg"], "copies": [1, 4], "iterations": 3}`, ""},
		{`{}`, "dir"},
		{`{"dir": "UnixBench"}`, "dir"},
		{`{"dir": "/u", "tests": ["-i"]}`, "tests[0]"},
		{`{"dir": "/u", "copies": [1, 0]}`, "copies.1"},
		{`{"dir": "/u", "copies": [2, 2]}`, "copies"},
		{`{"dir": "/u", "iterations": 101}`, "iterations"},
	})
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"full.txt", "partial.txt", "no-index.txt"} {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		sets, err := parse(text)
		if err != nil {
			return
		}
		for _, s := range sets {
			if s.copies < 1 || s.index <= 0 || len(s.tests) == 0 {
				t.Errorf("parse(%q) = %+v, want complete sets", text, s)
			}
		}
	})
}
