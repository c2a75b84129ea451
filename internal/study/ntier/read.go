package ntier

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// stageRun is the stage that is scored.
const stageRun = "run"

// trial is one step, or a line's of a table.
type trial struct {
	configuration Configuration
	failed        bool    // the step did, and has no results that count
	tier          string  // whose processor a proof changes; empty: no proof
	factor        float64 // of a proof
	bottleneck.Trial
	latencies *hdrhistogram.Histogram // ns; nil: not known
	types     []string                // of the nodes of the tiers
	timeline  func() timeline         // nil: there is none
	notes     []string                // what users did otherwise than their tables say
	run       *observe.Run            // nil: of a table
	of        model.Step
}

// measured is one configuration with its trials.
type measured struct {
	configuration Configuration
	system        bottleneck.System
	proofs        []trial
	trials        []trial // of the system
	failed        []trial // of both, by users
}

// quota is the processor of a host of a tier at a load, in cores; NaN: not known.
func (m measured) quota(tier string, users int) float64 {
	for _, t := range m.system.Trials {
		for _, s := range t.Services {
			if q := s.Signals[bottleneck.SignalQuota]; s.Tier == tier && t.Users == users && len(q) > 0 {
				return q[0]
			}
		}
	}
	return math.NaN()
}

// read takes the trials of a run.
func (p *Params) read(run *observe.Run) ([]trial, error) {
	if len(p.Tiers) == 0 {
		return nil, &model.InputError{Path: "tiers", Problem: "the run's file does not say which services are tiers", Allowed: "name them in the order in which a request reaches them: --tiers web,app,db"}
	}
	if err := run.Need(observe.Hosts, p.recorded()...); err != nil {
		return nil, err
	}
	if err := run.Need(observe.Histograms, session.HistogramResponse, load.HistogramLag); err != nil {
		return nil, err
	}
	trials, err := p.trialsOf(run)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(trials, func(t trial) bool { return !t.failed }) {
		return nil, noTrial(run)
	}
	return trials, nil
}

// recorded are the names of what tiers and users recorded.
func (p *Params) recorded() []string {
	out := []string{session.RecordingUsers, session.RecordingRate, session.RecordingErrors, session.RecordingResponse}
	for _, tier := range p.Tiers {
		for _, signal := range signalNames {
			out = append(out, tier+":"+signal)
		}
	}
	return out
}

// group puts trials together by configuration, in the order of their first.
func (p *Params) group(trials []trial) []measured {
	var out []measured
	for _, t := range trials {
		i := slices.IndexFunc(out, func(m measured) bool { return m.configuration.String() == t.configuration.String() })
		if i < 0 {
			i = len(out)
			out = append(out, measured{configuration: t.configuration, system: bottleneck.System{Name: t.configuration.String(), Tiers: p.Tiers}})
		}
		switch {
		case t.failed:
			out[i].failed = append(out[i].failed, t)
			slices.SortStableFunc(out[i].failed, func(a, b trial) int { return cmp.Compare(a.Users, b.Users) })
		case t.tier != "":
			out[i].proofs = append(out[i].proofs, t)
		default:
			out[i].system.Trials, out[i].trials = append(out[i].system.Trials, t.Trial), append(out[i].trials, t)
		}
	}
	slices.SortStableFunc(out, func(a, b measured) int {
		return cmp.Or(cmp.Compare(a.configuration.Place(), b.configuration.Place()), slices.Compare(a.configuration.Counts, b.configuration.Counts), cmp.Compare(a.configuration.Shape(), b.configuration.Shape()))
	})
	return out
}

