package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares what a function writes with a file in testdata.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update makes it", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestFindingsGolden(t *testing.T) {
	_, fs := mixed()
	for name, c := range map[string]struct {
		format Format
		opts   Options
	}{
		"findings-wide.txt":    {Text, Options{}},
		"findings-140.txt":     {Text, Options{Width: 140}},
		"findings-80.txt":      {Text, Options{Width: 80}},
		"findings-50.txt":      {Text, Options{Width: 50}},
		"findings-colored.txt": {Text, Options{Width: 80, Color: true}},
		"findings.json":        {JSON, Options{}},
		"findings.csv":         {CSV, Options{}},
	} {
		golden(t, name, func(w io.Writer) error { return Findings(w, fs, c.format, c.opts) })
	}
	golden(t, "findings-none.txt", func(w io.Writer) error { return Findings(w, nil, Text, Options{}) })
	golden(t, "bars.txt", func(w io.Writer) error { return Bars(w, fs, Options{Width: 100}) })
	golden(t, "bars-ascii.txt", func(w io.Writer) error { return Bars(w, fs, Options{Width: 80, ASCII: true}) })
}

func TestShowGolden(t *testing.T) {
	d, _ := quarter().build()
	trouble, _ := mixed()
	trouble.Steps = trouble.Steps[39:] // the rest is more of the same
	stopped, _ := cancelled()
	for name, c := range map[string]struct {
		data   model.RunData
		format Format
		opts   Options
	}{
		"show.txt":           {d, Text, Options{Width: 120}},
		"show-trouble.txt":   {trouble, Text, Options{Width: 100}},
		"show-trouble.json":  {trouble, JSON, Options{}},
		"show-trouble.csv":   {trouble, CSV, Options{}},
		"show-cancelled.txt": {stopped, Text, Options{Width: 100}},
	} {
		golden(t, name, func(w io.Writer) error { return Show(w, c.data, c.format, c.opts) })
	}
}

func TestRunsGolden(t *testing.T) {
	done, _ := quarter().build()
	stopped, _ := cancelled()
	waiting := model.Run{ID: testRun, Name: "later", Kind: model.KindBatch, State: model.RunPending, Created: day, SourceName: "job.json"}
	runs := []model.Run{done.Run, stopped.Run, waiting}
	for _, f := range []Format{Text, JSON, CSV} {
		golden(t, "runs."+extension(f), func(w io.Writer) error { return Runs(w, runs, f, Options{Width: 160}) })
		golden(t, "runs-none."+extension(f), func(w io.Writer) error { return Runs(w, nil, f, Options{}) })
	}
}

func TestNodesGolden(t *testing.T) {
	x := fixture{nodes: 12}
	nodes := []model.NodeInfo{
		{Node: x.node(0), Status: model.NodeAlive, Heard: day, Task: "task"},
		{Node: x.node(6), Status: model.NodeLost, Heard: day},
		{Node: model.Node{ID: "bare"}, Status: model.NodeSlow}, // knows nothing about itself
	}
	nodes[0].Facts.CPULimit, nodes[0].Facts.MemLimit = 2.5, 4<<30
	for _, f := range []Format{Text, JSON, CSV} {
		golden(t, "nodes."+extension(f), func(w io.Writer) error { return Nodes(w, nodes, f, Options{}) })
		golden(t, "nodes-none."+extension(f), func(w io.Writer) error { return Nodes(w, nil, f, Options{}) })
	}
}

func extension(f Format) string {
	if f == Text {
		return "txt"
	}
	return string(f)
}

func TestHTMLGolden(t *testing.T) {
	x := quarter()
	x.nodes, x.trials = 2, 1
	d, fs := x.build()
	golden(t, "report.html", func(w io.Writer) error {
		return HTML(w, d, fs, HTMLOptions{Generated: day, Version: "v0.1.0"})
	})
}

