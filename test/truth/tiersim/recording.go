package tiersim

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/timeline"
)

// Step says of which step a trial is.
type Step struct {
	Label    string
	At       time.Time // when it begins
	RampUp   float64   // seconds
	Run      int       // seconds that are scored
	Services map[string]model.ServiceLevel
	Links    map[model.NodeID]model.Link
	Params   map[string]any // of the users, beside the ramp-up
}

// interactions are what users do in a recording: share of the operations, how many of
// a trial fail, and how much slower they are than the mean.
var interactions = []struct {
	name                  string
	share, failed, slower float64
}{{"Home", .75, 0, .5}, {"Search", .25, 2, 2.5}}

// Record adds a trial to a run as agents record it: a task of users from a generator, and
// one for each host of a tier, whose clock began 3 s earlier.
func Record(d *model.RunData, as Step, x bottleneck.Trial) {
	number, run := len(d.Steps), d.Run.ID
	s := model.Step{ID: model.NewStepID(run, number), Run: run, Number: number, Phase: "trial", Workload: "visitors", Trial: x.Trial,
		State: model.StepComplete, Attempt: 1, Treatment: model.Treatment{Study: "ntier", Label: as.Label,
			Levels: map[string]any{"users": float64(x.Users)}, Services: as.Services, Links: as.Links}}
	r := recorder{d: d, s: &s, as: as}
	r.users(x)
	r.hosts(x)
	d.Steps = append(d.Steps, s)
}

// recorder adds the tasks of one step.
type recorder struct {
	d  *model.RunData
	s  *model.Step
	as Step
}

func (r *recorder) task(node model.NodeID, spec model.Spec, started time.Time) *model.Result {
	s := r.s
	t := model.Task{ID: model.NewTaskID(s.ID, len(s.Tasks)), Node: node, Position: len(s.Tasks), Spec: spec}
	s.Tasks = append(s.Tasks, t)
	end := r.as.At.Add(time.Duration((r.as.RampUp + float64(r.as.Run) + 5) * 1e9))
	r.d.Results = append(r.d.Results, model.Result{Run: s.Run, Step: s.ID, Task: t.ID, Attempt: 1, Node: node, Outcome: model.OutcomeOK,
		Started: started, Ended: end})
	return &r.d.Results[len(r.d.Results)-1]
}

// users is the task of the users.
func (r *recorder) users(x bottleneck.Trial) {
	ramp, seconds := r.as.RampUp, float64(r.as.Run)
	params := map[string]any{"ramp_up": "60s"}
	maps.Copy(params, r.as.Params)
	u := r.task("users-1", model.Spec{Kind: "users", Params: params}, r.as.At)
	ops := x.Throughput * seconds
	info := func(metric, unit string, v float64) *model.Sample {
		u.Samples = append(u.Samples, model.Sample{Metric: metric, Unit: unit, Value: v, Info: true})
		return &u.Samples[len(u.Samples)-1]
	}
	info(session.MetricThroughput, "op/s", x.Throughput)
	info(session.MetricResponse, "ms", 1000*x.Response)
	info(session.MetricThink, "s", x.Think)
	info(session.MetricDue, "1", ops)
	info(session.MetricOK, "1", ops)
	info(session.MetricScored, "s", seconds)
	info("generator_busy", "1", .1)
	info(session.MetricUsers, "1", float64(x.Users))
	u.Stages = []model.Stage{{Name: "ramp_up", Ended: int64(ramp * 1e9)},
		{Name: timeline.StageRun, Started: int64(ramp * 1e9), Ended: int64((ramp + seconds) * 1e9)}}
	distribution := func(metric string, seconds, n float64) {
		h := histogram.New(int64(time.Minute))
		histogram.RecordMany(h, int64(seconds*1e9), int64(n))
		u.Histograms = append(u.Histograms, model.Histogram{Metric: metric, Unit: "ns", Encoded: histogram.Encode(h)})
	}
	distribution(session.HistogramResponse, x.Response, ops)
	for _, of := range interactions {
		n := math.Round(of.share * ops)
		for _, m := range []struct {
			metric string
			value  float64
		}{{session.MetricDue, n}, {session.MetricOK, n - of.failed}, {session.MetricErrors, of.failed}} {
			info(m.metric, "1", m.value).Labels = map[string]string{session.LabelInteraction: of.name}
		}
		distribution(session.HistogramOf(of.name), of.slower*x.Response, n-of.failed)
	}
	bySecond := func(metric string, of func(i int) float64) {
		h := model.HostSeries{Metric: metric, Unit: "1"}
		for i := range x.Responses {
			h.Offsets, h.Values = append(h.Offsets, int64((ramp+float64(i))*1e9)), append(h.Values, of(i))
		}
		u.Host = append(u.Host, h)
	}
	bySecond(session.RecordingResponse, func(i int) float64 { return 1000 * x.Responses[i] })
	bySecond(session.RecordingRate, func(int) float64 { return x.Throughput })
}

// hosts are the tasks of the services, those of one node in one task.
func (r *recorder) hosts(x bottleneck.Trial) {
	on := make(map[model.NodeID]int)
	for _, host := range x.Services {
		const early = 3
		if on[host.Node] == 0 {
			r.task(host.Node, model.Spec{Kind: model.KindService, Role: model.RoleServe}, r.as.At.Add(-early*time.Second))
			on[host.Node] = len(r.d.Results)
		}
		y := &r.d.Results[on[host.Node]-1]
		y.Stages = []model.Stage{{Name: "start", Service: host.Tier, Started: -2e9, Ended: -1e9}}
		for _, name := range slices.Sorted(maps.Keys(host.Signals)) {
			y.Host = append(y.Host, watched(host.Tier+":"+name, host.Signals[name], early+r.as.RampUp))
		}
		if host.Tier == "web" { // tells of Home 5 requests and 0.2 s each second
			y.Host = append(y.Host, watched("web:requests[Home]", slices.Repeat([]float64{5}, r.as.Run), early+r.as.RampUp),
				watched("web:response[Home]", slices.Repeat([]float64{.2}, r.as.Run), early+r.as.RampUp))
		}
	}
}

// counters are the signals that are recorded as counters.
var counters = []string{bottleneck.SignalCPU, bottleneck.SignalSent, bottleneck.SignalRequests, bottleneck.SignalResponse}

// watched is what a watch records of a signal: a reading each second, from before the run
// until after it.
func watched(name string, values []float64, from float64) model.HostSeries {
	_, signal, _ := strings.Cut(name, ":")
	signal, _, _ = strings.Cut(signal, "[")
	s := model.HostSeries{Metric: name, Unit: "1", Counter: slices.Contains(counters, signal)}
	sum := 0.0
	for i := -2; i <= len(values)+1; i++ {
		v := values[min(max(i, 0), len(values)-1)]
		at := from + float64(i)
		if s.Counter {
			at, sum = at+1, sum+v
			v = sum
		} else {
			at += .5
		}
		s.Offsets, s.Values = append(s.Offsets, int64(math.Round(at*1e9))), append(s.Values, v)
	}
	return s
}
