package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// begin is when the first run of a simulated history is.
var begin = time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)

// runs makes a history: a run a day on three nodes with two trials each, of the
// level that the day has; runs differ by 2 %, single values by 3 %.
func runs(seed uint64, days int, level func(day int) float64, facts func(day int) map[string]string) frame.Frame {
	rng := rand.New(rand.NewPCG(seed, 1))
	f := frame.Frame{Key: frame.Key{Metric: "rate"}, Unit: "op/s", Better: model.Higher}
	columns := map[string]*frame.Column{}
	for _, name := range []string{"run", "node", "trial", "kernel", "version"} {
		columns[name] = frame.NewFact(name)
	}
	for day := range days {
		of := 1 + .02*rng.NormFloat64()
		for node := range 3 {
			for trial := range 2 {
				f.Values = append(f.Values, level(day)*of*(1+.03*rng.NormFloat64()))
				f.Times = append(f.Times, begin.AddDate(0, 0, day).Add(time.Duration(trial)*time.Minute).UnixNano())
				columns["run"].Append(fmt.Sprintf("01J%023d", day))
				columns["node"].Append(fmt.Sprintf("n%d", node))
				columns["trial"].Append(fmt.Sprint(trial + 1))
				for _, name := range []string{"kernel", "version"} {
					columns[name].Append(facts(day)[name])
				}
			}
		}
	}
	for _, name := range []string{"kernel", "node", "run", "trial", "version"} {
		f.Facts = append(f.Facts, columns[name].Fact())
	}
	return f
}

func steady(int) float64            { return 100 }
func nothing(int) map[string]string { return nil }

// ask is the history of frames.
func ask(t *testing.T, p *Params, frames ...frame.Frame) *Result {
	t.Helper()
	r, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "nightly", Frames: frames}})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

func params() *Params { return Kind().New().(*Params) }

// TestStep: with day 40 the kernel changes and values fall by 12 %: the change is
// found there, with its facts and medians, and the latest run is as the ones since.
func TestStep(t *testing.T) {
	level := func(day int) float64 {
		if day >= 40 {
			return 88
		}
		return 100
	}
	facts := func(day int) map[string]string {
		if day >= 40 {
			return map[string]string{"kernel": "6.2", "version": "1.0"}
		}
		return map[string]string{"kernel": "6.1", "version": "1.0"}
	}
	found := 0
	for seed := range uint64(20) {
		r := ask(t, params(), runs(seed, 60, level, facts))
		m := r.Metrics[0]
		i := slices.IndexFunc(m.Changes, func(c Change) bool { return c.Index >= 39 && c.Index <= 41 })
		if i < 0 {
			continue
		}
		found++
		c := m.Changes[i]
		if diff := cmp.Diff([]Fact{{"kernel", "6.1", "6.2", 40}}, c.Facts); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		if math.Abs(c.Before-100) > 4 || math.Abs(c.After-88) > 4 || !c.At.Equal(begin.AddDate(0, 0, c.Index)) || c.Run != m.Runs[c.Index].Run {
			t.Errorf("change %+v, want one from 100 to 88", c)
		}
		if want := 59 - m.Changes[len(m.Changes)-1].Index; m.Latest.Before != want {
			t.Errorf("the latest is held against %d runs, want the %d since the last change", m.Latest.Before, want)
		}
		page := r.Document()
		if said := strings.Join(page.More, "\n"); !strings.Contains(said, "rate: the level changed from ") {
			t.Errorf("the summary does not tell of the change: %q", said)
		}
		if text := fmt.Sprint(page.Sections[0].Blocks[1].Table.Rows); !strings.Contains(text, "kernel: 6.1 → 6.2") {
			t.Errorf("the table of changes does not name the kernel: %s", text)
		}
	}
	if found < 16 {
		t.Errorf("the change was found in %d of 20 histories, want 16", found)
	}
}

// TestLatest: how often the latest run is called another than those before, which
// it is not (at most 5 %), and is (17 runs of 98 % power are enough for 12 %).
func TestLatest(t *testing.T) {
	falsely, found, exit := 0, 0, 0
	const n = 200
	five := study.Percent(5)
	for seed := range uint64(n) {
		if m := ask(t, params(), runs(seed, 18, steady, nothing)).Metrics[0]; m.Latest.Verdict != As {
			falsely++
		}
		p := params()
		p.FailWorse = &five
		r := ask(t, p, runs(seed, 18, func(day int) float64 {
			if day == 17 {
				return 85
			}
			return 100
		}, nothing))
		if r.Metrics[0].Latest.Verdict == Worse {
			found++
		}
		if errors.Is(r.Gate(), model.ErrThreshold) {
			exit++
		}
	}
	if falsely > 21 { // one in a thousand of 5 %
		t.Errorf("%d of %d steady histories end with another verdict, want at most 21", falsely, n)
	}
	if found < 190 || exit < 150 {
		t.Errorf("a latest run that is 15 %% worse is found in %d of %d histories, and by more than 5 %% in %d; want 190 and 150", found, n, exit)
	}
}

