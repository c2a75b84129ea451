package scaleout

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// bench is a workload that knows how long it takes, and nothing else.
type bench struct{ workload.Workload }

const lasts = 20 * time.Second

func (bench) Estimate() time.Duration { return lasts }

// site is a simulated application whose truth is known: a store whose link serves the
// transfers of each way, and nodes that compute.
type site struct {
	link     float64 // bytes a second, each way
	own      float64 // of a node's own link, each way; 0: as the store's
	get, put float64 // bytes of a job, on average
	compute  float64 // s of a job, on average
	slots    int     // of a node; 0: one
	// Computing and bytes have an Erlang distribution of so many stages: 1 is exponential, 0
	// always the same.
	stages, parts int
	unfair        float64 // of transfers that share a link, standard deviation of ln of their weights
	fifo          bool    // the link serves one transfer after another
	drift         float64 // by what share computing becomes slower from block to block
	uneven        float64 // standard deviation of ln of how long computing takes, from step to step
	// cores are those of the machine that all nodes share; 0: each has one of its own. A node
	// has quota of them while it computes, and the store takes serve for a way that is full. If
	// they want more than there is, everything takes longer. busy is what was used.
	cores, quota, serve, busy float64
}

// transcoding is the application that was tried in a lab.
func transcoding(link float64) site {
	return site{link: link, get: 738e3, put: 826e3, compute: .9, stages: 25, unfair: .5}
}

// erlang is a draw with mean 1.
func erlang(rng *rand.Rand, stages int) float64 {
	if stages == 0 {
		return 1
	}
	sum := 0.0
	for range stages {
		sum += rng.ExpFloat64()
	}
	return sum / float64(stages)
}

// job is one of a node, by its times and its bytes.
type job struct{ begin, got, computed, end, get, put, work float64 }

// working is a slot that works on a job: it gets, computes or puts.
type working struct {
	job
	phase  int
	left   float64 // bytes, or s
	weight float64 // of its share of a link
	since  float64 // it waits for a link
	node   int
}

// away is the phase of a slot that has not begun.
const away = 3

// pace is how fast a slot works when these are there.
func (s *site) pace(x *working, slots []working) float64 {
	if x.phase == 1 || x.phase == away {
		return 1
	}
	all, mine := 0.0, 0.0
	for i := range slots {
		y := &slots[i]
		if y.phase != x.phase {
			continue
		}
		if s.fifo && (y.since < x.since || y.since == x.since && y.weight > x.weight) {
			return 0
		}
		all += y.weight
		if y.node == x.node {
			mine += y.weight
		}
	}
	if s.fifo {
		all, mine = x.weight, x.weight
	}
	pace := s.link * x.weight / all
	if s.own > 0 {
		pace = min(pace, s.own*x.weight/mine)
	}
	return pace
}

// paid is which share of the processors that are wanted there is, and how many are wanted.
func (s *site) paid(slots []working) (share, wanted float64) {
	var there [away + 1]float64
	for i := range slots {
		there[slots[i].phase]++
	}
	wanted = s.quota*there[1] + s.serve*(min(1, there[0])+min(1, there[2]))
	if s.cores == 0 || wanted <= s.cores {
		return 1, wanted
	}
	return s.cores / wanted, wanted
}

// start begins a job of a slot.
func (s *site) start(x *working, rng *rand.Rand, now float64) {
	size := erlang(rng, s.parts)
	x.job = job{begin: now, get: s.get * size, put: s.put * size}
	s.enter(x, rng, now, 0, x.get)
}

// enter begins a part of a job.
func (s *site) enter(x *working, rng *rand.Rand, now float64, phase int, left float64) {
	x.phase, x.left, x.since, x.weight = phase, left, now, math.Exp(s.unfair*rng.NormFloat64())
}

