package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/unit"
)

// valid is a file with comments, an anchor and a merge key, of 8 lines.
const valid = `# four nodes
fleet:
  local: {nodes: 4} # on this machine
workloads:
  - &one {name: one, kind: spin, duration: 1s}
  - <<: *one
    name: two
    threads: 2 # each
`

// noPlaces leaves out where in the file things stand, and who designs.
var noPlaces = cmpopts.IgnoreFields(Experiment{}, "file", "kinds", "Designers")

func parse(t *testing.T, src string, set ...string) *Experiment {
	t.Helper()
	e, err := Parse("dir/some-file.yaml", []byte(src), testKinds(), set)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return e
}

func TestDefaults(t *testing.T) {
	got := parse(t, valid)
	want := &Experiment{
		Name:  "some-file",
		Fleet: Fleet{Local: &Local{Nodes: 4}},
		Workloads: []Workload{
			{Name: "one", Kind: "spin", Timeout: unit.Duration(10 * time.Minute),
				Params: map[string]any{"duration": "1s"},
				Bench:  &spin{Threads: 1, Duration: unit.Duration(time.Second), Kernel: "mixed"}},
			{Name: "two", Kind: "spin", Timeout: unit.Duration(10 * time.Minute),
				Params: map[string]any{"duration": "1s", "threads": int64(2)},
				Bench:  &spin{Threads: 2, Duration: unit.Duration(time.Second), Kernel: "mixed"}},
		},
		Evaluations: []model.Phase{"serial", "parallel"},
		Trials:      1,
		Timeouts:    Timeouts{unit.Duration(10 * time.Minute), unit.Duration(time.Minute), unit.Duration(2 * time.Minute)},
		Retries:     Retries{Failed: 0, Lost: 2},
		Output:      Output{64 * unit.KiB, 16 * unit.MiB},
		SourceName:  "some-file.yaml",
		Source:      valid,
		Asked:       model.Asked{Params: map[string]json.RawMessage{"sweep": json.RawMessage(`{"rotate":true}`)}},
	}
	if diff := cmp.Diff(want, got, noPlaces); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

const full = `
name: full
description: every key
fleet:
  agents: {labels: {role: worker, zone: "1"}, count: 20}
workloads:
  - kind: spin
    timeout: 30s
    threads: 3
    size: 1.5MiB
    rate: 10Gbit/s
    share: 0.25
    env: {A: b}
    metrics: [{name: m, json: a.b}]
  - kind: shell
    command: |
      cd ~ &&
      ls *
evaluations: [parallel]
interleave: false
trials: 7
rotate: false
seed: 42
timeouts: {task: 1h, ready: 5s, node: 10s}
retries: {failed: 1, lost: 0}
output: {limit: 1KiB, artifact: 0B}
schedule:
  at: [0, 30]
  begin: 2026-11-24
  until: 2026-12-24 18:00
  jitter: 2m
  zone: Europe/Berlin
`

func TestEveryKey(t *testing.T) {
	seed := int64(42)
	got := parse(t, full)
	want := &Experiment{
		Name: "full", Description: "every key",
		Fleet: Fleet{Agents: &Agents{Labels: map[string]string{"role": "worker", "zone": "1"}, Count: 20}},
		Workloads: []Workload{
			{Name: "spin", Kind: "spin", Timeout: unit.Duration(30 * time.Second),
				Params: map[string]any{"threads": int64(3), "size": "1.5MiB", "rate": "10Gbit/s", "share": 0.25,
					"env": map[string]any{"A": "b"}, "metrics": []any{map[string]any{"name": "m", "json": "a.b"}}},
				Bench: &spin{Threads: 3, Duration: unit.Duration(5 * time.Second), Kernel: "mixed", Size: 3 << 19,
					Rate: unit.Rate{Value: 1e10, Base: unit.Bits}, Share: 0.25,
					Env: map[string]string{"A": "b"}, Metrics: []metric{{Name: "m", JSON: "a.b"}}}},
			{Name: "shell", Kind: "shell", Timeout: unit.Duration(time.Hour),
				Params: map[string]any{"command": "cd ~ &&\nls *\n"}, Bench: &shell{Command: "cd ~ &&\nls *\n"}},
		},
		Schedule: &schedule.Spec{
			At: []int{0, 30}, Begin: "2026-11-24", Until: "2026-12-24 18:00", Jitter: unit.Duration(2 * time.Minute), Zone: "Europe/Berlin",
		},
		Evaluations: []model.Phase{"parallel"},
		Trials:      7,
		Seed:        &seed,
		Timeouts:    Timeouts{unit.Duration(time.Hour), unit.Duration(5 * time.Second), unit.Duration(10 * time.Second)},
		Retries:     Retries{Failed: 1},
		Output:      Output{unit.KiB, 0},
		SourceName:  "some-file.yaml",
		Source:      full,
		Asked:       model.Asked{Params: map[string]json.RawMessage{"sweep": json.RawMessage(`{"rotate":false}`)}},
	}
	if diff := cmp.Diff(want, got, noPlaces); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if got.Has(model.Serial) || !got.Has(model.Parallel) {
		t.Errorf("Has(serial), Has(parallel) = %v, %v, want false, true", got.Has(model.Serial), got.Has(model.Parallel))
	}
}

func TestSet(t *testing.T) {
	got := parse(t, valid, "trials=3", "workloads.two.duration=2s", "workloads.0.env.HOME=/tmp", "fleet.local.nodes=8",
		"description='a: [b'", "timeouts.task=5m", "name='x'", "evaluations=[serial]", "workloads.one.threads=null", "seed=7", "name=over")
	if got.Trials != 3 || got.Fleet.Local.Nodes != 8 || got.Timeouts.Task != unit.Duration(5*time.Minute) || got.Name != "over" || *got.Seed != 7 {
		t.Errorf("overrides give %+v", got)
	}
	one, isSpin := got.Workloads[0].Bench.(*spin)
	two, areSpin := got.Workloads[1].Bench.(*spin)
	if !isSpin || !areSpin {
		t.Fatalf("workloads are %T and %T, want *spin", got.Workloads[0].Bench, got.Workloads[1].Bench)
	}
	if one.Duration.Std() != time.Second || one.Env["HOME"] != "/tmp" || two.Duration.Std() != 2*time.Second || two.Env != nil {
		t.Errorf("workloads are %+v and %+v, want only the second to take 2s, only the first to have HOME", one, two)
	}
	for _, keep := range []string{"# four nodes", "# on this machine", "# each"} {
		if !strings.Contains(got.Source, keep) {
			t.Errorf("the executed file lost the comment %q:\n%s", keep, got.Source)
		}
	}
	again := parse(t, got.Source)
	if diff := cmp.Diff(got, again, noPlaces, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Source" }, cmp.Ignore())); diff != "" {
		t.Errorf("the executed file gives another experiment (-first +again):\n%s\n%s", diff, got.Source)
	}
}

func TestSetReplacesFleet(t *testing.T) {
	got := parse(t, valid, "fleet.local=null", "fleet.agents.count=3", "fleet.agents.labels={role: worker}")
	want := Fleet{Agents: &Agents{Labels: map[string]string{"role": "worker"}, Count: 3}}
	if diff := cmp.Diff(want, got.Fleet); diff != "" {
		t.Errorf("fleet (-want +got):\n%s", diff)
	}
}

func TestSetErrors(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"trials=0", `--set trials=0: trials: 0 is too small; use a whole number from 1 to 1000`},
		{"trials", `--set trials: must be key.path=value; such as trials=3 or workloads.cpu2.duration=2s`},
		{"=3", `--set =3: must be key.path=value; such as trials=3 or workloads.cpu2.duration=2s`},
		{"trails=3", `--set trails=3: trails: unknown key "trails"; did you mean "trials"? Known keys: choose, description, evaluations, every, fleet, interleave, name, output, retries, rotate, schedule, seed, services, shared, sizes, study, timeouts, trials, workloads`},
		{"workloads.tow.threads=3", `--set workloads.tow.threads=3: workloads has no entry "tow"; did you mean "two"? Use a name (one, two) or a number from 0`},
		{"workloads.2.threads=3", `--set workloads.2.threads=3: workloads has no entry "2"; use a name (one, two) or a number from 0`},
		{"fleet.local.nodes.x=3", `--set fleet.local.nodes.x=3: fleet.local.nodes is "4" and has no keys`},
		{"workloads.two.duration=2", `--set workloads.two.duration=2: workloads.two.duration: 2 has no unit; use a number with a unit ns, us, ms, s, m, h or d, such as "500ms", "5s", "2m" or "1h30m"`},
		{"workloads.two.duration=1ms", `--set workloads.two.duration=1ms: workloads.two.duration: 1ms is too short; at least 100ms is needed`},
		{"name='", `--set name=': the value is not valid YAML: while scanning a quoted scalar: found unexpected end of stream; put text with special characters in quotes`},
		{"workloads.two.name=one", `--set workloads.two.name=one: workloads.one.name: two workloads are named "one"; the first is in line 5; give each its own name`},
	} {
		_, err := Parse("f.yaml", []byte(valid), testKinds(), []string{c.set})
		if err == nil || err.Error() != c.want {
			t.Errorf("--set %s:\n got %v\nwant %s", c.set, err, c.want)
		}
		if !errors.Is(err, model.ErrUsage) {
			t.Errorf("--set %s: %v is not a model.ErrUsage", c.set, err)
		}
	}
}

