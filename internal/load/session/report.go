package session

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

// percentiles of response times that are reported.
func percentiles() []float64 { return []float64{50, 90, 95, 99} }

// Report is what the users of one generator did.
type Report struct {
	Config Config
	Users  int // of this generator
	// Names of interactions, and what became of their requests that were due in
	// the time scored.
	Names []string
	Ops   []load.Op
	// Replies is how many ended well in it.
	Replies int64
	Scored  time.Duration
	// After is how many that were due later had no end.
	After int64
	Tally Tally
	Lag   *hdr.Histogram
	// ReceiveLag is that of package load.
	ReceiveLag *hdr.Histogram
	Usage      load.Usage
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
	w.report = Report{Config: c, Names: c.Site.Names(), Scored: c.To - c.From}
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
	s := w.scorer.Summary(w.report.Names, usage)
	r := w.report
	r.Ops, r.Lag, r.ReceiveLag, r.Replies, r.Usage = s.Ops, s.Lag, s.ReceiveLag, s.Replies, usage
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

// Add adds what the users of another generator did in the same time; what is
// known by second is left out. The error is model.ErrUsage.
func (r *Report) Add(o Report) error {
	if r.Scored != o.Scored {
		return fmt.Errorf("%w: one generator scores %v, another %v", model.ErrUsage, r.Scored, o.Scored)
	}
	r.Users, r.Replies, r.After = r.Users+o.Users, r.Replies+o.Replies, r.After+o.After
	r.Tally.add(o.Tally)
	var err error
	for i, name := range o.Names {
		x := r.op(name)
		x.Add(o.Ops[i].Counts)
		if x.Latency, err = histogram.Merge(x.Latency, o.Ops[i].Latency); err != nil {
			return err
		}
	}
	r.Lag, err = histogram.Merge(r.Lag, o.Lag)
	return err
}

// Total adds up all interactions.
func (r Report) Total() (load.Op, error) { return load.Summary{Ops: r.Ops}.Total() }

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

// Publish reports all of it.
func (r Report) Publish(to load.Sink) error {
	total, err := r.Total()
	if err != nil {
		return err
	}
	p := publisher{to}
	to.Sample(model.Sample{Metric: MetricThroughput, Unit: "op/s", Value: r.Throughput(), Better: model.Higher})
	p.info(MetricScored, "s", r.Scored.Seconds(), nil)
	p.info(MetricUsers, "1", float64(r.Users), nil)
	p.info(MetricAfter, "1", float64(r.After), nil)
	p.info(MetricLaw, "1", r.Law(total), nil)
	p.operation(total, nil)
	p.errors(total.Counts)
	p.histogram(HistogramResponse, total.Latency)
	for i, o := range r.Ops {
		if o.Due == 0 {
			continue
		}
		labels := map[string]string{LabelInteraction: r.Names[i]}
		p.operation(o, labels)
		p.info(MetricThroughput, "op/s", float64(o.OK)/r.Scored.Seconds(), labels)
		p.histogram(HistogramOf(r.Names[i]), o.Latency)
	}
	p.tally(r)
	p.usage(r)
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
	for _, x := range []struct {
		metric string
		n      int64
	}{
		{MetricDue, o.Due}, {MetricOK, o.OK}, {MetricErrors, o.Failed()}, {MetricDropped, o.Dropped},
		{MetricUnfinished, o.Unfinished}, {MetricLate, o.Late},
	} {
		p.info(x.metric, "1", float64(x.n), labels)
	}
	if o.OK == 0 {
		return
	}
	p.info(MetricResponse, "ms", o.Latency.Mean()/1e6, labels)
	for _, q := range percentiles() {
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

func (p publisher) tally(r Report) {
	t := r.Tally
	p.info(MetricThinks, "1", float64(t.Thinks), nil)
	p.info(MetricThink, "s", r.Think(), nil)
	p.info(MetricSessions, "1", float64(t.Sessions), nil)
	p.info(MetricLength, "1", float64(t.Visits)/float64(t.Sessions), nil)
	p.info(MetricIncomplete, "1", float64(t.Incomplete), nil)
	missing := int64(0)
	for _, k := range slices.SortedFunc(maps.Keys(t.NoLink), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		missing += t.NoLink[k]
		p.info(MetricNoLink, "1", float64(t.NoLink[k]), map[string]string{LabelFrom: r.Names[k[0]], LabelTo: r.Names[k[1]]})
	}
	p.info(MetricNoLink, "1", float64(missing), nil)
}

// usage is what tells whether the generator was the limit.
func (p publisher) usage(r Report) {
	loaded := max(r.Usage.Loaded.Seconds(), 1e-9)
	p.info(load.MetricBusy, "1", r.Usage.Busy, nil)
	p.info(load.MetricCPU, "core", r.Usage.CPU.Seconds()/loaded, nil)
	p.info(load.MetricCores, "core", float64(load.Cores()), nil)
	p.info(load.MetricOpened, "1", float64(r.Usage.Opened), nil)
	p.info(load.MetricRejected, "1", float64(r.Usage.Rejected), nil)
	if r.Lag != nil && r.Lag.TotalCount() > 0 {
		p.info(MetricLag, "ms", float64(r.Lag.ValueAtPercentile(99))/1e6, nil)
	}
	p.histogram(load.HistogramLag, r.Lag)
	p.histogram(load.HistogramReceive, r.ReceiveLag)
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

// Read reads what Publish has published, but for the generator's own and what is
// known by second. The error is model.ErrUsage: the result is not of users.
func Read(result model.Result) (Report, error) {
	r := Report{}
	thinks, think, throughput := 0.0, 0.0, 0.0
	for _, x := range result.Samples {
		switch {
		case x.Metric == MetricScored:
			r.Scored = time.Duration(x.Value * 1e9)
		case x.Metric == MetricUsers:
			r.Users = int(x.Value)
		case x.Metric == MetricAfter:
			r.After = int64(x.Value)
		case x.Metric == MetricThinks:
			thinks = x.Value
		case x.Metric == MetricThink:
			think = x.Value
		case x.Metric == MetricThroughput && len(x.Labels) == 0:
			throughput = x.Value
		case x.Labels[LabelInteraction] != "":
			r.takeCount(x)
		}
	}
	if r.Scored <= 0 || r.Users <= 0 {
		return Report{}, fmt.Errorf("%w: task %s is not of users", model.ErrUsage, result.Task)
	}
	r.Replies = int64(math.Round(throughput * r.Scored.Seconds()))
	r.Tally.Thinks, r.Tally.Thought = int64(thinks), time.Duration(think*thinks*1e9)
	for _, h := range result.Histograms {
		if err := r.takeHistogram(h); err != nil {
			return Report{}, fmt.Errorf("%w: task %s: %s: %w", model.ErrUsage, result.Task, h.Metric, err)
		}
	}
	return r, nil
}

// op finds or adds an interaction.
func (r *Report) op(name string) *load.Op {
	i := slices.Index(r.Names, name)
	if i < 0 {
		i = len(r.Names)
		r.Names, r.Ops = append(r.Names, name), append(r.Ops, load.Op{})
	}
	return &r.Ops[i]
}

func (r *Report) takeCount(x model.Sample) {
	c, n := &r.op(x.Labels[LabelInteraction]).Counts, int64(x.Value)
	switch x.Metric {
	case MetricDue:
		c.Due = n
	case MetricOK:
		c.OK = n
	case MetricErrors:
		c.Errors[load.ErrStatus] = n // their kinds are known of all together
	case MetricDropped:
		c.Dropped = n
	case MetricUnfinished:
		c.Unfinished = n
	case MetricLate:
		c.Late = n
	}
}

func (r *Report) takeHistogram(x model.Histogram) (err error) {
	if x.Metric == load.HistogramLag {
		r.Lag, err = histogram.Decode(x.Encoded)
		return err
	}
	name, is := strings.CutPrefix(x.Metric, HistogramResponse+"[")
	if !is {
		return nil
	}
	o := r.op(strings.TrimSuffix(name, "]"))
	o.Latency, err = histogram.Decode(x.Encoded)
	return err
}
