package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

const oneShell = "fleet: {agents: {}}\nworkloads: [{kind: shell, command: x}]\n"

// TestTop: keys at the top of a file mean the same as below the study that has
// them.
func TestTop(t *testing.T) {
	for _, c := range []struct{ top, below string }{
		{"", "study: {kind: sweep}"},
		{"sizes: [4, 2]\nrotate: false\ninterleave: true", "study: {kind: sweep, sizes: [4, 2], rotate: false, interleave: true}"},
	} {
		top, below := parse(t, oneShell+c.top), parse(t, oneShell+c.below)
		if diff := cmp.Diff(below.Designers[0].Designer, top.Designers[0].Designer, cmp.AllowUnexported(sweep{})); diff != "" {
			t.Errorf("%q (-below the study +at the top):\n%s", c.top, diff)
		}
		if diff := cmp.Diff(below.Evaluations, top.Evaluations); diff != "" {
			t.Errorf("%q: evaluations (-below the study +at the top):\n%s", c.top, diff)
		}
	}
	if got := parse(t, oneShell+"evaluations: [search, serial]"); len(got.Designers) != 2 || got.Designers[0].Kind != "hunt" || got.Designers[1].Kind != "sweep" {
		t.Errorf("the designers are %+v, want hunt and sweep", got.Designers)
	}
}

// TestPlace: what a study says of its keys gets its place, below the study or at
// the top of the file.
func TestPlace(t *testing.T) {
	for src, want := range map[string]string{
		"sizes: [4, 2]":                       "some-file.yaml:3:12: sizes.1: too many",
		"study: {kind: sweep, sizes: [4, 2]}": "some-file.yaml:3:33: study.sizes.1: too many",
		"study: {kind: sweep}":                "some-file.yaml:3:8: study.sizes.1: too many",
	} {
		e := parse(t, oneShell+src)
		one := &model.InputError{Path: e.Designers[0].In("sizes.1"), Problem: "too many"}
		if err := e.Place(errors.Join(one)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
		if got := e.Designers[0].In("workloads.w.kind"); got != "workloads.w.kind" {
			t.Errorf("a key of the file is %s", got)
		}
	}
}

// TestIn: the kind of a study stands below it, too.
func TestIn(t *testing.T) {
	for path, want := range map[string]string{"kind": "study.kind", "workloads.a": "workloads.a"} {
		if got := (Designer{&sweep{}, "sweep", []string{"study"}}).In(path); got != want {
			t.Errorf("In(%s) = %s, want %s", path, got, want)
		}
	}
}

// TestWithLevels: levels go over the parameters of the file, and are checked
// like those.
func TestWithLevels(t *testing.T) {
	e := parse(t, `
fleet: {lab: {nodes: 2}}
services: [{name: web, command: serve, port: 80}]
workloads:
  - {kind: shell, command: "curl http://${service.web}/"}
  - {kind: spin, timeout: 9s, threads: 2, env: {A: b, C: d}}
`)
	before := parse(t, e.Source)
	w, err := e.WithLevels(1, map[string]any{"threads": 3, "env": map[string]any{"URL": "${service.web}"}})
	if err != nil {
		t.Fatal(err)
	}
	bench := w.Bench.(*spin)
	if bench.Threads != 3 || len(bench.Env) != 1 || bench.Env["URL"] == "${service.web}" || w.Name != "spin" || w.Timeout != e.Workloads[1].Timeout {
		t.Errorf("with levels %+v of %+v", bench, w)
	}
	if diff := cmp.Diff(map[string]any{"threads": int64(3), "env": map[string]any{"URL": "${service.web}"}}, w.Params); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, e, noPlaces); diff != "" {
		t.Errorf("the experiment has changed (-before +after):\n%s", diff)
	}
	for _, c := range []struct {
		levels map[string]any
		want   string
	}{
		{map[string]any{"threads": 65}, "some-file.yaml:6:5: workloads.spin.threads: 65 is too large; use a whole number from 1 to 64"},
		{map[string]any{"thread": 1}, `workloads.spin.thread: unknown key "thread"; did you mean "threads"?`},
		{map[string]any{"duration": "1ms"}, "workloads.spin.duration: 1ms is too short"},
		{map[string]any{"duration": "1m"}, "workloads.spin.timeout: the timeout of 9s is too short"},
		{map[string]any{"name": "x"}, "workloads.spin.name: a treatment sets parameters of the benchmark only"},
		{map[string]any{"kernel": "${service.db}"}, `unknown service "db"`},
	} {
		if _, err := e.WithLevels(1, c.levels); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("levels %v: %v, want %s", c.levels, err, c.want)
		}
	}
}
