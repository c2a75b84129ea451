package sizing

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/queueing"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// transcoders is the fleet of which docs/methods.md has the table: a job gets
// 738 kB, computes and puts 826 kB, in full packets, over links of so many byte/s
// either way; 0: without a limit. One node alone did the first of the rates.
func transcoders(target, link float64, rates map[int]float64) question {
	q := question{target: target, nodeRate: rates[1], together: together{run: "R", workload: "transcode"}}
	for resource, size := range map[string]float64{model.ResourceNetworkReceive: 738e3, model.ResourceNetworkSend: 826e3} {
		q.demands = append(q.demands, demand{resource: resource, amount: rates[1] * size / payloadShare, unit: evaluation.ByteRate})
		total := link
		if link == 0 {
			total = 1e9
		}
		q.capacities = append(q.capacities, capacity{resource: resource, total: total, unit: evaluation.ByteRate, limited: link > 0})
	}
	for n := 2; n <= 8; n++ {
		if rate, ok := rates[n]; ok {
			q.together.points = append(q.together.points, Measured{Nodes: n, Rate: rate})
		}
	}
	return q
}

// TestBandHoldsWhatWasMeasured: the rates of one and of several transcoders,
// which were measured in a lab.
func TestBandHoldsWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name   string
		link   float64
		rates  map[int]float64
		within int // points between the ends, without any slack
	}{
		{"no limit", 0, map[int]float64{1: 1.05, 4: 4.20, 8: 8.68}, 1},
		{"32 Mbit/s", 32e6 / 8, map[int]float64{1: .92, 2: 1.75, 3: 2.42, 4: 2.83, 6: 3.82}, 3},
		{"20 Mbit/s", 20e6 / 8, map[int]float64{1: .67, 2: 1.33, 3: 1.95, 4: 2.32, 6: 2.57, 8: 2.33}, 4},
	} {
		r, err := transcoders(1.8, c.link, c.rates).answer()
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != Fits || len(r.Measured) != len(c.rates)-1 {
			t.Errorf("%s: %s with %d fleets measured, %q, want fits with %d", c.name, r.Answer, len(r.Measured), r.Warnings, len(c.rates)-1)
		}
		within := 0
		for _, m := range r.Measured {
			if m.Rate < m.Lower*(1-slack) || m.Rate > m.Upper*(1+slack) {
				t.Errorf("%s: %d nodes did %v, the band is %v to %v", c.name, m.Nodes, m.Rate, m.Lower, m.Upper)
			}
			if m.Rate >= m.Lower*(1-rounding) && m.Rate <= m.Upper*(1+rounding) {
				within++
			}
		}
		if within != c.within {
			t.Errorf("%s: %d fleets within the band, want %d: %+v", c.name, within, c.within, r.Measured)
		}
	}
}

// application is a run of one to eight nodes, of which each does a job and a half
// a second alone, with half a core, and together at most so many.
func application(most float64) *simulated.Builder {
	total := func(active []int, solo float64) float64 { return min(most, 1.5*float64(len(active))) / 1.5 * solo }
	b := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 4, 6}, Noise: .005, Total: total}.Run(rand.New(rand.NewPCG(2, 7)))
	b.Data.Run.ID = "R"
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		r.Samples[0].Value *= 1.5 / solo
		r.Host = counters(map[string]float64{"cgroup.cpu": .5})
	}
	return b
}

// halve takes half of what was done in a step.
func halve(b *simulated.Builder, step model.StepID) {
	for i := range b.Data.Results {
		if r := &b.Data.Results[i]; r.Step == step {
			r.Samples[0].Value /= 2
		}
	}
}

// plannedFrom answers from a run.
func plannedFrom(t *testing.T, b *simulated.Builder, p Params) *Result {
	t.Helper()
	p.DemandRun, p.FailUnlessFits = "R", true
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	r, err := p.Analyze(t.Context(), study.Input{Open: func(context.Context, string) (*observe.Run, error) { return observe.Of(b.Data), nil }})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*Result)
}

