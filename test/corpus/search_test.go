package corpus

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/test/simulated"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// searched is a target that is searched: answers take a millisecond up to its capacity,
// and a second above it. What else happens in a window, change says.
type searched struct {
	capacity   float64
	generators int                                          // 0: one
	seconds    int                                          // of a window; 0: ten
	change     func(window int, rate float64, g *generated) // of one generator; nil: nothing
	most       int                                          // windows; 0: until the search is over
	after      func(d *model.RunData) (lost []model.NodeID) // after each window; nil: nothing
	workload   map[string]any                               // parameters of the workload
	trials     int                                          // 0: one
}

// generated is what one generator of a window saw.
type generated struct {
	load.Summary
	counts                              load.Counts
	latency, service, lag, receive, rtt time.Duration
	replies                             int64
	replied                             []int64 // by second; nil: evenly
	cpu, others                         float64 // cores of two: its own, and of others on the machine
	lost                                int     // of forty handshakes
}

// run lets the study search, as a master would.
func (x searched) run(t *testing.T, params string) model.RunData {
	t.Helper()
	kind, _ := cli.Studies().Find("capacity")
	s := kind.New()
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &given); err != nil {
		t.Fatal(err)
	}
	if err := answer.Set(cli.Studies(), s, given); err != nil {
		t.Fatal(err)
	}
	w := map[string]any{"target": "http://192.0.2.1:80/"}
	for key, v := range x.workload {
		w[key] = v
	}
	setup := study.Setup{Trials: max(1, x.trials), Seed: 7, Workloads: []study.Workload{{Name: "web", Kind: "load", Params: w, Subjects: max(1, x.generators)}}}
	for i := range max(1, x.generators) {
		setup.Nodes = append(setup.Nodes, model.Node{ID: model.NodeID(fmt.Sprintf("g%d", i+1))})
	}
	d := model.RunData{Run: model.Run{ID: searchRun, Name: "search", State: model.RunDone, Created: simulated.Epoch, Started: simulated.Epoch}, Nodes: setup.Nodes}
	plan, err := s.(study.Designer).Plan(setup) //nolint:forcetypeassert // it is one
	if err != nil {
		t.Fatal(err)
	}
	rng := seeded(70)
	var lost []model.NodeID
	for told := 0; x.most == 0 || len(d.Steps) < x.most; {
		news := d
		news.Steps, told = d.Steps[told:], len(d.Steps)
		next, err := plan.Next(study.Seen{Run: observe.Of(news), Lost: lost})
		if err != nil {
			t.Fatal(err)
		}
		if len(next.Treatments) == 0 {
			break
		}
		x.step(t, rng, &d, setup, next.Treatments[0])
		if x.after != nil {
			lost = append(lost, x.after(&d)...)
		}
	}
	return d
}

// step adds the step of a window with its results.
func (x searched) step(t *testing.T, rng *rand.Rand, d *model.RunData, setup study.Setup, tr study.Treatment) {
	t.Helper()
	number := len(d.Steps)
	s := model.Step{ID: model.NewStepID(d.Run.ID, number), Run: d.Run.ID, Number: number, Phase: tr.Phase, Workload: tr.Workload,
		Trial: tr.Trial, State: model.StepComplete, Attempt: 1, StartAt: simulated.Epoch.Add(time.Duration(number) * 20 * time.Second),
		Treatment: model.Treatment{Study: "capacity", Label: tr.Label, Levels: tr.Levels}}
	nodes := slices.DeleteFunc(model.NodeIDs(setup.Nodes), func(n model.NodeID) bool { return slices.Contains(tr.Without, n) })
	params := setup.Workloads[0].Params
	if of, longer := tr.Levels["duration"]; longer {
		params = map[string]any{"duration": of}
		for key, v := range setup.Workloads[0].Params {
			if key != "duration" {
				params[key] = v
			}
		}
	}
	seconds := x.seconds
	if text, ok := params["duration"].(string); ok {
		if lasts, err := time.ParseDuration(text); err == nil {
			seconds = int(lasts.Seconds())
		}
	}
	if seconds == 0 {
		seconds = 10
	}
	for i, n := range nodes {
		spec := model.Spec{Workload: tr.Workload, Kind: "load", Part: i, Parts: len(nodes), Offer: tr.Offer, Params: params}
		task := model.Task{ID: model.NewTaskID(s.ID, i), Node: n, Position: i, Spec: spec}
		g := x.generate(number, tr.Offer.Rate, len(nodes), seconds)
		r := g.report(t, rng, seconds)
		r.Run, r.Step, r.Task, r.Attempt, r.Node, r.Outcome = d.Run.ID, s.ID, task.ID, 1, n, model.OutcomeOK
		r.Started, r.Ended = s.StartAt, s.StartAt.Add(time.Duration(seconds+2)*time.Second)
		s.Tasks, d.Results = append(s.Tasks, task), append(d.Results, r)
	}
	d.Steps = append(d.Steps, s)
}