// TestProblem: what could carry the answer leaves none, in the gate, in JSON and on
// the page alike.
func TestProblem(t *testing.T) {
	f := runs(3, 18, func(day int) float64 { return map[bool]float64{true: 50, false: 100}[day == 17] }, nothing)
	f.Doubts = []model.Doubt{{Code: "x", Severity: model.Problem, Text: "the clock stood still"}}
	five, p := study.Percent(5), params()
	p.FailWorse = &five
	r := ask(t, p, f)
	page := r.Document()
	if got := r.Metrics[0].Latest.Verdict; got != Unknown || !errors.Is(r.Gate(), model.ErrInvalid) || page.Verdict.Word != "unknown" || !strings.Contains(page.Answer, "is unknown: the clock stood still") {
		t.Errorf("verdict %s, gate %v, page %q %q; want unknown everywhere", got, r.Gate(), page.Verdict.Word, page.Answer)
	}
}

// TestDisturbed: a latest run that is worse by what was disturbed alone, or of which
// all was, is not called worse; one that is worse without is, and its own CPU limit
// is no disturbance.
func TestDisturbed(t *testing.T) {
	const days = 18
	for name, c := range map[string]struct {
		level float64            // of the latest run
		slow  func(row int) bool // halves rows of the latest, of 6
		by    func(day, row int) string
		want  Verdict
		says  string
	}{
		"one trial": {100, func(row int) bool { return row%2 == 1 }, func(day, row int) string {
			return map[bool]string{true: "steal", false: "no"}[day == days-1 && row%2 == 1]
		}, Unknown, "without what was disturbed as before"},
		"all of it":     {100, func(int) bool { return true }, func(day, _ int) string { return map[bool]string{true: "pause, steal", false: "no"}[day == days-1] }, Unknown, "all of the latest run was disturbed"},
		"its own limit": {100, func(int) bool { return true }, func(day, _ int) string { return map[bool]string{true: "throttled", false: "no"}[day == days-1] }, Worse, ""},
		"worse without": {50, func(row int) bool { return row == 0 }, func(day, row int) string {
			return map[bool]string{true: "steal", false: "no"}[day == days-1 && row == 0]
		}, Worse, ""},
		"all runs, all":   {50, func(int) bool { return false }, func(int, int) string { return "steal" }, Worse, "how much of its difference is due to that cannot be told"},
		"one run earlier": {50, func(int) bool { return false }, func(day, _ int) string { return map[bool]string{true: "steal", false: "no"}[day == 3] }, Worse, ""},
	} {
		f := runs(5, days, func(day int) float64 { return map[bool]float64{true: c.level, false: 100}[day == days-1] }, nothing)
		by := frame.NewFact(frame.FactDisturbed)
		for i := range f.Values {
			if i/6 == days-1 && c.slow(i%6) {
				f.Values[i] /= 2
			}
			by.Append(c.by(i/6, i%6))
		}
		f.Facts = append(f.Facts, by.Fact())
		m := ask(t, params(), f).Metrics[0]
		if said := strings.Join(m.Warnings, "; "); m.Latest.Verdict != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, m.Latest.Verdict, said, c.want, c.says)
		}
	}
}

// TestFalseChanges: a steady history has a change in at most 5 % of cases, however
// many metrics it has.
func TestFalseChanges(t *testing.T) {
	for _, metrics := range []int{1, 5} {
		falsely := 0
		for seed := range uint64(60) {
			var frames []frame.Frame
			for i := range metrics {
				f := runs(1000*seed+uint64(i), 30, steady, nothing)
				f.Metric = fmt.Sprint(i)
				frames = append(frames, f)
			}
			for _, m := range ask(t, params(), frames...).Metrics {
				if len(m.Changes) > 0 {
					falsely++
					break
				}
			}
		}
		if falsely > 9 { // one in a thousand of 5 %
			t.Errorf("%d of 60 steady histories of %d metrics have a change, want at most 9", falsely, metrics)
		}
	}
}

// TestFewRuns: what can be said of few runs is said, and nothing else.
func TestFewRuns(t *testing.T) {
	zero := study.Percent(0)
	for n, c := range map[int]struct {
		latest bool
		says   string
	}{
		1:  {false, "1 run, too few"},
		3:  {false, "3 runs, too few"},
		4:  {true, "the 3 before"},
		12: {true, "the 11 before"},
	} {
		p := params()
		p.FailWorse = &zero
		r := ask(t, p, runs(7, n, steady, nothing))
		if got := r.Metrics[0].Latest != nil; got != c.latest {
			t.Errorf("%d runs: the latest is judged: %v", n, got)
		}
		if !c.latest && !errors.Is(r.Gate(), model.ErrInvalid) {
			t.Errorf("%d runs: gate %v, want that it cannot be told", n, r.Gate())
		}
		if got := r.Document().Answer; !strings.Contains(got, c.says) {
			t.Errorf("%d runs: %q, want %q in it", n, got, c.says)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%d runs: %v", n, err)
		}
	}
}