// jobs simulates so many nodes for a while, of which slots begin within the time of a ramp: the
// jobs of each node that begin before the end.
func (s *site) jobs(rng *rand.Rand, nodes int, seconds, ramp float64) [][]job {
	out := make([][]job, nodes)
	slots := make([]working, nodes*max(1, s.slots))
	paces := make([]float64, len(slots))
	for i := range slots {
		slots[i].node = i % nodes
		if ramp > 0 {
			s.enter(&slots[i], rng, 0, away, ramp*rng.Float64())
			continue
		}
		s.start(&slots[i], rng, 0)
	}
	for now := 0.0; slices.ContainsFunc(slots, func(x working) bool { return x.begin < seconds }); {
		next := math.Inf(1)
		share, wanted := s.paid(slots)
		for i := range slots {
			if paces[i] = share * s.pace(&slots[i], slots); paces[i] > 0 {
				next = min(next, slots[i].left/paces[i])
			}
		}
		s.busy += share * wanted * max(0, min(next, seconds-now))
		now += next
		for i := range slots {
			x := &slots[i]
			if x.left -= next * paces[i]; x.left > 1e-9 {
				continue
			}
			switch x.phase {
			case 0:
				x.got = now
				s.enter(x, rng, now, 1, s.compute*erlang(rng, s.stages))
				x.work = x.left
			case 1:
				x.computed = now
				s.enter(x, rng, now, 2, x.put)
			case away:
				s.start(x, rng, now)
			default:
				if x.end = now; x.begin < seconds {
					out[x.node] = append(out[x.node], x.job)
				}
				s.start(x, rng, now)
			}
		}
	}
	return out
}

// done is how much of the jobs lies before a time.
func done(all []job, t float64) (sum float64) {
	for _, j := range all {
		sum += min(1, max(0, (t-j.begin)/(j.end-j.begin)))
	}
	return sum
}

// world runs treatments on a simulated site.
type world struct {
	site
	setup study.Setup
	seed  uint64
	fail  func(study.Treatment) bool
	// each is what a job adds to counters of the monitor, samples what tasks report beside the
	// rest.
	each, samples map[string]float64
	late          string // workload of which each node begins when the one before has ended
	data          model.RunData
}

func newWorld(s site, nodes, trials int) *world {
	w := &world{site: s, seed: 1, fail: func(study.Treatment) bool { return false }}
	for i := range nodes {
		w.setup.Nodes = append(w.setup.Nodes, model.Node{ID: model.NodeID(fmt.Sprintf("n%02d", i+1)),
			Labels: map[string]string{"type": "small"}})
		if s.cores > 0 {
			w.setup.Nodes[i].Facts = model.Facts{BootID: "one", Cores: int(s.cores)}
		}
	}
	for _, kind := range [...][2]string{{"transcode", "jobs"}, {"get", "objectstore"}, {"put", "objectstore"}} {
		x := study.Workload{Name: kind[0], Kind: kind[1], Bench: bench{}, Params: map[string]any{"duration": "20s",
			"slots": float64(max(1, s.slots))}, Subjects: nodes, Names: model.NodeIDs(w.setup.Nodes)}
		w.setup.Workloads = append(w.setup.Workloads, x)
	}
	w.setup.Trials, w.setup.Seed = trials, 7
	w.data.Run, w.data.Nodes = model.Run{ID: "R", Name: "transcoding"}, w.setup.Nodes
	return w
}

var epoch = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)

