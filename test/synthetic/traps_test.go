package synthetic

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/study/variability"
)

// table is rows with facts by name, as somebody's own table has them.
type table struct {
	frame.Frame
	columns map[string]*frame.Column
	names   []string
}

func newTable() *table {
	return &table{
		Frame:   frame.Frame{Key: frame.Key{Metric: "score"}, Unit: "points", Better: model.Higher},
		columns: map[string]*frame.Column{},
	}
}

// row adds a value after this much time, negative: the rows have no times, and facts
// as pairs of name and level.
func (t *table) row(value float64, after time.Duration, facts ...string) {
	t.Values = append(t.Values, value)
	if after >= 0 {
		t.Times = append(t.Times, Campaign{}.filled().Begin.Add(after).UnixNano())
	}
	for i := 0; i < len(facts); i += 2 {
		if t.columns[facts[i]] == nil {
			t.columns[facts[i]] = frame.NewFact(facts[i])
			t.names = append(t.names, facts[i])
		}
		t.columns[facts[i]].Append(facts[i+1])
	}
}

func (t *table) frame() frame.Frame {
	f := t.Frame
	for _, name := range t.names {
		f.Facts = append(f.Facts, t.columns[name].Fact())
	}
	return f
}

// trap is a composition that misleads an analysis of independent rows, and what is
// wrong with an answer; empty: nothing. It may be wrong in this share of cases.
type trap struct {
	name  string
	make  func(rng *rand.Rand) frame.Frame
	wrong func(m *variability.Metric) string
	most  float64
}

// trapSeeds is how many tables are made of each: there are many traps.
func trapSeeds() int { return max(2, *seeds/2) }

// each analyses the trap with every seed.
func (x trap) each(ctx context.Context, t *testing.T, f func(m *variability.Metric)) {
	t.Helper()
	all := make([]*variability.Metric, trapSeeds())
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for seed := w; seed < len(all); seed += 2 {
				made := x.make(rand.New(rand.NewPCG(uint64(seed), 0x7a))) //nolint:gosec // small
				r, err := variability.New().Ask(ctx, study.Input{}, []study.Source{{Name: "table", Frames: []frame.Frame{made}}})
				if err != nil {
					t.Error(err)
					return
				}
				all[seed] = &r.(*variability.Result).Metrics[0]
			}
		})
	}
	wg.Wait()
	for _, m := range all {
		if m == nil {
			t.FailNow()
		}
		f(m)
	}
}

// TestTraps: what only seems so is not claimed, and what is there is found.
func TestTraps(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds, many times that under the race detector")
	}
	t.Parallel()
	for _, x := range traps {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			bad, why := 0, map[string]int{}
			x.each(t.Context(), t, func(m *variability.Metric) {
				if text := x.wrong(m); text != "" {
					bad++
					why[text]++
				}
			})
			if len(why) > 12 {
				why = nil
			}
			t.Logf("%d of %d are wrong: %v", bad, trapSeeds(), why)
			if n := float64(trapSeeds()); float64(bad) > x.most*n+2.6*math.Sqrt(x.most*(1-x.most)*n) {
				t.Errorf("%d of %d are wrong: %v, want at most %v %%", bad, trapSeeds(), why, 100*x.most)
			}
		})
	}
}

// effectOf is what is said of a fact.
func effectOf(m *variability.Metric, fact string) explain.Effect {
	for _, e := range m.Facts {
		if e.Fact == fact {
			return e
		}
	}
	return explain.Effect{}
}

// claims is what is wrong if a fact is said to explain something; found the other
// way round.
func claims(fact string) func(m *variability.Metric) string {
	return func(m *variability.Metric) string {
		if e := effectOf(m, fact); e.Significant {
			return fact + " over " + e.Units
		}
		return ""
	}
}

func finds(fact string) func(m *variability.Metric) string {
	return func(m *variability.Metric) string {
		if e := effectOf(m, fact); !e.Significant {
			return fact + " is not found over " + e.Units
		}
		return ""
	}
}

// holds is what is wrong with intervals that do not hold the truth.
func holds(mean, cov float64) func(m *variability.Metric) string {
	return func(m *variability.Metric) string {
		var out []string
		if ci := m.MeanCI; mean != 0 && (ci == nil || mean < ci[0] || mean > ci[1]) {
			out = append(out, "mean")
		}
		if ci := m.COVCI; cov != 0 && (ci == nil || cov < ci[0] || cov > ci[1]) {
			out = append(out, "cov")
		}
		return strings.Join(out, " and ")
	}
}

// changed is what is wrong if a change or a drift is claimed.
func changed(m *variability.Metric) string {
	switch {
	case m.Course == nil:
		return ""
	case len(m.Course.Changes) > 0:
		return "changes"
	case m.Course.Drift != nil && m.Course.Drift.Significant:
		return "drift"
	}
	return ""
}

