package timeline

import (
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
)

// Window is the time of a trial that is scored, in server time.
type Window struct{ Start, End time.Time }

// Take narrows the window to the stage run of one more generator.
func (w *Window) Take(x model.Result) {
	i := slices.IndexFunc(x.Stages, func(s model.Stage) bool { return s.Name == StageRun && s.Service == "" && s.Ended > s.Started })
	if i < 0 {
		return
	}
	start, end := x.Started.Add(time.Duration(x.Stages[i].Started)), x.Started.Add(time.Duration(x.Stages[i].Ended))
	if w.Start.IsZero() || start.After(w.Start) {
		w.Start = start
	}
	if w.End.IsZero() || end.Before(w.End) {
		w.End = end
	}
}

// Services are what a result recorded of the services of tiers, by step of the window,
// as a rule a second. A task may have served several.
func (w Window) Services(x model.Result, tiers []string, step time.Duration) []bottleneck.Service {
	var out []bottleneck.Service
	n := int((w.End.Sub(w.Start) + step/10) / step) // clocks that differ a little must not cost the last one
	for _, tier := range tiers {
		s := bottleneck.Service{Tier: tier, Node: x.Node, Signals: make(map[string][]float64)}
		for _, h := range x.Host {
			name, ok := strings.CutPrefix(h.Metric, tier+":")
			if ok && len(h.Offsets) == len(h.Values) && len(h.Offsets) > 0 && n > 0 &&
				slices.Contains(bottleneck.Signals(), name) {
				s.Signals[name] = Steps(h, w.Start.Sub(x.Started).Nanoseconds(), n, step)
			}
		}
		if len(s.Signals) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// Responses are the mean response times of each second of the window, in seconds, of
// what all generators sent.
func (w Window) Responses(generators []model.Result) []float64 {
	var sum, rates []float64
	seconds := int((w.End.Sub(w.Start) + time.Second/10) / time.Second)
	for _, x := range generators {
		response, rate := Recorded(x, session.RecordingResponse), Recorded(x, session.RecordingRate)
		if response == nil || rate == nil || seconds <= 0 {
			return nil
		}
		if sum == nil {
			sum, rates = make([]float64, seconds), make([]float64, seconds)
		}
		from := w.Start.Sub(x.Started).Nanoseconds()
		r, n := Steps(*response, from, seconds, time.Second), Steps(*rate, from, seconds, time.Second)
		for i := range r {
			if n[i] > 0 && r[i] > 0 { // not where none was due
				sum[i], rates[i] = sum[i]+r[i]*n[i]*1e-3, rates[i]+n[i]
			}
		}
	}
	for i := range sum {
		sum[i] /= rates[i]
	}
	return sum
}

// Silent adds the hosts of tiers that recorded nothing: they are there, and what they
// did is not known.
func Silent(s model.Step, tiers []string, services []bottleneck.Service) []bottleneck.Service {
	for _, tier := range tiers {
		for _, node := range s.Services[tier].Nodes {
			if !slices.ContainsFunc(services, func(x bottleneck.Service) bool { return x.Tier == tier && x.Node == node }) {
				services = append(services, bottleneck.Service{Tier: tier, Node: node})
			}
		}
	}
	return services
}
