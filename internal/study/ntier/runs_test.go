package ntier

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/tiersim"
)

// micro adds a step of a microbenchmark of one node.
func (r *recording) micro(kind string, node model.NodeID, trial int, samples ...model.Sample) {
	run, number := r.data.Run.ID, len(r.data.Steps)
	s := model.Step{ID: model.NewStepID(run, number), Run: run, Number: number, Phase: Phase, Workload: kind, Trial: trial, State: model.StepComplete, Attempt: 1, Treatment: model.Treatment{Label: kind + " alone"}}
	task := model.Task{ID: model.NewTaskID(s.ID, 0), Node: node, Spec: model.Spec{Kind: kind}}
	s.Tasks = append(s.Tasks, task)
	r.data.Results = append(r.data.Results, model.Result{Run: run, Step: s.ID, Task: task.ID, Attempt: 1, Node: node, Outcome: model.OutcomeOK, Started: r.at, Ended: r.at.Add(time.Second), Samples: samples})
	r.data.Steps = append(r.data.Steps, s)
	r.at = r.at.Add(time.Minute)
}

// switches adds trials of what a context switch costs on a node, in ns by threads.
func (r *recording) switches(node model.NodeID, costs map[int][]float64) {
	for trial := range 2 {
		var samples []model.Sample
		for threads, ns := range costs {
			samples = append(samples, model.Sample{Metric: "context_switch_time", Unit: "ns", Value: ns[trial], Better: model.Lower, Labels: map[string]string{"threads": strconv.Itoa(threads)}})
		}
		r.micro("context_switch", node, trial+1, samples...)
	}
}

// TestSeveralRuns: runs of two fleets are told apart by their names, and never mixed.
func TestSeveralRuns(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	slower := shop
	slower.Tiers = slices.Clone(shop.Tiers)
	slower.Tiers[2].Quota *= .5
	first, second := recordingOf("A"), recordingOf("B")
	first.loads(p, "1-2-1", shop, 2, 40, 80, 120, 180)
	second.loads(p, "1-2-1", slower, 2, 40, 80, 120, 180)
	second.switches(second.node("db"), map[int][]float64{2: {1000, 1200}})
	second.micro("network", "x>y", 1, model.Sample{Metric: "rtt_idle_p50", Unit: "us", Value: 200, Better: model.Lower, Info: true})
	runs := func(a, b string) study.Input {
		return study.Input{Runs: []study.NamedRun{{Name: a, Run: observe.Of(first.data)}, {Name: b, Run: observe.Of(second.data)}}}
	}
	for want, in := range map[string]study.Input{
		"1-2-1 was measured by the runs A and B": runs("", ""),
		"fast=A slow=B":                          runs("same", "same"),
		"cannot be the name of a platform":       runs("1-x", "b"),
		"fast/galera=A fast/partitioned=B":       runs("fast/x", "fast/x"),
		"nor of one and a variant":               runs("fast/a/b", "fast/Galera"),
		`"/galera" cannot be`:                    runs("/galera", "b"),
	} {
		if _, err := p.Analyze(t.Context(), in); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Analyze() = %v, want %q", err, want)
		}
	}
	result, err := p.Analyze(t.Context(), runs("fast", "slow"))
	if err != nil {
		t.Fatal(err)
	}
	got := result.(*Result) //nolint:forcetypeassert // it is
	if len(got.Configurations) != 2 || got.Configurations[0].Configuration != "1-2-1-fast" || got.Configurations[1].Platform != "slow" {
		t.Fatalf("configurations %+v", got.Configurations)
	}
	if x, y := got.Configurations[0].peak().Throughput, got.Configurations[1].peak().Throughput; math.Abs(x/y-2) > .2 {
		t.Errorf("peaks %v and %v, want twice as much on fast", x, y)
	}
	if s := got.Switching; len(s) != 1 || s[0].Platform != "slow" || s[0].Cost != 1100 || s[0].CI == nil {
		t.Errorf("context switches %+v, want 1100 ns on slow", s)
	}
	if n := got.Network; len(n) != 1 || n[0].Idle == nil || *n[0].Idle != 200e-6 || n[0].Sent != nil {
		t.Errorf("network %+v, want 200 µs when idle", n)
	}
	d := got.Document()
	if !slices.ContainsFunc(d.Sections, func(s doc.Section) bool { return s.ID == "nodes" && len(s.Blocks) == 3 }) {
		t.Error("no section about the nodes with a figure and two tables")
	}
}

