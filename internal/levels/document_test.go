package levels

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
)

// show is a model as programs and as people see it.
func show(t *testing.T, m *Model, set map[string]string) (programs map[string]any, people string, d *doc.Document) {
	t.Helper()
	shown, d, err := Show(m, set)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	src, err := json.Marshal(shown)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if err := json.Unmarshal(src, &programs); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := render.Text(&text, d, render.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	return programs, text.String(), d
}

func TestShow(t *testing.T) {
	find := func(name string) *Model {
		m, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, c := range map[string]struct {
		model *Model
		set   map[string]string
		text  []string
	}{
		"gp2": {find("aws-gp2"), map[string]string{"gib": "100"}, []string{
			"aws-gp2: ops 300 op/s (3000 op/s with credits), bytes 128 MiB/s.",
			"With credits, operations of 43.7 KiB are the smallest that reach the limit of bytes first.",
			"Without credits, operations of every size reach the limit of operations first.",
			"The provider promises at least 90 % of these levels for 99 % of the time.",
			"64 KiB    300 op/s  18.75 MiB/s  ops       2048 op/s",
			"ops     300 op/s               256 KiB               2000 s       18000 s"}},
		"paper": {find("paper-ebs-2015"), map[string]string{"iops": "1800", "type": "m3.large"}, []string{
			"Operations of 34.1 KiB are the smallest that reach the limit of bytes first.",
			"64 KiB    960 op/s     60 MiB/s  bytes.connection"}},
		"lab": {find("lab"), map[string]string{"iops": "300", "bandwidth": "60"}, []string{
			"lab: ops.read 300 op/s, ops.write 300 op/s, bytes.read 60 MiB/s, bytes.write 60 MiB/s.",
			"Reads of 205 KiB are the smallest that reach the limit of bytes first.\nWrites of 205 KiB are",
			"4 KiB   75 %    400 op/s  1.562 MiB/s  ops.read"}},
		"directions": {find("gcp-pd-extreme"), map[string]string{"iops": "10000"}, []string{
			"Reads of 410 KiB are the smallest that reach the limit of bytes first.",
			"Writes of 307 KiB are the smallest that reach the limit of bytes first."}},
		"instance": {find("aws-instance"), map[string]string{"type": "t3.medium"}, []string{
			"All volumes of the node share these levels.", "ops 2000 op/s (11800 op/s with credits)",
			"1800 s           n/a"}},
		"st1": {find("aws-st1"), map[string]string{"gib": "1024"}, []string{
			"credits).\nOperations of every size reach the limit of bytes first.\nThe provider promises at least 90 % of " +
				"these levels for 99 % of the time. A pressure of"}},
		"processor": {parse(t, "model: p\nservice: cpu\nlimits: [{of: cpu, rate: {values: {0.5: 0.25, 1: 0.75}}}]\n"), nil,
			[]string{"p: cpu 0.8 cores.", "0.5 cores   25 %", "1 cores   75 %"}},
		"cells": {parse(t, "model: c\ncells:\n- {size: 4KiB, reads: 100, ops: [200, 200]}\n"+
			"- {size: 64KiB, reads: 50, ops: [100]}\n"), nil, []string{"c: its measured cells.",
			"4 KiB  100 %    200 op/s", "64 KiB   50 %    100 op/s", "64 KiB  100 %         n/a"}},
	} {
		_, text, _ := show(t, c.model, c.set)
		for _, want := range c.text {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
}

// TestContract: the keys for programs, and what is not known is null.
func TestContract(t *testing.T) {
	m, err := Find("aws-instance")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := show(t, m, map[string]string{"type": "t3.medium"})
	bucket, _ := got["bucket"].(map[string]any)
	if bucket["burst_s"] != 1800. || bucket["refill_s"] != nil || bucket["fill"] != nil || bucket["size"] != nil {
		t.Errorf("the bucket is %v", bucket)
	}
	sizes, _ := got["levels"].([]any)
	if len(sizes) != 8 || got["model"] != "aws-instance" || got["inputs"].(map[string]any)["type"] != "t3.medium" {
		t.Fatalf("the result is %v", got)
	}
	first, _ := sizes[0].(map[string]any)
	if first["size"] != 4096. || first["ops"] != 2000. || first["bytes"] != 8192000. || first["limit"] != "ops" ||
		first["burst_ops"] != 11800. {
		t.Errorf("the first size is %v", first)
	}
	limits, _ := got["limits"].([]any)
	if l, _ := limits[1].(map[string]any); l["name"] != "bytes" || l["of"] != "bytes" ||
		l["bucket"].(map[string]any)["burst_s"] != 1800. {
		t.Errorf("the second limit is %v", limits[1])
	}
}

// TestFigure: the figure of each built-in model is drawn, with a point at each size of
// splitting, and its values are those of the table.
func TestFigure(t *testing.T) {
	all, list := List()
	if table := list.Table(); len(table.Rows) != len(all) || len(all) < 18 {
		t.Errorf("%d rows for %d models", len(table.Rows), len(all))
	}
	set := map[string]string{"gib": "1000", "iops": "3000", "throughput": "200", "vcpus": "8", "bandwidth": "60",
		"tier": "P20", "machine": "ssd-8-15"}
	types := map[string]string{"aws-instance": "m5.large", "azure-vm": "D2s_v5", "paper-ebs-2015": "t2.small"}
	for _, m := range all {
		own := map[string]string{}
		for _, name := range m.InputNames() {
			own[name] = set[name]
		}
		if _, has := own["type"]; has {
			own["type"] = types[m.Name]
		}
		_, _, d := show(t, m, own)
		var svg bytes.Buffer
		if err := render.SVG(&svg, d); err != nil || svg.Len() < 1000 {
			t.Errorf("%s: drawing %d bytes: %v", m.Name, svg.Len(), err)
		}
		for _, panel := range d.Figure().Panels {
			for _, layer := range panel.Chart.Layers {
				if len(layer.X) < 256 || math.Abs(layer.X[0]-4) > 1e-9 {
					t.Errorf("%s: %s has %d points from %v", m.Name, panel.Title, len(layer.X), layer.X[0])
				}
			}
		}
	}
}

// TestBuiltinNames: a model has the name of its file, by which it is found.
func TestBuiltinNames(t *testing.T) {
	paths, err := filepath.Glob("models/*.yaml")
	if err != nil || len(paths) != len(Builtin()) {
		t.Fatalf("%d files and %d models: %v", len(paths), len(Builtin()), err)
	}
	for i, m := range Builtin() {
		if want := filepath.Join("models", m.Name+".yaml"); paths[i] != want {
			t.Errorf("%s is in %s", m.Name, paths[i])
		}
		src, err := os.ReadFile(paths[i])
		if err != nil || !strings.HasSuffix(string(src), "\n") {
			t.Errorf("%s: %v, or it has no last line", paths[i], err)
		}
	}
}