// steps is what is wrong unless there is one change, by 12 % in the middle of the
// rows.
func steps(m *variability.Metric) string {
	if len(m.Course.Changes) != 1 {
		return fmt.Sprintf("%d changes, %s", len(m.Course.Changes), changed(m))
	}
	c := m.Course.Changes[0]
	return first(near("row", float64(c.Row)/float64(m.N), 0.5, 0.05), near("by", c.Relative, 0.12, 0.04))
}

// machines are 8 of a hundred rows each, half of them with either version, under
// the name of a column. micro is a fact that refines the version, and is no source
// of likeness.
func machines(column string, n int, between, effect float64) func(rng *rand.Rand) frame.Frame {
	return func(rng *rand.Rand) frame.Frame {
		t := newTable()
		order, level := rng.Perm(n), make([]float64, n)
		for i := range level {
			level[i] = 100 + between*rng.NormFloat64()
			if order[i] < n/2 {
				level[i] += effect
			}
		}
		for range 100 {
			for i := range level {
				t.row(level[i]+5*rng.NormFloat64(), -1, column, fmt.Sprint("m", i), "version", fmt.Sprint("v", 2*order[i]/n), "zone", fmt.Sprint("z", rng.IntN(3)))
			}
		}
		return t.frame()
	}
}

// refined is a version of which a build of several tells more, which matters not.
func refined(rng *rand.Rand) frame.Frame {
	t := newTable()
	for range 400 {
		b := rng.IntN(6)
		t.row(100+4*float64(b/3)+5*rng.NormFloat64(), -1, "build", fmt.Sprint("b", b), "version", fmt.Sprint("v", b/3))
	}
	return t.frame()
}

// simpson has version v1 measured mostly in the better zone, and worse within each.
func simpson(within float64) func(rng *rand.Rand) frame.Frame {
	return func(rng *rand.Rand) frame.Frame {
		t := newTable()
		for i := range 600 {
			zone, version := rng.IntN(2), 0
			if rng.Float64() < []float64{0.1, 0.9}[zone] {
				version = 1
			}
			v := 70 + 30*float64(zone) + within*float64(version) + 2*rng.NormFloat64()
			t.row(v, time.Duration(i)*time.Hour, "zone", fmt.Sprint("z", zone), "version", fmt.Sprint("v", version))
		}
		return t.frame()
	}
}

// advises is what is wrong if a level is recommended without a reservation.
func advises(fact string) func(m *variability.Metric) string {
	return func(m *variability.Metric) string {
		for _, a := range m.Advice {
			if a.Code == "take_level" && a.Fact == fact && !strings.Contains(a.Text, "beside the") {
				return "take " + fact
			}
		}
		return ""
	}
}

// short is a table of hours with a daily cycle: of levels by hour that are drawn, or
// a sine.
type short struct {
	hours                    float64
	every                    time.Duration
	sine, drawn, step, noise float64
	cpus                     bool
}

func (s short) frame(rng *rand.Rand) frame.Frame {
	t := newTable()
	phase := 2 * math.Pi * rng.Float64()
	var levels [24]float64
	for i := range levels {
		levels[i] = s.drawn * rng.NormFloat64()
	}
	span := time.Duration(s.hours * float64(time.Hour))
	for at := time.Duration(0); at < span; at += s.every {
		v := 1 + s.sine*math.Sin(phase+2*math.Pi*at.Hours()/24) + levels[int(at.Hours())%24]
		if 2*at >= span {
			v += s.step
		}
		v += s.noise * rng.NormFloat64()
		if s.cpus {
			cpu := rng.IntN(2)
			t.row(v*(100-40*float64(cpu)), at, "cpu", fmt.Sprint("c", cpu))
		} else {
			t.row(100*v, at)
		}
	}
	return t.frame()
}

// together are rows of which ten have one time, and are alike.
func sameTime(times, each int, share float64) func(rng *rand.Rand) frame.Frame {
	return func(rng *rand.Rand) frame.Frame {
		t := newTable()
		for i := range times {
			common := math.Sqrt(share) * rng.NormFloat64()
			n := each
			if each < 0 {
				n = 1 + rng.IntN(-each)
			}
			for range n {
				t.row(100+10*(common+math.Sqrt(1-share)*rng.NormFloat64()), time.Duration(i)*time.Hour)
			}
		}
		return t.frame()
	}
}