func TestUnknownFormat(t *testing.T) {
	for name, err := range map[string]error{
		"Findings": Findings(io.Discard, nil, "xml", Options{}),
		"Runs":     Runs(io.Discard, nil, "xml", Options{}),
		"Nodes":    Nodes(io.Discard, nil, "xml", Options{}),
		"Show":     Show(io.Discard, model.RunData{}, "xml", Options{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "want text, json or csv") {
			t.Errorf("%s in an unknown format: %v, want an error that names the formats", name, err)
		}
	}
}

// The JSON form is a contract: the keys that scripts use are there whatever is
// missing, and lists are never null.
func TestFindingsJSONContract(t *testing.T) {
	var b bytes.Buffer
	if err := Findings(&b, []model.Finding{{Workload: "w"}}, JSON, Options{}); err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	spread := map[string]any{"mean": nil, "min": nil, "max": nil, "sd": nil}
	total := map[string]any{"mean": nil, "min": nil, "max": nil, "sd": nil, "total": nil}
	want := []map[string]any{{
		"workload": "w", "metric": "", "unit": "", "nodes": 0.0, "of": "node", "serial": spread, "parallel": total,
		"cdi": nil, "ci": nil, "ci_bca": nil, "overlap": nil, "start_skew_ms": nil, "end_spread_ms": nil,
		"window": "", "cdi_whole": nil, "verdict": "unknown", "warnings": []any{}, "pairs": []any{},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := Findings(&b, nil, JSON, Options{}); err != nil || strings.TrimSpace(b.String()) != "[]" {
		t.Errorf("Findings(nil) = %q, %v, want []", b.String(), err)
	}
}

// A reader of the table must not take what was not measured for a zero.
func TestNothingMeasuredIsNotZero(t *testing.T) {
	f := model.Finding{Workload: "cpu", Metric: "ops", Unit: "op/s", Verdict: model.VerdictUnknown}
	var b strings.Builder
	if err := Findings(&b, []model.Finding{f}, Text, Options{}); err != nil {
		t.Fatal(err)
	}
	row := strings.Fields(strings.Split(b.String(), "\n")[1])
	want := []string{"cpu", "ops", "0", "n/a", "n/a", "n/a", "n/a", "unknown", "n/a", "n/a"}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Errorf("row differs (-want +got):\n%s", diff)
	}
}

// partial are findings of which something is not known: published means, and
// workloads of which one phase was measured.
func partial() []model.Finding {
	fs := make([]model.Finding, 3)
	for i, workload := range []string{"published", "alone", "together"} {
		fs[i] = model.Finding{Workload: workload, Metric: "rate", Unit: "MB/s", Window: "whole", Verdict: model.VerdictUnknown}
	}
	fs[0].Nodes, fs[0].CDI, fs[0].CDIWhole = 20, ptr(90.375), ptr(90.375)
	fs[0].Serial.Mean, fs[0].Parallel.Mean, fs[0].Parallel.Total = ptr(644.0), ptr(62.0), ptr(1240.0)
	fs[1].Serial = spread([]float64{640, 650})
	fs[2].Parallel.Spread, fs[2].Parallel.Total = spread([]float64{60, 64}), ptr(124.0)
	return fs
}

// What is not known is n/a for people, null in JSON, empty in CSV.
func TestPartialGolden(t *testing.T) {
	fs := partial()
	golden(t, "partial.txt", func(w io.Writer) error { return Findings(w, fs, Text, Options{}) })
	golden(t, "partial-80.txt", func(w io.Writer) error { return Findings(w, fs, Text, Options{Width: 80}) })
	golden(t, "partial.json", func(w io.Writer) error { return Findings(w, fs, JSON, Options{}) })
	golden(t, "partial.csv", func(w io.Writer) error { return Findings(w, fs, CSV, Options{}) })
	d, _ := quarter().build()
	page := render(t, d, fs)
	for _, want := range []string{"644 ±n/a MB/s", "[n/a .. n/a]", "645.0 ±5.0 MB/s", "1240 MB/s"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, bad := range []string{"NaN", "±0", "±0.0", "[0.0 .. 0.0]", "&lt;nil&gt;"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page says %q", bad)
		}
	}
}

// Every width must be kept to, as far as words can be broken.
func TestTextKeepsToTheWidth(t *testing.T) {
	d, fs := mixed()
	for width := 60; width <= 200; width += 7 {
		var b strings.Builder
		o := Options{Width: width}
		for _, write := range []func() error{
			func() error { return Findings(&b, fs, Text, o) },
			func() error { return Bars(&b, fs, o) },
			func() error { return Show(&b, d, Text, o) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := len([]rune(line)); n > width {
				t.Errorf("width %d: line of %d columns: %q", width, n, line)
			}
		}
	}
}
