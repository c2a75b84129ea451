package capacity

import (
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

// Windows reads the windows of one search, that of a workload in a trial, from
// what is stored of its run: those that are complete, in order. broken says
// that one is invalid for good; the search cannot go on then.
func Windows(data model.RunData, workload string, trial int) (windows []Window, broken bool, err error) {
	results := make(map[model.StepID][]model.Result)
	for _, r := range data.Accepted() {
		results[r.Step] = append(results[r.Step], r)
	}
	for _, s := range data.Steps {
		if s.Phase != model.Search || s.Workload != workload || s.Trial != trial {
			continue
		}
		switch s.State {
		case model.StepInvalid:
			broken = true
		case model.StepComplete:
			w, err := newWindow(s, results[s.ID])
			if err != nil {
				return nil, false, fmt.Errorf("window %d: %w", len(windows)+1, err)
			}
			windows = append(windows, w)
		}
	}
	return windows, broken, nil
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
		if err := w.add(summary); err != nil {
			return Window{}, err
		}
		w.Processor = max(w.Processor, processorShare(r.Samples))
		if err := addSeconds(seconds, summary); err != nil {
			return Window{}, err
		}
	}
	w.Seconds = secondsOf(seconds)
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

// add takes one generator's part.
func (w *Window) add(s load.Summary) error {
	total, err := s.Total()
	if err != nil {
		return err
	}
	w.Scored = s.Scored
	w.Counts.Add(total.Counts)
	w.Busy = max(w.Busy, s.Usage.Busy)
	for _, h := range s.RTT {
		w.RTT = append(w.RTT, h.Took.Seconds())
	}
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
	share := 0.0
	if cores := value[load.MetricCores]; cores > 0 {
		share = value[load.MetricCPU] / cores
	}
	if machine := value[load.MetricMachine]; machine > 0 {
		share = max(share, (value[load.MetricCPU]+value[model.MetricOtherCPU])/machine)
	}
	return share
}

// summed is one second of all generators.
type summed struct {
	due, ok   int64
	latencies *hdr.Histogram
}

func addSeconds(to map[int]*summed, s load.Summary) error {
	for _, x := range s.Seconds {
		sum := to[x.Index]
		if sum == nil {
			sum = &summed{}
			to[x.Index] = sum
		}
		sum.due += x.Due
		sum.ok += x.OK
		for _, h := range x.Latencies {
			var err error
			if sum.latencies, err = histogram.Merge(sum.latencies, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func secondsOf(sums map[int]*summed) []Second {
	var out []Second
	for index, s := range sums {
		x := Second{At: time.Duration(index) * time.Second, Due: s.due, OK: s.ok, Median: math.NaN(), P90: math.NaN()}
		if s.latencies != nil {
			x.Median = float64(s.latencies.ValueAtPercentile(50)) / 1e9
			x.P90 = float64(s.latencies.ValueAtPercentile(90)) / 1e9
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b Second) int { return int(a.At - b.At) })
	return out
}