// trialsOf reads the steps of a run that count, and those that failed.
func (p *Params) trialsOf(run *observe.Run) ([]trial, error) {
	nodes := make(map[model.NodeID]model.Node)
	for _, n := range run.Nodes() {
		nodes[n.ID] = n
	}
	var out []trial
	for _, s := range run.Steps() {
		c, ok := p.configurationOf(s)
		if ok && usersOf(s) > 0 && s.State == model.StepInvalid {
			out = append(out, trial{configuration: c, failed: true, run: run, of: s, Trial: bottleneck.Trial{Users: usersOf(s)}})
		}
		if !ok || usersOf(s) == 0 || s.State != model.StepComplete {
			continue
		}
		t, err := p.trialOf(run, s, nodes)
		if err != nil {
			return nil, err
		}
		if t.Users > 0 {
			t.configuration, t.run, t.of = c, run, s
			out = append(out, t)
		}
	}
	return out, nil
}

// trialOf reads one step; no users: it has no results.
func (p *Params) trialOf(run *observe.Run, s model.Step, nodes map[model.NodeID]model.Node) (trial, error) {
	t := trial{factor: 1}
	if _, proof, ok := strings.Cut(s.Label, proofLabel); ok {
		tier, _, _ := strings.Cut(proof, " ×")
		_, _ = fmt.Sscanf(strings.TrimPrefix(proof, tier+" ×"), "%g", &t.factor) // of our own making
		t.tier = tier
	}
	var users []model.Result
	var w window
	for _, x := range run.Measured(s) {
		users = append(users, x)
		t.notes = append(t.notes, notesOf(x)...)
		w.take(x)
	}
	if len(users) == 0 {
		return t, nil
	}
	var err error
	if t.Trial, t.latencies, err = usersTrial(users); err != nil {
		return t, fmt.Errorf("step %d: %w", s.Number+1, err)
	}
	t.Users, t.Trial.Trial = usersOf(s), s.Trial
	for _, x := range run.Accepted(s.ID) {
		t.Services = append(t.Services, w.services(x, p.Tiers)...)
	}
	t.Cores = make(map[model.NodeID]float64)
	for _, node := range p.hostsOf(s) {
		t.types = append(t.types, typeOf(nodes[node]))
		if cores := coresOf(nodes[node]); cores > 0 {
			t.Cores[node] = cores
		}
	}
	t.timeline = func() timeline { return timelineOf(p, run, s) }
	return t, nil
}

// notesOf are what users did otherwise than their tables say.
func notesOf(x model.Result) []string {
	var out []string
	for _, s := range x.Stages {
		if s.Name == model.StageTables && s.Service == "" {
			out = append(out, s.Note)
		}
	}
	return out
}

// doubts are those of what users did, and of trials that failed.
func (m measured) doubts() (out model.Doubts) {
	for _, t := range m.trials {
		for _, n := range t.notes {
			out.Warn(model.StageTables, "%s", n)
		}
	}
	for _, t := range m.failed {
		var steps []model.Step
		for _, other := range m.failed {
			if other.what() == t.what() {
				steps = append(steps, other.of)
			}
		}
		out.Add(t.run.Failed(t.what(), steps))
	}
	return out
}

// what it measures, but for its number.
func (t trial) what() string {
	name := "the load of "
	if strings.Contains(t.of.Label, proofLabel) {
		name = "the proof with "
	}
	return name + num.Count(t.Users, "user")
}

