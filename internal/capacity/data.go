package capacity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Recorded is what one search, that of a workload in a trial, has measured.
type Recorded struct {
	Workload string
	Trial    int
	// Windows are those that are complete, in order.
	Windows []Window
	// Broken: its latest window is invalid for good. Either the search goes on
	// with the generators that are left, or this is its end.
	Broken bool
	// Failure is why, if Broken.
	Failure string
	// Dropouts are the generators that were left out from some window on.
	Dropouts []Dropout
	offering []model.NodeID // the generators of the latest window
}

// Dropout is generators that were lost in mid-search.
type Dropout struct {
	Nodes []model.NodeID
	// Windows is how many windows were complete before, Left how many
	// generators offered the load from then on.
	Windows, Left int
}

func (d Dropout) String() string {
	return fmt.Sprintf("%s did not come back after window %d; from then on the load came from %d", whose(d.Nodes), d.Windows, d.Left)
}

// Searches reads the windows of all searches in data, which may be a part of
// what is stored of a run: in the order of their first windows.
func Searches(data model.RunData) ([]Recorded, error) {
	results := make(map[model.StepID][]model.Result)
	for _, r := range data.Accepted() {
		results[r.Step] = append(results[r.Step], r)
	}
	type key struct {
		workload string
		trial    int
	}
	place := make(map[key]int)
	var out []Recorded
	for _, s := range data.Steps {
		if s.Phase != model.Search {
			continue
		}
		k := key{s.Workload, s.Trial}
		if _, ok := place[k]; !ok {
			place[k] = len(out)
			out = append(out, Recorded{Workload: s.Workload, Trial: s.Trial})
		}
		r := &out[place[k]]
		if err := r.add(s, results[s.ID]); err != nil {
			return nil, fmt.Errorf("workload %s, trial %d, window %d: %w", s.Workload, s.Trial, len(r.Windows)+1, err)
		}
		r.Failure = failure(s, data.Results)
	}
	return out, nil
}

// add takes a step into account that is over.
func (r *Recorded) add(s model.Step, results []model.Result) error {
	r.notice(s)
	r.Broken = s.State == model.StepInvalid
	if s.State == model.StepComplete {
		w, err := newWindow(s, results)
		if err != nil {
			return err
		}
		r.Windows = append(r.Windows, w)
	}
	return nil
}

// notice compares the generators of a step with those of the one before.
func (r *Recorded) notice(s model.Step) {
	var now, gone []model.NodeID
	for _, t := range s.Tasks {
		now = append(now, t.Node)
	}
	for _, n := range r.offering {
		if !slices.Contains(now, n) {
			gone = append(gone, n)
		}
	}
	if len(gone) > 0 {
		r.Dropouts = append(r.Dropouts, Dropout{Nodes: gone, Windows: len(r.Windows), Left: len(now)})
	}
	r.offering = now
}

// newWindow adds up what the generators of a step saw.
func newWindow(s model.Step, results []model.Result) (Window, error) {
	rate, err := loadOf(s)
	if err != nil {
		return Window{}, err
	}
	w := Window{Load: rate, Start: s.StartAt}
	seconds := make(map[int]*summed)
	for _, r := range results {
		summary, err := load.ReadSummary(r)
		if err != nil {
			return Window{}, err
		}
		if err := w.add(r, summary); err != nil {
			return Window{}, err
		}
		if err := addSeconds(seconds, summary); err != nil {
			return Window{}, err
		}
	}
	// Of thousands of windows all are kept in memory.
	w.Latencies, w.Services, w.Lags = histogram.Trim(w.Latencies), histogram.Trim(w.Services), histogram.Trim(w.Lags)
	w.Seconds = secondsOf(seconds)
	w.place(results)
	return w, nil
}

// loadOf is the load that a step's tasks offer together.
func loadOf(s model.Step) (float64, error) {
	if len(s.Tasks) == 0 {
		return 0, fmt.Errorf("%w: step %s has no tasks", model.ErrUsage, s.ID)
	}
	text, _ := s.Tasks[0].Spec.Params["rate"].(string)
	r, err := unit.ParseRate(text)
	if err != nil {
		return 0, fmt.Errorf("%w: step %s: rate: %w", model.ErrUsage, s.ID, err)
	}
	return r.Value, nil
}