// step is what a treatment came to. Its draws depend on its number alone.
func (w *world) step(t *testing.T, x study.Treatment) model.RunData {
	t.Helper()
	number := len(w.data.Steps)
	s := model.Step{ID: model.NewStepID("R", number), Run: "R", Number: number, Phase: x.Phase, Workload: x.Workload,
		Trial: x.Trial, State: model.StepComplete, Attempt: 1}
	s.Study = name
	var err error
	if s.Factors, err = json.Marshal(x.Factors); err != nil {
		t.Fatal(err)
	}
	if w.fail(x) {
		s.State = model.StepInvalid
	}
	rng := rand.New(rand.NewPCG(w.seed, uint64(number)))
	active := x.Active
	if active == nil {
		for i := range w.setup.Nodes {
			active = append(active, i)
		}
	}
	here := w.site
	here.compute *= (1 + w.drift*float64(x.Block)) * math.Exp(w.uneven*rng.NormFloat64())
	text, _ := x.Levels["ramp"].(string)
	ramp, _ := time.ParseDuration(text) // "": all begin at once
	all := here.jobs(rng, len(active), lasts.Seconds(), ramp.Seconds())
	out := model.RunData{Run: w.data.Run, Nodes: w.data.Nodes}
	begin := epoch.Add(time.Duration(number) * time.Minute)
	for i, k := range active {
		id := w.setup.Nodes[k].ID
		task := model.Task{ID: model.NewTaskID(s.ID, i), Node: id, Position: i}
		r := model.Result{Run: "R", Step: s.ID, Task: task.ID, Node: id, Attempt: 1, Outcome: model.OutcomeOK,
			Started: begin, Ended: begin.Add(lasts)}
		if x.Workload == w.late {
			begin = r.Ended
		}
		if x.Workload == "transcode" {
			w.measured(&r, all[i])
			if w.cores > 0 {
				w.shared(&r, here.busy, all[i])
			}
		} else {
			w.capacity(&r, rng, x.Workload, len(active))
		}
		s.Tasks, out.Results = append(s.Tasks, task), append(out.Results, r)
	}
	out.Steps = []model.Step{s}
	w.data.Steps, w.data.Results = append(w.data.Steps, s), append(w.data.Results, out.Results...)
	return out
}

// series adds a counter with readings each half second.
func series(r *model.Result, metric, unit string, at func(t float64) float64) {
	x := model.Series{Metric: metric, Unit: unit}
	for t := 0.0; t <= lasts.Seconds(); t += .5 {
		x.Offsets, x.Values = append(x.Offsets, int64(t*1e9)), append(x.Values, at(t))
	}
	r.Series = append(r.Series, x)
}

// measured adds what the workload jobs reports.
func (w *world) measured(r *model.Result, all []job) {
	series(r, "jobs", "job", func(t float64) float64 { return done(all, t) })
	r.Samples = append(r.Samples, model.Sample{Metric: "jobs", Unit: "job/s", Better: model.Higher,
		Value: done(all, lasts.Seconds()) / lasts.Seconds()})
	var get, compute, put, busy, bytesGet, bytesPut float64
	for _, j := range all {
		get, compute, put = get+j.got-j.begin, compute+j.computed-j.got, put+j.end-j.computed
		bytesGet, bytesPut = bytesGet+j.get, bytesPut+j.put
		busy += max(0, min(j.computed, lasts.Seconds())-min(j.got, lasts.Seconds()))
	}
	n := float64(len(all))
	for metric, v := range map[string]float64{"jobs_wait": 0, "jobs_get": get / n, "jobs_compute": compute / n,
		"jobs_put": put / n, "jobs_time": (get + compute + put) / n,
		"jobs_get_bytes": bytesGet / n, "jobs_put_bytes": bytesPut / n,
		"jobs_cpu": compute / n} {
		r.Samples = append(r.Samples, model.Sample{Metric: metric, Value: v, Info: true, Better: model.Lower})
	}
	for metric, v := range w.samples {
		r.Samples = append(r.Samples, model.Sample{Metric: metric, Value: v, Info: true, Better: model.Lower})
	}
	ends := []int64{0, lasts.Nanoseconds()}
	for metric, v := range w.each {
		r.Host = append(r.Host, model.HostSeries{Metric: metric, Counter: true, Offsets: ends,
			Values: []float64{7, 7 + v*done(all, lasts.Seconds())}})
	}
	w.distributions(r, all)
	idle := float64(max(1, w.slots))*lasts.Seconds() - busy
	for metric, v := range map[string]float64{observe.MetricUser: busy, observe.MetricIdle: idle} {
		r.Host = append(r.Host, model.HostSeries{Metric: metric, Unit: "s", Counter: true, Offsets: ends,
			Values: []float64{0, v}})
	}
}

