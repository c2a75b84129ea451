package session

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Names of what a report is made of in a result. Samples of one interaction have
// the label [LabelInteraction], and its histogram is [HistogramOf] it. The
// generator's own are those of package load.
const (
	MetricThroughput = "throughput"       // op/s: requests that ended well in the time scored
	MetricScored     = "scored"           // s
	MetricUsers      = "users"            // of this generator
	MetricDue        = "due"              // requests: each is ok, or one of the next three
	MetricOK         = "ok"               //
	MetricErrors     = "errors"           // also by LabelKind
	MetricDropped    = "dropped"          // never sent
	MetricUnfinished = "unfinished"       // without an end when the users left
	MetricLate       = "late"             // sent late by the generator's doing
	MetricAfter      = "unfinished_after" // the same as unfinished, of requests due after the time scored
	MetricThink      = "think_mean"       // s, as drawn
	MetricThinks     = "thinks"           // how many were drawn
	MetricResponse   = "response_mean"    // ms; response_p50 and so on beside it
	MetricSessions   = "sessions"         // that ended
	MetricLength     = "session_length"   // requests of one, mean
	MetricNoLink     = "no_link"          // pages without the way wanted; also by LabelFrom and LabelTo
	MetricIncomplete = "incomplete_pages"
	MetricLaw        = "closed_loop" // X(R+Z)/N: 1 where the law of closed loops holds
	MetricLag        = "lag_p99"     // ms

	LabelInteraction = "interaction"
	LabelKind        = "kind"
	LabelFrom        = "from"
	LabelTo          = "to"

	HistogramResponse = "response" // ns

	// By second of the run, ramps included.
	RecordingUsers    = "users"
	RecordingRate     = "rate"
	RecordingErrors   = "errors"
	RecordingResponse = "response" // ms, mean of those that were due then
)

// HistogramOf names the histogram of the response times of an interaction.
func HistogramOf(interaction string) string { return HistogramResponse + "[" + interaction + "]" }

// Report is what the users of one generator did.
type Report struct {
	// Summary is of the time scored; its Names are those of interactions.
	load.Summary
	Config Config
	Users  int // of this generator
	// After is how many requests that were due later had no end.
	After int64
	Tally Tally
	// By second: how many users there were at its end, how many requests ended
	// well in it, and of those due in it how many failed, and the mean response
	// in ms (NaN: none).
	Present, Rate, Failed, Response []float64
}

// Watcher makes a report from the seconds of a run.
type Watcher struct {
	report Report
	scorer *load.Scorer
	enters []time.Duration
}

// Watch begins a report on users of one generator.
func Watch(c Config, share load.Share) *Watcher {
	w := &Watcher{scorer: load.NewScorer(len(c.Site), c.From, c.To-c.From)}
	w.scorer.Whole = true
	w.report.Config = c
	for i := share.Index; i < c.Users; i += share.Of {
		w.enters = append(w.enters, Enters(c, i))
	}
	w.report.Users = len(w.enters)
	return w
}

// Add takes the next second of the run.
func (w *Watcher) Add(s load.Second) {
	w.scorer.Add(s)
	r := &w.report
	total, sum, n := s.Total(), 0.0, int64(0)
	for _, o := range s.Ops {
		if o.OK > 0 {
			sum, n = sum+float64(o.OK)*o.Latency.Mean(), n+o.OK
		}
	}
	begin := time.Duration(s.Index) * time.Second
	if begin >= r.Config.To {
		r.After += total.Unfinished + total.Dropped
	}
	if begin >= r.Config.End {
		return
	}
	in, _ := slices.BinarySearch(w.enters, begin+time.Second)
	r.Present, r.Rate = append(r.Present, float64(in)), append(r.Rate, float64(s.Replies))
	r.Failed = append(r.Failed, float64(total.Failed()+total.Dropped+total.Unfinished))
	response := math.NaN()
	if n > 0 {
		response = sum / float64(n) / 1e6
	}
	r.Response = append(r.Response, response)
}

// Now is how things were in the second that was added last, for people; nil before.
func (w *Watcher) Now() map[string]float64 {
	r, i := w.report, len(w.report.Rate)-1
	if i < 0 {
		return nil
	}
	return map[string]float64{model.LiveUsers: r.Present[i], model.LiveRate: r.Rate[i], model.LiveErrors: r.Failed[i]}
}

// Report is what was seen; the run is over.
func (w *Watcher) Report(usage load.Usage, crowd []*Users) Report {
	r := w.report
	r.Summary = w.scorer.Summary(r.Config.Site.Names(), usage)
	for _, u := range crowd {
		r.Tally.add(u.Tally())
	}
	return r
}

func (t *Tally) add(o Tally) {
	t.Thought += o.Thought
	t.Thinks += o.Thinks
	t.Sessions += o.Sessions
	t.Visits += o.Visits
	t.Incomplete += o.Incomplete
	for k, n := range o.NoLink {
		if t.NoLink == nil {
			t.NoLink = make(map[[2]int]int64)
		}
		t.NoLink[k] += n
	}
	if t.Example == nil {
		t.Example = o.Example
	}
}

// Throughput is how many requests a second ended well.
func (r Report) Throughput() float64 { return float64(r.Replies) / r.Scored.Seconds() }

// Think is the mean of the think times drawn, in seconds; NaN without any.
func (r Report) Think() float64 { return r.Tally.Thought.Seconds() / float64(r.Tally.Thinks) }