// hostsOf are the nodes of the tiers of a step, each once: several tiers may share
// one. Where the step does not say, they are those of its tasks that serve.
func (p *Params) hostsOf(s model.Step) []model.NodeID {
	var out []model.NodeID
	for _, tier := range p.Tiers {
		out = append(out, s.Services[tier].Nodes...)
	}
	for _, t := range s.Tasks {
		if len(s.Services) == 0 && t.Spec.Role == model.RoleServe {
			out = append(out, t.Node)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// typeOf is the instance type of a node, by its label or its cloud; empty: unknown.
func typeOf(n model.Node) string {
	if t := n.Labels["type"]; t != "" || n.Facts.Cloud == nil {
		return t
	}
	return n.Facts.Cloud.InstanceType
}

// coresOf are the processors of a node for all that runs on it; 0: not known.
func coresOf(n model.Node) float64 {
	cores := float64(n.Facts.Cores)
	if limit := n.Facts.CPULimit; limit > 0 && (cores == 0 || limit < cores) {
		return limit
	}
	return cores
}

// usersTrial adds up the generators of a trial: rates and counts are summed, means
// are those of all operations together.
func usersTrial(of []model.Result) (t bottleneck.Trial, latencies *hdrhistogram.Histogram, err error) {
	var response, think, due, ok, lost float64
	for _, x := range of {
		v := samplesOf(x)
		t.Throughput += v[session.MetricThroughput]
		response += v[session.MetricThroughput] * v[session.MetricResponse]
		think += v[session.MetricThroughput] * v[session.MetricThink]
		due, ok, lost = due+v[session.MetricDue], ok+v[session.MetricOK], lost+v[session.MetricNoLink]
		t.Unfinished += int(v[session.MetricUnfinished])
		responses, err := histogramOf(x, session.HistogramResponse)
		if err != nil {
			return t, nil, err
		}
		if latencies, err = histogram.Merge(latencies, responses); err != nil {
			return t, nil, err
		}
		lag, err := histogramOf(x, load.HistogramLag)
		if err != nil {
			return t, nil, err
		}
		t.Generators = append(t.Generators, bottleneck.Generator{Node: x.Node, Busy: orNaN(v, load.MetricBusy), Lag: lateness(lag)})
	}
	t.Response, t.Think, t.Errors, t.NoWay = response/t.Throughput, think/t.Throughput, 1-ok/due, lost/due
	return t, latencies, nil
}

// histogramOf adds up the histograms of a metric over the whole task; nil: it has none.
func histogramOf(x model.Result, metric string) (sum *hdrhistogram.Histogram, err error) {
	for _, h := range x.Histograms {
		if h.Metric != metric || h.Second > 0 {
			continue
		}
		one, err := histogram.Decode(h.Encoded)
		if err != nil {
			return nil, err
		}
		if sum, err = histogram.Merge(sum, one); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// lateness is by how many seconds more than one in a hundred of the sends were late, as
// far as so many of them tell: of 60 the two latest may be chance. NaN: not known.
func lateness(lag *hdrhistogram.Histogram) float64 {
	const late = .01
	if lag == nil || lag.TotalCount() == 0 {
		return math.NaN()
	}
	n := int(lag.TotalCount())
	rank := max(0, n+1-stats.Telling(n, late, stats.DefaultLevel))
	return float64(lag.ValueAtPercentile(100*float64(rank)/float64(n))) / 1e9
}

// samplesOf are the samples without labels, times in seconds.
func samplesOf(x model.Result) map[string]float64 {
	out := make(map[string]float64)
	for _, s := range x.Samples {
		if len(s.Labels) > 0 {
			continue
		}
		v := s.Value
		if per, ok := map[string]float64{"ms": 1e-3, "us": 1e-6, "ns": 1e-9}[s.Unit]; ok {
			v *= per
		}
		out[s.Metric] = v
	}
	return out
}

func orNaN(v map[string]float64, key string) float64 {
	if x, ok := v[key]; ok {
		return x
	}
	return math.NaN()
}

// window is the time of a trial that is scored, in server time.
type window struct{ start, end time.Time }

// take narrows the window to the stage run of one more generator.
func (w *window) take(x model.Result) {
	i := slices.IndexFunc(x.Stages, func(s model.Stage) bool { return s.Name == stageRun && s.Service == "" && s.Ended > s.Started })
	if i < 0 {
		return
	}
	start, end := x.Started.Add(time.Duration(x.Stages[i].Started)), x.Started.Add(time.Duration(x.Stages[i].Ended))
	if w.start.IsZero() || start.After(w.start) {
		w.start = start
	}
	if w.end.IsZero() || end.Before(w.end) {
		w.end = end
	}
}