// TestMixes: configurations of each mix are ranked and priced by themselves, also of runs that
// have names, and that users do something else with another mix is no doubt.
func TestMixes(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}, SLA: "p95=500ms",
		PriceTable: "type,price_per_hour,currency\nlarge,0.5,USD\n"}
	writes := shop
	writes.Tiers = slices.Clone(shop.Tiers)
	writes.Tiers[2].Quota *= .5
	r := recordingOf("A")
	r.loads(p, "1-2-1(read_write)-ec2-large", writes, 2, 40, 80, 120, 180)
	r.loads(p, "1-2-1(browse_only)-ec2-large", shop, 2, 40, 80, 120, 180)
	for i := range r.data.Steps {
		s := &r.data.Steps[i]
		l, _ := p.labelOf(*s)
		s.Levels["mix"] = l.configuration.Variant
		for k := range s.Tasks {
			params := map[string]any{"mix": l.configuration.Variant}
			for key, v := range s.Tasks[k].Spec.Params {
				params[key] = v
			}
			s.Tasks[k].Spec.Params = params
		}
	}
	got := analyze(t, p, r)
	if len(got.Configurations) != 2 || got.Cost != nil || len(got.CostByMix) != 2 {
		t.Fatalf("%d configurations, cost %v, %d costs by mix", len(got.Configurations), got.Cost, len(got.CostByMix))
	}
	for i, mix := range []string{"browse_only", "read_write"} {
		f, c := got.Configurations[i], got.CostByMix[i]
		if f.Mix != mix || f.Configuration != "1-2-1("+mix+")-ec2-large" || c.Mix != mix || len(c.Rows) != 1 ||
			c.Rows[0].Configuration != f.Configuration {
			t.Errorf("configuration %d: %s of %q; cost of %q: %+v", i, f.Configuration, f.Mix, c.Mix, c.Rows)
		}
	}
	if x, y := got.Configurations[0].peak().Throughput, got.Configurations[1].peak().Throughput; math.Abs(x/y-2) > .2 {
		t.Errorf("peaks %v and %v, want twice as much when only reading", x, y)
	}
	if text := strings.Join(got.Warnings, " "); strings.Contains(text, "something else") {
		t.Errorf("warnings %q", text)
	}
	ids := make(map[string]bool)
	for _, s := range got.Document().Sections {
		if ids[s.ID] {
			t.Errorf("two sections are %s", s.ID)
		}
		ids[s.ID] = true
	}
	one := []study.NamedRun{{Name: "fast/galera", Run: observe.Of(r.data)}}
	named, err := p.Analyze(t.Context(), study.Input{Runs: one})
	if err != nil {
		t.Fatal(err)
	}
	f := named.(*Result).Configurations[0] //nolint:forcetypeassert // it is
	if f.Configuration != "1-2-1(galera_browse_only)-fast-large" || f.Mix != "browse_only" {
		t.Errorf("with a name: %s of %q", f.Configuration, f.Mix)
	}
}

// node is a host of a tier.
func (r *recording) node(tier string) model.NodeID {
	for _, x := range r.data.Results {
		for _, h := range x.Host {
			if strings.HasPrefix(h.Metric, tier+":") {
				return x.Node
			}
		}
	}
	return ""
}