// An override that is wrong is named also when the file is wrong.
func TestSetErrorsFollowFileErrors(t *testing.T) {
	_, err := Parse("f.yaml", []byte(valid+"trails: 1\n"), testKinds(), []string{"seed=x", "rotate=maybe"})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "f.yaml:9:1: ") ||
		!strings.HasPrefix(lines[1], "--set seed=x: ") || !strings.HasPrefix(lines[2], "--set rotate=maybe: ") {
		t.Errorf("errors are\n%v\nwant that of the file, then those of the flags in order", err)
	}
}

func TestDefaultName(t *testing.T) {
	for file, want := range map[string]string{
		"cpu.yaml": "cpu", "/a/b/cpu.over.yml": "cpu.over", "-": "experiment", "": "experiment", ".yaml": "experiment", "a\nb.yaml": "experiment",
	} {
		if got := defaultName(file); got != want {
			t.Errorf("defaultName(%q) = %q, want %q", file, got, want)
		}
	}
}

// Hostile files end quickly with an error, without exhausting memory.
func TestHostile(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&laughs, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	huge := "a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a, ", 100_000) + "]\n"
	for name, src := range map[string]string{
		"billion laughs":       laughs.String(),
		"huge scalar, aliases": huge,
		"merge bomb":           mergeBomb(),
		"deep flow":            strings.Repeat("[", 400_000),
		"deep flow, closed":    strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"deep block":           deepBlock(),
		"deep maps":            strings.Repeat("{a: ", 100_000),
		"wide":                 "a: [" + strings.Repeat("1,", 150_000) + "]",
		"many keys":            manyKeys(),
		"many workloads":       "workloads:\n" + strings.Repeat("  - {kind: spn}\n", 50_000),
		"question marks":       strings.Repeat("? ", 400_000),
		"colons":               strings.Repeat("a: ", 300_000),
		"dashes":               strings.Repeat("- ", 400_000),
		"anchors":              strings.Repeat("&a ", 100_000),
		"too large":            strings.Repeat("# comment\n", 200_000),
		"long number":          "trials: " + strings.Repeat("9", 900_000),
		"long exponent":        "trials: 1e" + strings.Repeat("9", 900_000),
		"long duration":        "timeouts: {task: " + strings.Repeat("1h", 400_000) + "}",
		"long key":             strings.Repeat("x", 1000) + ": 1\n" + strings.Repeat("y", 900_000) + ": 1\n",
		"control":              "a: \x01",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := Parse("f.yaml", []byte(src), testKinds(), nil); !errors.Is(err, model.ErrUsage) {
				t.Errorf("Parse = %.200v, want a model.ErrUsage", err)
			} else if n := len(err.Error()); n > 64<<10 {
				t.Errorf("the message has %d bytes", n)
			}
			t.Logf("%v", time.Since(start))
		})
	}
	for name, src := range map[string]string{
		"deep":         strings.Repeat(`{"jobs":`, 100_000),
		"deep lists":   strings.Repeat(`[`, 500_000),
		"long number":  `{"jobs": ` + strings.Repeat("9", 900_000) + `}`,
		"many jobs":    `{"jobs": [` + strings.Repeat(`{},`, 20_000) + `{}]}`,
		"too large":    `{"jobName": "` + strings.Repeat("x", 2<<20) + `"}`,
		"long command": `{"jobs": [{"command": "` + strings.Repeat("x", 900_000) + `"}]}`,
	} {
		t.Run("json "+name, func(t *testing.T) {
			start := time.Now()
			if _, err := ParseJob("f.json", []byte(src)); !errors.Is(err, model.ErrUsage) {
				t.Errorf("ParseJob = %.200v, want a model.ErrUsage", err)
			}
			t.Logf("%v", time.Since(start))
		})
	}
}

func mergeBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 {k0: 1, k1: 2}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "a%d: &a%d {<<: [*a%d, *a%d], x%d: 1}\n", i, i, i-1, i-1, i)
	}
	return b.String()
}

func deepBlock() string {
	var b strings.Builder
	for i := range 1300 {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys() string {
	var b strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&b, "trial%d: 1\n", i)
	}
	return b.String()
}

// fleets counts the kinds of fleet that an experiment has.
func fleets(e *Experiment) int {
	n := 0
	for _, has := range []bool{e.Fleet.Local != nil, e.Fleet.Lab != nil, e.Fleet.Agents != nil} {
		if has {
			n++
		}
	}
	return n
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(valid), "trials=3")
	f.Add([]byte(full), "workloads.spin.threads=2")
	f.Add([]byte(labFile), "fleet.lab.groups.rack.nodes=2")
	files, _ := filepath.Glob("testdata/errors/*.yaml")
	for _, file := range files {
		if src, err := os.ReadFile(file); err == nil {
			f.Add(src, "seed=1")
		}
	}
	reg := testKinds()
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		e, err := Parse("f.yaml", src, reg, []string{set})
		if err != nil {
			if !errors.Is(err, model.ErrUsage) {
				t.Fatalf("Parse = %v, want a model.ErrUsage", err)
			}
			return
		}
		// What was accepted is complete and can be executed again as stored.
		if len(e.Workloads) == 0 || e.Trials < 1 || fleets(e) != 1 ||
			len(e.Services) > 0 && e.Fleet.Lab == nil || e.Fleet.Lab != nil && e.Fleet.Lab.Validate() != nil {
			t.Fatalf("accepted an impossible experiment %+v", e)
		}
		again, err := Parse("f.yaml", []byte(e.Source), reg, nil)
		if err != nil {
			t.Fatalf("the executed file is refused: %v\n%s", err, e.Source)
		}
		again.Source = e.Source
		if diff := cmp.Diff(e, again, noPlaces); diff != "" {
			t.Fatalf("the executed file gives another experiment (-first +again):\n%s\n%s", diff, e.Source)
		}
	})
}