// place orders the parts and says how long after the first each began.
func (w *Window) place(results []model.Result) {
	began := make(map[model.NodeID]time.Time)
	var first time.Time
	for _, r := range results {
		began[r.Node] = r.Started
		if first.IsZero() || r.Started.Before(first) {
			first = r.Started
		}
	}
	for i := range w.Parts {
		w.Parts[i].After = began[w.Parts[i].Node].Sub(first)
	}
	slices.SortFunc(w.Parts, func(a, b Part) int { return cmp.Compare(a.Node, b.Node) })
}

// add takes one generator's part.
func (w *Window) add(r model.Result, s load.Summary) error {
	total, err := s.Total()
	if err != nil {
		return err
	}
	part := newPart(r.Node, s, total, processorShare(r.Samples))
	w.Parts = append(w.Parts, part)
	w.Scored = s.Scored
	w.Counts.Add(total.Counts)
	w.Replies += s.Replies
	w.Busy, w.Processor = max(w.Busy, part.Busy), max(w.Processor, part.Processor)
	w.Sent, w.Received = w.Sent+s.Sent, w.Received+s.Received
	w.Segments.Add(s.Segments)
	trips := roundTrips(s.RTT)
	w.RTT, w.Lost = append(w.RTT, trips...), w.Lost+len(s.RTT)-len(trips)
	for _, m := range []struct {
		into **hdr.Histogram
		part *hdr.Histogram
	}{{&w.Latencies, total.Latency}, {&w.Services, total.Service}, {&w.Lags, s.Lag}} {
		if *m.into, err = histogram.Merge(*m.into, m.part); err != nil {
			return err
		}
	}
	return nil
}

// processorShare is how much of the processors that a generator could use was
// in use: by itself, or, with the whole machine, by everything.
func processorShare(samples []model.Sample) float64 {
	value := make(map[string]float64)
	for _, s := range samples {
		value[s.Metric] = s.Value
	}
	// Watching is no work, but leaves the others fewer processors.
	spun := value[load.MetricSpun]
	worked, share := max(value[load.MetricCPU]-spun, 0), 0.0
	if cores := value[load.MetricCores]; cores > 0 {
		share = worked / cores
	}
	if left := value[load.MetricMachine] - spun; left > 0 {
		share = max(share, (worked+value[model.MetricOtherCPU])/left)
	}
	return share
}

// summed is one second of all generators.
type summed struct {
	due, ok   int64
	replies   int64
	latencies *hdr.Histogram
}

// merge adds encoded latencies; there may be none.
func (s *summed) merge(encoded string) error {
	if encoded == "" {
		return nil
	}
	h, err := histogram.Decode(encoded)
	if err == nil {
		s.latencies, err = histogram.Merge(s.latencies, h)
	}
	return err
}

func addSeconds(to map[int]*summed, s load.Summary) error {
	for i, index := range s.Seconds.Index {
		sum := to[index]
		if sum == nil {
			sum = &summed{}
			to[index] = sum
		}
		sum.due += s.Seconds.Due[i]
		sum.ok += s.Seconds.OK[i]
		sum.replies += s.Seconds.Replies[i]
		for _, encoded := range s.Seconds.Latencies[i] {
			if err := sum.merge(encoded); err != nil {
				return fmt.Errorf("latencies of second %d: %w", index, err)
			}
		}
	}
	return nil
}

func secondsOf(sums map[int]*summed) []Second {
	var out []Second
	for index, s := range sums {
		x := Second{At: time.Duration(index) * time.Second, Due: s.due, OK: s.ok, Replies: s.replies, Median: math.NaN(), P90: math.NaN()}
		if d, known := quantileOfDue(s.latencies, s.due, .5); known {
			x.Median = d.Seconds()
		}
		if d, known := quantileOfDue(s.latencies, s.due, .9); known {
			x.P90 = d.Seconds()
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Second) int { return int(a.At - b.At) })
	return out
}
