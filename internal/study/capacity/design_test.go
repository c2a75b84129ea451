package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// setup is a run of so many generators that searches with workloads of these
// names.
func setup(nodes int, names ...string) study.Setup {
	out := study.Setup{Trials: 1, Seed: 7}
	for i := range nodes {
		out.Nodes = append(out.Nodes, model.Node{ID: model.NodeID(fmt.Sprintf("n%d", i+1))})
	}
	for _, name := range names {
		out.Workloads = append(out.Workloads, study.Workload{Name: name, Kind: "load", Params: map[string]any{"target": "http://127.0.0.1:1/", "duration": "1s"}, Subjects: nodes})
	}
	return out
}

// asked is the question that is asked of them.
func asked() *Study {
	s := newStudy()
	s.SLA = "p90=100ms"
	return s
}

// capacityServer answers at once up to its capacity, and in a second above it.
type capacityServer struct{ capacity float64 }

// answer makes the results of a window's tasks.
func (s capacityServer) answer(t *testing.T, step model.Step) (out []model.Result) {
	t.Helper()
	rate := step.Tasks[0].Spec.Offer.Rate
	took := time.Millisecond
	if rate > s.capacity {
		took = time.Second
	}
	for _, task := range step.Tasks {
		scorer := load.NewScorer(1, 0, time.Second)
		c := load.NewCollector(1, 1, scorer.Add)
		shard := c.Shard(0)
		for i := range int(rate) / task.Spec.Parts {
			due := time.Duration(float64(time.Second) * float64(i) / rate)
			shard.Due(0, due)
			shard.Sent(0, due, 0, due)
			shard.OK(0, due, due, due+took)
		}
		shard.Close()
		c.Wait()
		r := model.Result{Run: step.Run, Step: step.ID, Task: task.ID, Attempt: 1, Node: task.Node, Outcome: model.OutcomeOK}
		record := &workloadtest.Record{T: t}
		scorer.Summary([]string{"get"}, load.Usage{}).Report(record)
		measured := record.Result()
		r.Samples, r.Histograms, r.Host = measured.Samples, measured.Histograms, measured.Host
		out = append(out, r)
	}
	return out
}

// execution does what a master does with a design.
type execution struct {
	design study.Design
	setup  study.Setup
	data   model.RunData
	told   int
}

func begin(t *testing.T, s study.Setup) *execution {
	t.Helper()
	d, err := asked().Design(s)
	if err != nil {
		t.Fatal(err)
	}
	return &execution{design: d, setup: s, data: model.RunData{Run: model.Run{ID: "r", Started: time.Unix(1e9, 0)}, Nodes: s.Nodes}}
}

