// Package timeline puts what users and tiers recorded of a trial on one axis of time.
//
//  1. A [Window] is the time that is scored: that of the stage run of all generators.
//  2. Readings are brought to steps of it, seconds or parts of them ([Steps]): the rates
//     of counters, and states.
//  3. [Window.Services] is what package bottleneck needs of each second.
//  4. [Of] aligns a whole trial, from its first stage on, for figures: in parts of a
//     second where it was read more often.
//
// What was not read is NaN, and never 0.
package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// StageRun is the stage that is scored.
const StageRun = "run"

// Recordings are the names of what users and tiers record of each second.
func Recordings(tiers []string) []string {
	out := []string{session.RecordingUsers, session.RecordingRate, session.RecordingErrors, session.RecordingResponse}
	for _, tier := range tiers {
		for _, signal := range bottleneck.Signals() {
			out = append(out, tier+":"+signal)
		}
	}
	return out
}

// Timeline is one trial through its stages, in seconds since its first began.
type Timeline struct {
	Stages []Stage
	Lines  []Line
	Run    [2]float64 // what is scored
	End    float64
}

// Stage is one of a service, or without one of the users.
type Stage struct {
	Name, Service string
	From, To      float64
}

// Line is one signal, in steps of so many seconds from 0 on.
type Line struct {
	Name, Unit string
	Step       float64
	Y          []float64
}

// Of aligns what users and tiers recorded of a step. The run must have read its
// [Recordings].
func Of(run *observe.Run, s model.Step, tiers []string) Timeline {
	var out Timeline
	results := run.Accepted(s.ID)
	var zero, last time.Time
	for _, x := range results {
		begin := x.Started
		for _, s := range x.Stages {
			if at := x.Started.Add(time.Duration(s.Started)); at.Before(begin) {
				begin = at
			}
		}
		if zero.IsZero() || begin.Before(zero) {
			zero = begin
		}
		if x.Ended.After(last) {
			last = x.Ended
		}
	}
	out.End = last.Sub(zero).Seconds()
	seconds := int(out.End)
	var w Window
	for _, x := range run.Measured(s) {
		w.Take(x)
		out.add(x, zero, seconds)
	}
	out.Run = [2]float64{w.Start.Sub(zero).Seconds(), w.End.Sub(zero).Seconds()}
	whole := Window{zero, zero.Add(time.Duration(seconds) * time.Second)}
	for _, tier := range tiers {
		read := make(map[time.Duration][]bottleneck.Service)
		out.ofTier(tier, func(signal string) ([]bottleneck.Service, time.Duration) {
			step := stepOf(results, tier+":"+signal, whole.End.Sub(zero))
			if _, known := read[step]; !known {
				for _, x := range results {
					read[step] = append(read[step], whole.Services(x, []string{tier}, step)...)
				}
			}
			return read[step], step
		})
	}
	for _, x := range results {
		for _, g := range x.Stages {
			at := x.Started.Sub(zero).Seconds()
			out.Stages = append(out.Stages, Stage{g.Name, g.Service, at + float64(g.Started)/1e9, at + float64(g.Ended)/1e9})
		}
	}
	slices.SortStableFunc(out.Stages, func(a, b Stage) int { return cmp.Or(cmp.Compare(a.From, b.From), strings.Compare(a.Name, b.Name)) })
	return out
}

const (
	// quotaPeriod is that of Linux's quotas. Within one a service may use several cores,
	// and then none, so that no step is shorter.
	quotaPeriod = 100 * time.Millisecond
	// longestStep between readings that show parts of a second.
	longestStep = 500 * time.Millisecond
	// mostSteps is how many values of a signal a page can show beside each other.
	mostSteps = 3000
)

// stepOf is the time between the values of a signal in so long a trial: that between the
// readings of its slowest host, in whole periods, or else a second.
func stepOf(results []model.Result, signal string, trial time.Duration) time.Duration {
	apart := time.Duration(0)
	for _, x := range results {
		if h := Recorded(x, signal); h != nil && len(h.Offsets) > 1 {
			n := len(h.Offsets) - 1
			apart = max(apart, time.Duration(h.Offsets[n]-h.Offsets[0])/time.Duration(n))
		}
	}
	apart -= apart / 10 // some readings are late
	step := (max(apart, trial/mostSteps) + quotaPeriod - 1).Truncate(quotaPeriod)
	if apart > 0 && step <= longestStep {
		return step
	}
	return time.Second
}

// ofTier adds how full the resources of a tier were, and what waited to be sent and to be read, of
// those that were recorded. What was read tells the services in the steps of a signal.
func (t *Timeline) ofTier(tier string, read func(signal string) ([]bottleneck.Service, time.Duration)) {
	add := func(name, unit string, step time.Duration, y []float64) {
		if slices.ContainsFunc(y, num.Finite) {
			t.Lines = append(t.Lines, Line{name, unit, step.Seconds(), y})
		}
	}
	for _, kind := range bottleneck.Kinds() {
		signal, _ := kind.Signals()
		of, step := read(signal)
		use := bottleneck.Utilisation(of, kind)
		for i := range use {
			use[i] *= 100
		}
		add(bottleneck.Resource{Tier: tier, Kind: kind}.String(), "%", step, use)
	}
	for _, queue := range []struct{ name, signal string }{
		{"Send-Q", bottleneck.SignalSendQueue}, {"Recv-Q", bottleneck.SignalReceiveQueue},
	} {
		of, step := read(queue.signal)
		add(queue.name+" of a host of "+tier, "byte", step, meanOf(of, queue.signal))
	}
}

// meanOf is the mean of a signal over the services that have it.
func meanOf(of []bottleneck.Service, signal string) (mean []float64) {
	services := 0.0
	for _, s := range of {
		if values := s.Signals[signal]; len(values) > 0 {
			mean, services = append(mean, make([]float64, max(0, len(values)-len(mean)))...), services+1
			for i, v := range values {
				mean[i] += v
			}
		}
	}
	for i := range mean {
		mean[i] /= services
	}
	return mean
}

// add adds what one generator recorded to the lines of all.
func (t *Timeline) add(x model.Result, zero time.Time, seconds int) {
	for _, name := range []string{session.RecordingUsers, session.RecordingRate, session.RecordingErrors} {
		h := Recorded(x, name)
		if h == nil {
			continue
		}
		y := Steps(*h, zero.Sub(x.Started).Nanoseconds(), seconds, time.Second)
		k := slices.IndexFunc(t.Lines, func(l Line) bool { return l.Name == name })
		if k < 0 {
			t.Lines = append(t.Lines, Line{name, strings.TrimPrefix(h.Unit, "1"), 1, y})
			continue
		}
		for j := range y {
			t.Lines[k].Y[j] += y[j]
		}
	}
}