// TestSwitchShare: switches × cost at the threads that were runnable ÷ cores.
func TestSwitchShare(t *testing.T) {
	r := recordingOf("A")
	r.switches("n1", map[int][]float64{10: {900, 1100}, 40: {2900, 3100}})
	run := observe.Of(r.data)
	signals := map[string][]float64{bottleneck.SignalRunnable: {20, 20}, bottleneck.SignalSwitches: {800, 800}, bottleneck.SignalPreempted: {200, 200}, bottleneck.SignalQuota: {.5, .5}}
	services := []bottleneck.Service{{Tier: "db", Node: "n1", Signals: signals}}
	x := trial{run: run, Trial: bottleneck.Trial{Users: 10, Trial: 1, Throughput: 10, Services: services}}
	m := measured{trials: []trial{x}, system: bottleneck.System{Tiers: []string{"db"}, Trials: []bottleneck.Trial{x.Trial}}}
	switching, _ := microOf(run, "", m.trials)
	if doubts := (&Params{}).costOfSwitches(&m, switching); len(doubts) != 0 {
		t.Errorf("doubts %v, want none within what was measured", doubts)
	}
	share := func() float64 {
		return m.system.At(bottleneck.Analyze(m.system).Loads[0], "db", bottleneck.SignalSwitchShare)
	}
	// Halfway between 10 and 40 by their logarithm: 2 µs.
	if got := share(); math.Abs(got-1000*2e-6/.5) > 1e-12 {
		t.Errorf("share %v, want 0.4 %%", got)
	}
	for threads, want := range map[float64]float64{2: 1e-6, 10: 1e-6, 40: 3e-6, 400: 3e-6, math.NaN(): math.NaN()} {
		if got := m.switchCosts(switching)["db"].At(threads); math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-15 {
			t.Errorf("cost with %v threads is %v, want %v", threads, got, want)
		}
	}
	m.system.Trials[0].Cores = map[model.NodeID]float64{"n1": 2} // 10 on each
	if got := share(); math.Abs(got-1000*1e-6/.5) > 1e-12 {
		t.Errorf("share with two processors %v, want 0.2 %%", got)
	}
	m.system.Trials[0].Cores = nil
	// Nodes of which nothing says that they are alike are no measure, without a platform too.
	other := slices.Clone(switching)
	for i := range other {
		other[i].Node = "n2"
	}
	if doubts := (&Params{}).costOfSwitches(&m, other); len(doubts) != 1 ||
		!strings.Contains(doubts[0].text, "measured on other nodes than those of db") || !math.IsNaN(share()) {
		t.Errorf("doubts %v, want that other nodes were measured, and no share", doubts)
	}
	signals[bottleneck.SignalRunnable] = []float64{50, 50}
	if doubts := (&Params{}).costOfSwitches(&m, switching); len(doubts) != 1 ||
		!strings.Contains(doubts[0].text, "up to 50 threads were runnable") {
		t.Errorf("doubts %v, want one about 50 threads", doubts)
	}
}

// TestVariants: two data tiers with the same hosts are told apart by their names, on two
// platforms, where their ranking turns over; on the one, one of them still grew at the
// last load and is ahead all the same.
func TestVariants(t *testing.T) {
	p := &Params{Tiers: []string{"web", "app", "db"}}
	slower := shop
	slower.Tiers = slices.Clone(shop.Tiers)
	slower.Tiers[2].Quota *= .5
	few := []int{20, 30, 40, 55, 70, 85} // of which the faster one has no knee
	var runs []study.NamedRun
	for _, x := range []struct {
		name  string
		net   tiersim.Net
		loads []int
	}{{"fast/galera", shop, few}, {"fast/spider", slower, few}, {"slow/galera", slower, []int{40, 80, 120, 180}}, {"slow/spider", shop, []int{40, 80, 120, 180}}} {
		r := recordingOf(model.RunID(x.name))
		r.loads(p, "1-2-1", x.net, 4, x.loads...)
		runs = append(runs, study.NamedRun{Name: x.name, Run: observe.Of(r.data)})
	}
	result, err := p.Analyze(t.Context(), study.Input{Runs: runs})
	if err != nil {
		t.Fatal(err)
	}
	got := result.(*Result) //nolint:forcetypeassert // it is
	var names []string
	for _, f := range got.Configurations {
		names = append(names, f.Configuration+" "+f.Shape+" "+f.Platform+" "+f.Variant)
	}
	if want := "1-2-1(galera)-fast 1-2-1(galera) fast galera, 1-2-1(spider)-fast 1-2-1(spider) fast spider"; !strings.HasPrefix(strings.Join(names, ", "), want) {
		t.Errorf("configurations %q, want %s", names, want)
	}
	if !got.Configurations[0].stillGrew() || got.Configurations[1].stillGrew() {
		t.Fatalf("knees %v, %v, want none of the first", got.Configurations[0].Knee, got.Configurations[1].Knee)
	}
	if x := got.Reversals; len(x) != 1 || x[0].A != "1-2-1(galera)" || x[0].First != "fast" || !x[0].GrewFirst || x[0].GrewSecond || got.Rankings != (Rankings{Pairs: 1}) {
		t.Fatalf("reversals %+v of %+v, want galera ahead on fast", x, got.Rankings)
	}
	if text := strings.Join(got.Document().More, " "); !strings.Contains(text, "On fast 1-2-1(galera) has at least 1.") || !strings.Contains(text, "on slow 0.") {
		t.Errorf("it says %q", text)
	}
	figures := got.comparison()
	if len(figures) < 2 || len(figures[1].Figure.Panels) != 2 || figures[1].Figure.Panels[0].Title != "1-2-1(galera)" {
		t.Errorf("figures %+v, want one of each variant on both platforms", figures)
	}
}