// next asks for the treatment after the steps that the design was not told of.
func (x *execution) next(t *testing.T) *study.Treatment {
	t.Helper()
	news := x.data
	news.Steps = x.data.Steps[x.told:]
	x.told = len(x.data.Steps)
	all, err := x.design.Next(observe.Of(news))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// step makes a step of a treatment: all nodes but those left out take part.
func (x *execution) step(tr study.Treatment) model.Step {
	s := model.Step{
		ID: model.NewStepID(x.data.Run.ID, len(x.data.Steps)), Run: x.data.Run.ID, Number: len(x.data.Steps), Phase: tr.Phase,
		Workload: tr.Workload, Trial: tr.Trial, State: model.StepComplete, Attempt: 1,
	}
	nodes := slices.DeleteFunc(model.NodeIDs(x.setup.Nodes), func(n model.NodeID) bool { return slices.Contains(tr.Without, n) })
	own := slices.IndexFunc(x.setup.Workloads, func(w study.Workload) bool { return w.Name == tr.Workload })
	for i, n := range nodes {
		spec := model.Spec{Workload: tr.Workload, Kind: "load", Part: i, Parts: len(nodes), Offer: tr.Offer,
			Params: x.setup.Workloads[max(0, own)].Params}
		s.Tasks = append(s.Tasks, model.Task{ID: model.NewTaskID(s.ID, i), Node: n, Position: i, Spec: spec})
	}
	return s
}

// run executes windows until there are no more, or so many.
func (x *execution) run(t *testing.T, server capacityServer, most int) {
	t.Helper()
	for len(x.data.Steps) < most {
		tr := x.next(t)
		if tr == nil {
			return
		}
		s := x.step(*tr)
		x.data.Steps = append(x.data.Steps, s)
		x.data.Results = append(x.data.Results, server.answer(t, s)...)
	}
}

// TestDesign: the windows of a search come one after another until the boundary
// is known; a run that is resumed goes on where it was.
func TestDesign(t *testing.T) {
	x := begin(t, setup(2, "web"))
	x.run(t, capacityServer{730}, 100)
	r, err := asked().Analyze(context.Background(), study.Input{Run: observe.Of(done(x.data))})
	if err != nil {
		t.Fatal(err)
	}
	a := r.(*Result).Searches[0].Answer
	if a.Limit != LimitTarget || *a.Passed > 730 || *a.Failed < 730 || len(a.Windows) != len(x.data.Steps) {
		t.Errorf("limit %s, passed %v, failed %v, %d windows of %d", a.Limit, a.Passed, a.Failed, len(a.Windows), len(x.data.Steps))
	}
	latest := x.design.(study.Commenter).Latest()
	if want := fmt.Sprintf("window %d of at most 40: ", len(x.data.Steps)); !strings.HasPrefix(latest, want) {
		t.Errorf("the latest window: %q; want %q", latest, want)
	}
	for cut := 0; cut < len(x.data.Steps); cut += 3 {
		again := begin(t, x.setup)
		again.data = x.data
		again.data.Steps = x.data.Steps[:cut]
		tr := again.next(t)
		if tr == nil || *tr.Offer != *x.data.Steps[cut].Tasks[0].Spec.Offer {
			t.Fatalf("resumed after %d windows the next is %+v, want %+v", cut, tr, x.data.Steps[cut].Tasks[0].Spec.Offer)
		}
	}
}

func done(d model.RunData) model.RunData {
	d.Run.State = model.RunDone
	return d
}

// TestSeeds: what windows draw follows from the run's seed and their numbers alone.
func TestSeeds(t *testing.T) {
	x := begin(t, setup(1, "web"))
	x.run(t, capacityServer{730}, 3)
	var got []int64
	for _, s := range x.data.Steps {
		got = append(got, s.Tasks[0].Spec.Offer.Seed)
	}
	if want := []int64{2427699360884270, 5565685812309261, 5639334395036528}; !slices.Equal(got, want) {
		t.Errorf("seeds %v, want %v", got, want)
	}
}

// TestWindowsDrawAnew: no two windows have the same seed, which those of the
// same run have again when it is repeated or resumed.
func TestWindowsDrawAnew(t *testing.T) {
	seeds := func(seed int64) (all []int64) {
		s := setup(2, "web")
		s.Trials, s.Seed = 3, seed
		x := begin(t, s)
		x.run(t, capacityServer{730}, 1000)
		for _, s := range x.data.Steps {
			all = append(all, s.Tasks[0].Spec.Offer.Seed)
		}
		return all
	}
	once, again := seeds(7), seeds(7)
	if !slices.Equal(once, again) {
		t.Error("with the same seed, two runs draw differently")
	}
	distinct := make(map[int64]bool)
	for _, s := range slices.Concat(once, seeds(8)) {
		distinct[s] = true
	}
	if len(distinct) < 2*len(once)-1 {
		t.Errorf("two searches of %d windows each have %d different seeds", len(once), len(distinct))
	}
}

// TestSearchesInTurn: every trial searches with every workload.
func TestSearchesInTurn(t *testing.T) {
	s := setup(1, "small", "large")
	s.Trials = 2
	x := begin(t, s)
	x.run(t, capacityServer{730}, 1000)
	var order []string
	for _, step := range x.data.Steps {
		name := fmt.Sprint(step.Workload, step.Trial)
		if len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if got, want := fmt.Sprint(order), "[small1 large1 small2 large2]"; got != want {
		t.Errorf("searches %s, want %s", got, want)
	}
}

// TestBrokenSearch: a search with a window that is invalid for good ends there,
// and the others go on.
func TestBrokenSearch(t *testing.T) {
	x := begin(t, setup(1, "a", "b"))
	x.run(t, capacityServer{730}, 3)
	x.data.Steps[2].State = model.StepInvalid
	if tr := x.next(t); tr == nil || tr.Workload != "b" {
		t.Errorf("after a broken search: %+v; want the first window of b", tr)
	}
}

// TestLostGenerator: a search whose window became invalid with a node that is
// lost for good goes on with the others, at the same load; without that it ends,
// as it does when no node is left.
func TestLostGenerator(t *testing.T) {
	server := capacityServer{730}
	broken := func() (*execution, study.Treatment) {
		x := begin(t, setup(3, "web"))
		x.run(t, server, 4)
		tr := x.next(t)
		s := x.step(*tr)
		s.State = model.StepInvalid
		x.data.Steps = append(x.data.Steps, s)
		return x, *tr
	}
	x, _ := broken()
	if tr := x.next(t); tr != nil {
		t.Errorf("a search with a window that failed goes on: %+v", tr)
	}
	x, _ = broken()
	x.design.(study.Loser).Lost(model.NodeIDs(x.setup.Nodes))
	if tr := x.next(t); tr != nil {
		t.Errorf("a search without a generator goes on: %+v", tr)
	}
	x, before := broken()
	gone := x.setup.Nodes[1].ID
	x.design.(study.Loser).Lost([]model.NodeID{gone})
	tr := x.next(t)
	if tr == nil || tr.Offer.Rate != before.Offer.Rate || !slices.Equal(tr.Without, []model.NodeID{gone}) ||
		tr.Replaces != len(x.data.Steps) {
		t.Fatalf("without %s: %+v; want the same load from two in place of the last step", gone, tr)
	}
	s := x.step(*tr)
	x.data.Steps = append(x.data.Steps, s)
	x.data.Results = append(x.data.Results, server.answer(t, s)...)
	all, err := measuredIn(observe.Of(x.data))
	if err != nil || len(all) != 1 || all[0].broken || len(all[0].windows) != 5 || len(all[0].dropouts) != 1 {
		t.Fatalf("measured %+v, %v; want five windows and a dropout", all, err)
	}
	want := "generator " + string(gone) + " did not come back after window 4; from then on the load came from 2"
	if text := all[0].dropouts[0]; text != want {
		t.Errorf("the dropout reads %q", text)
	}
}

// TestOutlook: before a search it is known how many windows it has at most, and
// how long they are.
func TestOutlook(t *testing.T) {
	s := setup(2, "web")
	s.Trials = 3
	d := begin(t, s).design.(study.Forecaster)
	if want := []study.Outlook{{Phase: model.Search, Workload: "web", Trials: 3, Steps: 40, Step: 3225 * time.Millisecond}}; !slices.Equal(d.Outlook(), want) {
		t.Errorf("outlook %+v, want %+v", d.Outlook(), want)
	}
}

// TestAtMost: what is left is never less than what follows, and nothing in the
// end.
func TestAtMost(t *testing.T) {
	x := begin(t, setup(2, "web"))
	bounded := x.design.(study.Bounded)
	var bounds []int
	for {
		tr := x.next(t)
		steps, all := bounded.AtMost()
		if (all == 0) != (steps == 0) || all < time.Duration(steps)*time.Second {
			t.Errorf("at most %d windows of a second and more take at most %v", steps, all)
		}
		bounds = append(bounds, steps)
		if tr == nil {
			break
		}
		s := x.step(*tr)
		x.data.Steps = append(x.data.Steps, s)
		x.data.Results = append(x.data.Results, capacityServer{730}.answer(t, s)...)
	}
	for i, steps := range bounds {
		if follow := len(bounds) - 1 - i; steps < follow || follow > 0 && steps != 40-i {
			t.Errorf("after %d windows at most %d follow, and %d do", i, steps, follow)
		}
	}
	if last := bounds[len(bounds)-1]; last != 0 {
		t.Errorf("at the end at most %d windows follow", last)
	}
}

// TestDesignRefuses: what a workload does and a search cannot use is refused at
// the key that says it, wherever that stands.
func TestDesignRefuses(t *testing.T) {
	type params = map[string]any
	for _, c := range []struct {
		name, sla string
		entry     study.Workload
		path      string
	}{
		{"no load", "p90=1s", study.Workload{Kind: "nap"}, "workloads.w.kind"},
		{"no SLA", "", study.Workload{Params: params{}}, "sla"},
		{"users", "p90=1s", study.Workload{Params: params{"users": 3}}, "workloads.w.users"},
		{"a short timeout of requests", "p50=1s,p99=15s", study.Workload{Params: params{}}, "workloads.w.request_timeout"},
		{"a short timeout", "p90=1s", study.Workload{Params: params{}, Timeout: 5 * time.Second}, "workloads.w.timeout"},
		{"an SLA of its own", "", study.Workload{Params: params{"sla": "p90=15s"}}, "workloads.w.request_timeout"},
		{"a least load of its own", "p90=1s", study.Workload{Params: params{"start": "5op/s", "min": "6op/s"}}, "workloads.w.min"},
	} {
		s := setup(1)
		c.entry.Name, c.entry.Kind, c.entry.Subjects = "w", cmp.Or(c.entry.Kind, "load"), 1
		s.Workloads = []study.Workload{c.entry}
		asked := newStudy()
		asked.SLA = c.sla
		_, err := asked.Design(s)
		if key, ok := errors.AsType[*model.InputError](err); !ok || key.Path != c.path {
			t.Errorf("%s: %v, want an error of %s", c.name, err, c.path)
		}
	}
}

// TestOwnKeys: keys of the study that stand at a workload hold for that one
// alone, in the design as in the analysis.
func TestOwnKeys(t *testing.T) {
	s := setup(1, "a", "b")
	s.Workloads[1].Params = map[string]any{"target": "http://b.test/", "sla": "p99=2s", "start": "7op/s", "windows": 9.0}
	d, err := asked().Design(s)
	if err != nil {
		t.Fatal(err)
	}
	a, b := d.(*design).searches[0], d.(*design).searches[1]
	if a.SLA.String() != "p90=100ms,errors=1%" || a.Start != 100 || a.MaxWindows != 40 || a.Scored != time.Second {
		t.Errorf("a is searched as %+v", a.Config)
	}
	if b.SLA.String() != "p99=2s,errors=1%" || b.Start != 7 || b.MaxWindows != 9 || b.Scored != b.SLA.Scored(2*time.Second) {
		t.Errorf("b is searched as %+v", b.Config)
	}
	stored, _, err := newStudy().configFor(s.Workloads[1].Params, "load")
	if err != nil || !reflect.DeepEqual(stored, b.Config) {
		t.Errorf("from its task alone it is %+v, %v; want %+v", stored, err, b.Config)
	}
}

// TestBounds: one bound of a search alone is never out of order with those that
// were not given.
func TestBounds(t *testing.T) {
	rate := func(v float64) *unit.Rate { return &unit.Rate{Value: v, Base: unit.Operations} }
	for _, c := range []struct {
		name            string
		start, min, max *unit.Rate
		want            [3]float64 // start, min, max
	}{
		{"none", nil, nil, nil, [3]float64{100, 1, 1e6}},
		{"a small start", rate(.5), nil, nil, [3]float64{.5, .5, 1e6}},
		{"a large start", rate(2e6), nil, nil, [3]float64{2e6, 1, 2e6}},
		{"a small max", nil, nil, rate(50), [3]float64{50, 1, 50}},
		{"a max below the default min", nil, nil, rate(.5), [3]float64{.5, .5, .5}},
		{"a large min", nil, rate(500), nil, [3]float64{500, 500, 1e6}},
		{"a large min above the default max", nil, rate(2e6), nil, [3]float64{2e6, 2e6, 2e6}},
		{"a small min", nil, rate(.1), nil, [3]float64{100, .1, 1e6}},
		{"all", rate(20), rate(10), rate(30), [3]float64{20, 10, 30}},
	} {
		s := asked()
		s.Start, s.Min, s.Max = c.start, c.min, c.max
		got, err := s.config()
		if err != nil || [3]float64{got.Start, got.Min, got.Max} != c.want {
			t.Errorf("%s: start %v, min %v, max %v, %v; want %v", c.name, got.Start, got.Min, got.Max, err, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	rate := func(v float64) *unit.Rate { return &unit.Rate{Value: v, Base: unit.Operations} }
	for path, change := range map[string]func(*Study){
		"sla":        func(s *Study) { s.SLA = "fast" },
		"start":      func(s *Study) { s.Start, s.Max = rate(6), rate(5) },
		"min":        func(s *Study) { s.Min = rate(2e9) },
		"max":        func(s *Study) { s.Max = rate(-1) },
		"fail_below": func(s *Study) { s.FailBelow = &unit.Rate{Value: 5, Base: unit.Bits} },
	} {
		s := asked()
		change(s)
		if key, ok := errors.AsType[*model.InputError](s.Validate()); !ok || key.Path != path {
			t.Errorf("Validate = %v, want an error of %s", s.Validate(), path)
		}
	}
}