// jobsRun is a run of the workload jobs, of which the link of the store is the limit; calm is how
// much less nodes wait for it than they do in the network.
func jobsRun(rng *rand.Rand, truth queueing.Fleet, bytes, calm float64) *simulated.Builder {
	total := func(active []int, solo float64) float64 {
		b := truth.Band(len(active))
		return (b.Lower + calm*(b.Upper-b.Lower)) / truth.Rate * solo
	}
	b := simulated.Sweep{Fleet: 8, Trials: 3, Sizes: []int{2, 4, 6}, Noise: .005, Total: total}.Run(rng)
	b.Data.Run.ID = "R"
	for i := range b.Data.Results {
		r := &b.Data.Results[i]
		rate := r.Samples[0].Value * truth.Rate / solo
		r.Samples = []model.Sample{
			{Metric: observe.MetricJobs, Unit: "job/s", Value: rate, Better: model.Higher},
			{Metric: observe.MetricJobTime, Unit: "s", Value: float64(truth.Slots) / rate, Info: true},
			{Metric: observe.MetricPutBytes, Unit: "byte", Value: bytes, Info: true},
		}
		r.Host = counters(map[string]float64{"cgroup.cpu": .5})
	}
	return b
}

// TestPlanOfJobs: a run of jobs says what they take of the store, how many of them a node has at
// once, and perhaps what all nodes share. So the plan describes its own run, and answers, whatever
// the link and the slots are.
func TestPlanOfJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 28))
	for range 60 {
		bytes, rate, slots := 1e5+1e6*rng.Float64(), .5+rng.Float64(), 1+rng.IntN(4)
		most := rate * (1.5 + 5*rng.Float64()) // jobs/s that the link carries
		truth := queueing.Fleet{Rate: rate, Slots: slots,
			Shared: []queueing.Shared{{Name: model.ResourceObjectPut, Service: 1 / most}}}
		b := jobsRun(rng, truth, bytes, .6*rng.Float64())
		var results []model.Result
		for i := range 8 {
			x := b.Reported(i, 0, 10, 0)
			x.Samples = []model.Sample{{Metric: "capacity", Unit: "B/s", Value: most * bytes / 8, Better: model.Higher,
				Resource: model.ResourceObjectPut}}
			results = append(results, x)
		}
		b.Step(model.Parallel, 1, results...)
		last := &b.Data.Steps[len(b.Data.Steps)-1]
		last.Workload, last.Study, last.Factors = "put", "scaleout", []byte(`{"role": "capacity"}`)
		for _, share := range []float64{.8 * rng.Float64(), 1.1 + rng.Float64()} {
			target := .01 + share*most
			p := Params{Target: fmt.Sprintf("%.4f/s", target), DemandRun: "R:work", Capacity: []string{"cpu=1000core"}}
			run := observe.Of(b.Data)
			answer, err := p.Analyze(t.Context(), study.Input{Run: run,
				Open: func(context.Context, string) (*observe.Run, error) { return run, nil }})
			if err != nil {
				t.Fatal(err)
			}
			r := answer.(*Result)
			want, safe := Fails, (*int)(nil)
			if share < 1 {
				want, safe = Fits, truth.Safe(target, r.Nodes)
			}
			if r.Answer != want || r.Slots != slots || len(r.Measured) != 4 {
				t.Errorf("%.3g jobs/s of %.3g, %d slots: %s with %d slots, %q, want %s: %+v, %q", target, most, slots,
					r.Answer, r.Slots, r.against, want, r.Resources, r.Warnings)
			}
			if safe != nil && (r.NodesSafe == nil || *r.NodesSafe < *safe-1 || *r.NodesSafe > *safe+1) {
				t.Errorf("%.3g jobs/s of %.3g, %d slots: %v nodes are safe, want %d", target, most, slots,
					r.NodesSafe, *safe)
			}
		}
	}
}