// chain is a series that remembers; phi 1: a random walk.
func chain(n int, phi float64) func(rng *rand.Rand) frame.Frame {
	return func(rng *rand.Rand) frame.Frame {
		t := newTable()
		past := 0.0
		if phi < 1 {
			past = rng.NormFloat64() / math.Sqrt(1-phi*phi)
		}
		for i := range n {
			past = phi*past + rng.NormFloat64()
			v := 100 + past
			if phi < 1 {
				v = 100 + 10*past*math.Sqrt(1-phi*phi)
			}
			t.row(v, time.Duration(i)*time.Hour)
		}
		return t.frame()
	}
}

// grouped are 24 nodes, half of them of either processor; nodes of one processor
// differ by as much as their rows do, and the COV of each group is 10 %.
func grouped(rng *rand.Rand) frame.Frame {
	t := newTable()
	var level [24]float64
	for i := range level {
		level[i] = math.Sqrt(.5) * rng.NormFloat64()
	}
	for r := range 20 {
		for i, own := range level {
			v := 1 + 0.1*(own+math.Sqrt(.5)*rng.NormFloat64())
			t.row(v*float64(100-50*(i%2)), time.Duration(r)*time.Hour, "node", fmt.Sprint("n", i), "cpu", fmt.Sprint("c", i%2))
		}
	}
	return t.frame()
}

// holdsGroup is what is wrong with the interval of the COV of the first group.
func holdsGroup(m *variability.Metric) string {
	for _, g := range m.Groups {
		if g.Fact == "cpu" {
			if ci := g.Groups[0].COVCI; ci == nil || 0.1 < ci[0] || 0.1 > ci[1] {
				return "cov"
			}
			return ""
		}
	}
	return "no groups"
}

// doubted is what is wrong unless there is a doubt, where an answer is wrong.
func doubted(code string, wrong func(m *variability.Metric) string) func(m *variability.Metric) string {
	return func(m *variability.Metric) string {
		for _, d := range m.Doubts {
			if d.Code == code {
				return ""
			}
		}
		return wrong(m)
	}
}

var traps = []trap{
	{"version within machines", machines("machine", 8, 5, 0), claims("version"), 0.05},
	{"version within boxes", machines("box", 8, 5, 0), claims("version"), 0.05},
	{"version within boxes that hardly differ", machines("box", 8, 1, 0), claims("version"), 0.05},
	{"version within boxes that are alike", machines("box", 8, 0, 2), finds("version"), 0.07},
	{"version that matters within boxes", machines("box", 16, 3, 10), finds("version"), 0.05},
	{"version that builds refine", refined, finds("version"), 0.07},
	{"mean over machines", machines("machine", 8, 5, 0), holds(100, 0), 0.07},
	{"mean over boxes", machines("box", 8, 5, 0), doubted("alike", holds(100, 0)), 0.05},
	{"groups of nodes", grouped, holdsGroup, 0.07},
	{"worse within each zone", simpson(-5), advises("version"), 0.05},
	{"no better within each zone", simpson(0), advises("version"), 0.05},
	{"half a cycle", short{hours: 12, every: 5 * time.Minute, sine: .05, noise: .02}.frame, changed, 0.05},
	{"a cycle", short{hours: 24, every: 30 * time.Minute, sine: .05, noise: .02}.frame, changed, 0.05},
	{"a long cycle", short{hours: 40, every: 10 * time.Minute, sine: .05, noise: .02}.frame, changed, 0.05},
	{"hours of half a day", short{hours: 12, every: 5 * time.Minute, drawn: .05, noise: .02}.frame, changed, 0.05},
	{"hours of a day", short{hours: 24, every: 5 * time.Minute, drawn: .05, noise: .02}.frame, changed, 0.05},
	{"step in half a day", short{hours: 12, every: 5 * time.Minute, step: .12, noise: .02}.frame, steps, 0.05},
	{"step in a day", short{hours: 24, every: 30 * time.Minute, step: .12, noise: .02}.frame, steps, 0.05},
	{"step in half a cycle", short{hours: 12, every: 5 * time.Minute, step: .12, sine: .03, noise: .02}.frame, steps, 0.1},
	{"step among cycle and processors", short{hours: 480, every: 30 * time.Minute, step: .12, sine: .15, noise: .02, cpus: true}.frame, steps, 0.05},
	{"rows of one time", sameTime(60, 10, .5), holds(0, .1), 0.07},
	{"rows of one time, all alike", sameTime(40, 5, .9), holds(0, .1), 0.07},
	{"rows of one time, uneven", sameTime(60, -10, .5), holds(0, .1), 0.07},
	{"neighbours .9", chain(480, .9), doubted("few_effective", holds(100, .1)), 0.07},
	{"neighbours .9 without change", chain(480, .9), changed, 0.05},
	{"short random walk", chain(100, 1), changed, 0.05},
	{"random walk", chain(480, 1), changed, 0.05},
}