// Law is X(R+Z)/N: the users there must be, by the law of closed loops, as a share
// of those there are. NaN where no request ended well.
func (r Report) Law(total load.Op) float64 {
	if total.OK == 0 || r.Users == 0 {
		return math.NaN()
	}
	return r.Throughput() * (total.Latency.Mean()/1e9 + r.Think()) / float64(r.Users)
}

// Publish reports all of it. What is not known is missing.
func (r Report) Publish(to load.Sink) error {
	total, err := r.Total()
	if err != nil {
		return err
	}
	p := publisher{to}
	to.Sample(model.Sample{Metric: MetricThroughput, Unit: "op/s", Value: r.Throughput(), Better: model.Higher})
	p.operation(total, nil)
	p.errors(total.Counts)
	p.histogram(HistogramResponse, total.Latency)
	for i, o := range r.Ops {
		if o.Due > 0 {
			labels := map[string]string{LabelInteraction: r.Names[i]}
			p.operation(o, labels)
			p.info(MetricThroughput, "op/s", float64(o.OK)/r.Scored.Seconds(), labels)
			p.histogram(HistogramOf(r.Names[i]), o.Latency)
		}
	}
	noLink := int64(0)
	for _, k := range slices.SortedFunc(maps.Keys(r.Tally.NoLink), func(a, b [2]int) int {
		return slices.Compare(a[:], b[:])
	}) {
		noLink += r.Tally.NoLink[k]
		p.info(MetricNoLink, "1", float64(r.Tally.NoLink[k]),
			map[string]string{LabelFrom: r.Names[k[0]], LabelTo: r.Names[k[1]]})
	}
	lag := math.NaN()
	if r.Lag != nil && r.Lag.TotalCount() > 0 {
		lag = float64(r.Lag.ValueAtPercentile(99)) / 1e6
	}
	t, usage := r.Tally, r.Usage
	for _, x := range []struct {
		metric, unit string
		value        float64
	}{
		{MetricScored, "s", r.Scored.Seconds()}, {MetricUsers, "1", float64(r.Users)}, {MetricAfter, "1", float64(r.After)},
		{MetricLaw, "1", r.Law(total)},
		{MetricThinks, "1", float64(t.Thinks)}, {MetricThink, "s", r.Think()}, {MetricSessions, "1", float64(t.Sessions)},
		{MetricLength, "1", float64(t.Visits) / float64(t.Sessions)}, {MetricIncomplete, "1", float64(t.Incomplete)},
		{MetricNoLink, "1", float64(noLink)},
		// What tells whether the generator was the limit.
		{load.MetricBusy, "1", usage.Busy}, {load.MetricCPU, "core", usage.CPU.Seconds() / max(usage.Loaded.Seconds(), 1e-9)},
		{load.MetricCores, "core", float64(load.Cores())}, {load.MetricOpened, "1", float64(usage.Opened)},
		{load.MetricRejected, "1", float64(usage.Rejected)}, {MetricLag, "ms", lag},
	} {
		p.info(x.metric, x.unit, x.value, nil)
	}
	p.histogram(load.HistogramLag, r.Lag)
	p.histogram(load.HistogramReceive, r.ReceiveLag)
	p.seconds(r)
	return nil
}

// publisher writes a report.
type publisher struct{ to load.Sink }

// info publishes a value that describes the trial; what is not known is missing.
func (p publisher) info(metric, unit string, v float64, labels map[string]string) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		p.to.Sample(model.Sample{Metric: metric, Unit: unit, Value: v, Better: model.Lower, Labels: labels, Info: true})
	}
}

func (p publisher) histogram(metric string, h *hdr.Histogram) {
	if h != nil && h.TotalCount() > 0 {
		p.to.Histogram(model.Histogram{Metric: metric, Unit: "ns", Encoded: histogram.Encode(h)})
	}
}

// operation publishes counts and response times.
func (p publisher) operation(o load.Op, labels map[string]string) {
	counts := []int64{o.Due, o.OK, o.Failed(), o.Dropped, o.Unfinished, o.Late}
	for i, metric := range []string{MetricDue, MetricOK, MetricErrors, MetricDropped, MetricUnfinished, MetricLate} {
		p.info(metric, "1", float64(counts[i]), labels)
	}
	if o.OK == 0 {
		return
	}
	p.info(MetricResponse, "ms", o.Latency.Mean()/1e6, labels)
	for _, q := range []float64{50, 90, 95, 99} {
		p.info(fmt.Sprintf("response_p%v", q), "ms", float64(o.Latency.ValueAtPercentile(q))/1e6, labels)
	}
}

func (p publisher) errors(c load.Counts) {
	for k, n := range c.Errors {
		p.info(MetricErrors, "1", float64(n), map[string]string{LabelKind: load.Kind(k).String()})
	}
	for _, s := range c.Statuses.Counted() {
		p.info(MetricErrors, "1", float64(s.Count), map[string]string{LabelKind: fmt.Sprintf("status %d", s.Status)})
	}
}

// seconds are recorded in the middle of what they are about: stages begin some ms after
// the users' seconds, and must not find them in their neighbours.
func (p publisher) seconds(r Report) {
	for _, c := range []struct {
		metric, unit string
		values       []float64
	}{{RecordingUsers, "1", r.Present}, {RecordingRate, "op/s", r.Rate}, {RecordingErrors, "op", r.Failed}, {RecordingResponse, "ms", r.Response}} {
		s := model.HostSeries{Metric: c.metric, Unit: c.unit}
		for i, v := range c.values {
			if !math.IsNaN(v) {
				s.Offsets, s.Values = append(s.Offsets, int64(i)*1e9+5e8), append(s.Values, v)
			}
		}
		if len(s.Offsets) > 0 {
			p.to.Recording(s)
		}
	}
}