// TestPlanAgreesWithItsRun: it answers where the run lies within what the plan
// says, and else refuses.
func TestPlanAgreesWithItsRun(t *testing.T) {
	for _, c := range []struct {
		name string
		most float64 // jobs/s that the application did, with however many nodes
		p    Params
		want Answer
		text string // of the contradiction
	}{
		{"agrees", 100, Params{Capacity: []string{"cpu=20core"}}, Fits, ""},
		{"agrees at its limit", 6, Params{DemandPerJob: []string{"network.send=1MB"}, Capacity: []string{"network.send=6MB/s", "cpu=20core"}}, Fits, ""},
		{"agrees, rate given", 100, Params{NodeRate: "1.5/s", Capacity: []string{"cpu=20core"}}, Fits, ""},
		{"agrees, rate a little off", 100, Params{NodeRate: "1.4/s", Capacity: []string{"cpu=20core"}}, Fits, ""},
		{"other jobs", 100, Params{NodeRate: "40/s", Capacity: []string{"cpu=20core"}}, Fits, ""},
		{"other jobs, limit unknown", 5, Params{NodeRate: "0.01/s", Capacity: []string{"cpu=2000core"}}, Unknown, "something that the plan does not know holds the nodes back"},
		{"rate too low", 100, Params{NodeRate: "0.34/s", Capacity: []string{"cpu=2.5core"}}, Unknown, "the rate of one node, 0.34/s, does not describe what was measured; leave --node-rate out"},
		{"alone too slow", 100, Params{Capacity: []string{"cpu=20core"}}, Unknown, "/s, does not describe what was measured; measure one node alone again, for as long as several"},
		{"demand too high", 100, Params{DemandPerJob: []string{"network.send=1MB"}, Capacity: []string{"network.send=3MB/s"}}, Unknown, "the demand on network.send or its capacity does not describe what was measured"},
		{"capacity too low", 100, Params{Capacity: []string{"cpu=1core"}}, Unknown, "the demand on cpu or its capacity"},
		{"limit unknown", 5, Params{Capacity: []string{"cpu=20core"}}, Unknown, "something that the plan does not know holds the nodes back"},
	} {
		c.p.Target = "4/s"
		b := application(c.most)
		for _, s := range b.Data.Steps {
			if s.Phase == model.Serial && c.name == "alone too slow" {
				halve(b, s.ID)
			}
		}
		r := plannedFrom(t, b, c.p)
		if r.Answer != c.want || len(r.Measured) != 4 {
			t.Errorf("%s: %s, %+v, %q, want %s and four fleets", c.name, r.Answer, r.Measured, r.Warnings, c.want)
		}
		if told := slices.ContainsFunc(r.Doubts, func(d model.Doubt) bool { return d.Code == "other_jobs" }); told != strings.Contains(c.name, "other jobs") {
			t.Errorf("%s: doubts %+v", c.name, r.Doubts)
		}
		if c.want != Unknown {
			if err := r.Gate(); err != nil {
				t.Errorf("%s: gate %v", c.name, err)
			}
			continue
		}
		if d := r.Doubts[0]; d.Code != "contradicts_run" || d.Severity != model.Problem || d.Workload != "work" || !strings.Contains(d.Text, c.text) || r.Warnings[0] != d.Text {
			t.Errorf("%s: doubts %+v, want one first that says %q", c.name, r.Doubts, c.text)
		}
		if r.Binding != "" || r.Largest != nil || r.LargestRate != nil || r.NodesSafe != nil {
			t.Errorf("%s: %+v, want no answer at all", c.name, r)
		}
		for _, x := range r.Resources {
			if x.Answer != Unknown || x.Text != "" || x.Largest != nil || x.LargestCI != nil || x.LargestRate != nil || x.NodeLimit != nil || x.RateLimit != nil {
				t.Errorf("%s: %+v, want no answer on a resource either", c.name, x)
			}
		}
		if err := r.Gate(); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("%s: gate %v, want ErrInvalid", c.name, err)
		}
		if d := r.Document(); !strings.HasPrefix(d.Answer, "The plan contradicts its own run, so it is unknown how many nodes 4 jobs/s take: ") || d.Verdict.Tone != doc.Doubt {
			t.Errorf("%s: answer %q, verdict %+v", c.name, d.Answer, d.Verdict)
		}
	}
}

// TestPlanOfTheIssue: six nodes did 8.85 jobs/s, and the plan ended growth at
// five nodes and 1.7 jobs/s.
func TestPlanOfTheIssue(t *testing.T) {
	q := question{
		target: 6, nodeRate: .34, demands: []demand{{resource: "network.send", amount: 1, unit: evaluation.ByteRate}},
		capacities: []capacity{{resource: "network.send", total: 5, unit: evaluation.ByteRate, limited: true}},
		together:   together{run: "R", points: []Measured{{Nodes: 6, Rate: 8.85, CI: &evaluation.Interval{8.6, 9.1}}}},
	}
	r, err := q.answer()
	if err != nil {
		t.Fatal(err)
	}
	want := "The plan contradicts its own run, so it is unknown how many nodes 6 jobs/s take: 6 nodes did 8.85 jobs/s in run R, the plan says 1.501 to 1.7."
	if got := r.Document().Answer; r.Answer != Unknown || got != want {
		t.Errorf("%s, %q, want unknown, %q", r.Answer, got, want)
	}
}