// TestRunValue: trials of a node are averaged, then nodes; the interval is over
// nodes.
func TestRunValue(t *testing.T) {
	f := frame.Frame{Key: frame.Key{Metric: "rate"}, Values: []float64{8, 12, 20, 20, 33}, Times: []int64{3, 1, 2, 4, 5}}
	run, node := frame.NewFact("run"), frame.NewFact("node")
	for _, n := range []string{"a", "a", "b", "b", "c"} {
		run.Append("r")
		node.Append(n)
	}
	f.Facts = []frame.Fact{run.Fact(), node.Fact()}
	got := ask(t, params(), f).Metrics[0].Runs[0]
	// 10, 20 and 33: mean 21, SD 11.533, t(.975, 2) = 4.3027
	if got.N != 3 || got.Mean != 21 || math.Abs(got.CI.Hi-(21+4.30265*11.53256/math.Sqrt(3))) > 1e-3 || !got.At.Equal(time.Unix(0, 1)) {
		t.Errorf("run = %+v %v, want the mean 21 of 3 nodes", got, got.CI)
	}
}

// TestDrawnSmall: a history of a year of half hours stays small as a page.
func TestDrawnSmall(t *testing.T) {
	f := runs(1, 3000, steady, nothing)
	b, err := json.Marshal(ask(t, params(), f).Document().Sections)
	if err != nil || len(b) > 400_000 {
		t.Errorf("the sections of 3,000 runs take %d bytes, want at most 400,000 (%v)", len(b), err)
	}
}

// TestRefuses: what has no history.
func TestRefuses(t *testing.T) {
	p := params()
	p.Metric = "other"
	if _, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "nightly", Frames: []frame.Frame{runs(1, 4, steady, nothing)}}}); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "they have rate") {
		t.Errorf("another metric: %v", err)
	}
	p = params()
	p.Zone = "Mars/Olympus"
	if err := p.Validate(); !errors.Is(err, model.ErrUsage) {
		t.Errorf("zone: %v", err)
	}
}

// without leaves out rows of the day.
func without(f frame.Frame, day int, left func(node, trial string) bool) frame.Frame {
	run := fmt.Sprintf("01J%023d", day)
	return *f.Where(func(row int) bool {
		return f.Fact("run").Level(row) != run || !left(f.Fact("node").Level(row), f.Fact("trial").Level(row))
	})
}

// TestMissingNode: the latest run lacks the node that is twice as fast as the others.
// It is not worse for that.
func TestMissingNode(t *testing.T) {
	const n = 40
	differ := 0
	for seed := range uint64(n) {
		f := runs(seed, 20, steady, nothing)
		for row := range f.Values {
			if f.Fact("node").Level(row) == "n2" {
				f.Values[row] *= 2
			}
		}
		x := ask(t, params(), without(f, 19, func(node, _ string) bool { return node == "n2" })).Metrics[0].Latest
		if x.Verdict == Better || x.Verdict == Worse {
			differ++
		}
	}
	if differ > 7 { // once in a thousand of 5 %
		t.Errorf("a run without its fastest node is called different in %d of %d cases", differ, n)
	}
}

// TestFewerTrials: single values scatter by 10 %, and the latest run has one of each
// node where those before have ten: it is called different in about 5 % of cases.
func TestFewerTrials(t *testing.T) {
	const n = 100
	differ := 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 5))
		f := frame.Frame{Key: frame.Key{Metric: "rate"}, Unit: "op/s", Better: model.Higher}
		run, node := frame.NewFact("run"), frame.NewFact("node")
		for day := range 20 {
			trials := 10
			if day == 19 {
				trials = 1
			}
			for k := range 3 * trials {
				f.Values = append(f.Values, 100*(1+.1*rng.NormFloat64()))
				f.Times = append(f.Times, begin.AddDate(0, 0, day).UnixNano())
				run.Append(fmt.Sprintf("01J%023d", day))
				node.Append(fmt.Sprint(k % 3))
			}
		}
		f.Facts = []frame.Fact{node.Fact(), run.Fact()}
		if ask(t, params(), f).Metrics[0].Latest.Verdict != As {
			differ++
		}
	}
	if differ > 13 { // once in a thousand of 5 %
		t.Errorf("a run of fewer trials is called different in %d of %d cases", differ, n)
	}
}