// distributions adds how long the parts of jobs took.
func (w *world) distributions(r *model.Result, all []job) {
	for metric, of := range map[string]func(job) float64{
		"jobs_get":     func(j job) float64 { return j.got - j.begin },
		"jobs_compute": func(j job) float64 { return j.computed - j.got },
		"jobs_put":     func(j job) float64 { return j.end - j.computed },
		"jobs_time":    func(j job) float64 { return j.end - j.begin },
	} {
		h := histogram.New(1e9)
		for _, j := range all {
			histogram.Record(h, int64(of(j)*1e6))
		}
		r.Histograms = append(r.Histograms, model.Histogram{Metric: metric, Unit: "us", Encoded: histogram.Encode(h)})
	}
}

// shared replaces what the monitor sees of the processors by those of the machine, and says
// what a job took of them.
func (w *world) shared(r *model.Result, busy float64, all []job) {
	for i, v := range [...]float64{busy, w.cores*lasts.Seconds() - busy} {
		r.Host[i].Metric, r.Host[i].Values = [...]string{observe.MetricUser, observe.MetricIdle}[i], []float64{0, v}
	}
	work := 0.0
	for _, j := range all {
		work += j.work * w.quota / float64(len(all))
	}
	for i := range r.Samples {
		if r.Samples[i].Metric == "jobs_cpu" {
			r.Samples[i].Value = work
		}
	}
	r.Samples = append(r.Samples, model.Sample{Metric: "jobs_cpu_own", Unit: "s", Info: true})
	ends := r.Host[0].Offsets
	r.Host = append(r.Host,
		model.HostSeries{Metric: observe.MetricCores, Offsets: ends, Values: []float64{w.cores, w.cores}},
		model.HostSeries{Metric: observe.MetricCgroupCPU, Unit: "s", Counter: true, Offsets: ends,
			Values: []float64{0, work * done(all, lasts.Seconds())}})
}

// capacity adds what the workload objectstore reports of a link that is shared.
func (w *world) capacity(r *model.Result, rng *rand.Rand, way string, nodes int) {
	rate := w.link / float64(nodes)
	noise := 0.0
	series(r, "objectstore_"+way+"_throughput", "byte", func(t float64) float64 {
		noise += .02 * rate * rng.NormFloat64()
		return max(0, rate*t+noise)
	})
	r.Samples = append(r.Samples, model.Sample{Metric: "objectstore_" + way + "_throughput", Unit: "byte/s",
		Better: model.Higher, Value: rate, Resource: "objectstore." + way},
		model.Sample{Metric: "objectstore_operations", Unit: "op/s", Better: model.Higher, Value: rate / w.get,
			Resource: "objectstore." + way})
}

// params are those of the tests.
func params(sizes ...int) *Params {
	p := New()
	p.Workload, p.Capacities, p.Sizes = "transcode", []string{"get", "put"}, sizes
	return p
}

// run plans and measures until the study is over.
func (w *world) run(t *testing.T, p *Params) []study.Treatment {
	t.Helper()
	plan, err := p.Plan(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	before := model.RunData{Run: w.data.Run, Nodes: w.data.Nodes}
	return simulated.Plan(t, plan, 500, before, func(x study.Treatment) model.RunData { return w.step(t, x) })
}

// result is what the study says of all that was measured.
func (w *world) result(t *testing.T, p *Params) (*Result, *study.Answer) {
	t.Helper()
	answer, err := p.Answer(t.Context(), study.Input{Runs: []study.NamedRun{{Run: observe.Of(w.data)}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range answer.Places {
		Kind().Caveats.FillPlace(place)
	}
	r, _ := answer.Result.(*Result)
	return r, answer
}

// codes are those of caveats.
func codes(all caveat.List) (out []caveat.Code) {
	for _, c := range all {
		out = append(out, c.Code)
	}
	return out
}