// generate is a generator's part of a window.
func (x searched) generate(window int, rate float64, parts, seconds int) *generated {
	due := max(1, int64(rate*float64(seconds))/int64(parts))
	g := &generated{counts: load.Counts{Due: due, OK: due}, latency: time.Millisecond, service: time.Millisecond,
		lag: 20 * time.Microsecond, receive: 30 * time.Microsecond, rtt: 500 * time.Microsecond, replies: due, cpu: .2}
	g.Usage.Busy = .1
	if rate > x.capacity {
		g.latency, g.service = time.Second, time.Second
	}
	if x.change != nil {
		x.change(window, rate, g)
	}
	return g
}

// fail has a share of the operations fail in a way, so that they are not replies.
func (g *generated) fail(share float64, kind load.Kind) {
	n := int64(share * float64(g.counts.Due))
	g.counts.OK, g.counts.Errors[kind], g.replies = g.counts.OK-n, g.counts.Errors[kind]+n, g.replies-n
}

// report is the result of the generator's task.
func (g *generated) report(t *testing.T, rng *rand.Rand, seconds int) model.Result {
	t.Helper()
	many := func(d time.Duration, n int64) (out load.Op) {
		out.Latency = histogram.New(int64(time.Minute))
		histogram.RecordMany(out.Latency, int64(d), n)
		return out
	}
	s := g.Summary
	s.Scored, s.Names, s.Replies = time.Duration(seconds)*time.Second, []string{"get"}, g.replies
	s.Ops = []load.Op{{Counts: g.counts, Latency: many(g.latency, g.counts.OK).Latency, Service: many(g.service, g.counts.OK).Latency}}
	s.Lag, s.ReceiveLag = many(g.lag, g.counts.Due).Latency, many(g.receive, g.counts.OK).Latency
	second := histogram.Encode(many(g.latency, max(1, g.counts.OK/int64(seconds))).Latency)
	for k := range seconds {
		replies := g.replies / int64(seconds)
		if g.replied != nil {
			replies = g.replied[k]
		}
		x := &s.Seconds
		x.Index, x.Due = append(x.Index, k+1), append(x.Due, g.counts.Due/int64(seconds))
		x.OK, x.Replies = append(x.OK, g.counts.OK/int64(seconds)), append(x.Replies, replies)
		x.Latencies = append(x.Latencies, []string{second})
	}
	for i := range 40 {
		took := time.Duration(float64(g.rtt) * (1 + .1*math.Abs(rng.NormFloat64())))
		s.RTT = append(s.RTT, load.Handshake{At: time.Second + time.Duration(i)*100*time.Millisecond, Took: took, Lost: i < g.lost})
	}
	record := &workloadtest.Record{T: t}
	s.Report(record)
	r := record.Result()
	for i := range r.Samples {
		switch x := &r.Samples[i]; x.Metric {
		case load.MetricCPU:
			x.Value = g.cpu
		case load.MetricCores, load.MetricMachine:
			x.Value = 2 // whatever machine makes the corpus
		}
	}
	r.Samples = append(r.Samples, model.Sample{Metric: model.MetricOtherCPU, Unit: "core", Value: g.others, Better: model.Lower, Info: true})
	return r
}

// bucket lets bursts pass that have so many tokens, and rate a second beside them.
func bucket(rate, burst float64) func(int, float64, *generated) {
	return func(_ int, offered float64, g *generated) {
		tokens, ok, seconds := burst, int64(0), int(math.Round(float64(g.counts.Due)/offered))
		for at := -2; at < seconds; at++ { // two seconds of warming up
			served := min(offered, tokens+rate)
			tokens = min(burst, tokens+rate-served)
			if at >= 0 {
				ok, g.replied = ok+int64(served), append(g.replied, int64(served))
			}
		}
		ok = min(ok, g.counts.Due)
		g.counts.Errors[load.ErrStatus], g.counts.OK, g.replies = g.counts.Due-ok, ok, ok
	}
}