// TestAgreementByIntervals: only what lies outside with its whole interval, beyond
// those of the plan, is a contradiction.
func TestAgreementByIntervals(t *testing.T) {
	interval := func(lo, hi float64) *evaluation.Interval { return &evaluation.Interval{lo, hi} }
	for _, c := range []struct {
		name                   string
		rate                   float64
		ci, node, demand, most *evaluation.Interval
		want                   Answer
	}{
		{"at the limit", 8, nil, nil, nil, nil, Fits},
		{"within the slack", 8.7, nil, nil, nil, nil, Fits},
		{"above", 9, nil, nil, nil, nil, Unknown},
		{"above, wide itself", 9, interval(7, 11), nil, nil, nil, Fits},
		{"above, the capacity may be more", 9, nil, nil, nil, interval(7, 9), Fits},
		{"above, the demand may be less", 9, nil, nil, interval(.85, 1.15), nil, Fits},
		{"above, more than twenty nodes alone", 9, nil, interval(.3, .35), nil, nil, Unknown},
		{"below", 6.5, nil, nil, nil, nil, Unknown},
		{"below, wide itself", 6.5, interval(4, 9), nil, nil, nil, Fits},
		{"below, one node may do less", 6.5, nil, interval(.5, 1.5), nil, nil, Fits},
	} {
		q := question{
			target: 4, nodeRate: 1, nodeRateCI: c.node, demands: []demand{{resource: "x", amount: 1, unit: "u", ci: c.demand}},
			capacities: []capacity{{resource: "x", total: 8, unit: "u", limited: true, ci: c.most}},
			together:   together{run: "R", points: []Measured{{Nodes: 20, Rate: c.rate, CI: c.ci}}},
		}
		r, err := q.answer()
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != c.want {
			t.Errorf("%s: %s, %q, want %s", c.name, r.Answer, r.Warnings, c.want)
		}
	}
}

// TestMeasuredTogether: subjects become nodes, units jobs per second; a run
// without one rate of jobs has nothing to compare.
func TestMeasuredTogether(t *testing.T) {
	pairs := simulated.Pairs(rand.New(rand.NewPCG(1, 2)), 6, 2, .5, .0001, false).Data
	thousands := simulated.Plain(4, .5).Data
	bytes := simulated.Plain(4, .5).Data
	for i := range thousands.Results {
		thousands.Results[i].Samples[0].Unit, bytes.Results[i].Samples[0].Unit = "kop/s", "MB/s"
	}
	several := simulated.Plain(4, .5).Data
	for i := range several.Results {
		r := &several.Results[i]
		r.Samples = append(r.Samples, model.Sample{Metric: "other", Unit: "op/s", Value: 3, Better: model.Higher})
	}
	for _, c := range []struct {
		name  string
		data  model.RunData
		nodes int // 0: nothing
		rate  float64
	}{
		{"pairs", pairs, 12, 600}, {"thousands", thousands, 4, 203e3}, {"bytes", bytes, 0, 0}, {"several rates", several, 0, 0},
	} {
		run, q := observe.Of(c.data), question{nodeRate: c.rate / float64(max(1, c.nodes))}
		findings, err := evaluation.Findings(run, quick)
		if err == nil {
			err = q.measureTogether(findings, run, "work")
		}
		if got := q.together.points; err != nil || (len(got) == 1) != (c.nodes > 0) {
			t.Fatalf("%s: %+v, %v", c.name, got, err)
		}
		if c.nodes == 0 {
			continue
		}
		m := q.together.points[0]
		wantValue(t, c.name, &m.Rate, c.rate, .01*c.rate)
		if m.Nodes != c.nodes || m.CI != nil && !m.CI.Contains(m.Rate) {
			t.Errorf("%s: %+v, want %d nodes", c.name, m, c.nodes)
		}
	}
}
