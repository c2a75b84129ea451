package ntier

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

// timeline is one trial through its stages, in seconds since its first began.
type timeline struct {
	stages []stage
	lines  []line
	run    [2]float64 // what is scored
	end    float64
}

type stage struct {
	name, service string
	from, to      float64
}

// line is one signal, by second from 0 on.
type line struct {
	name, unit string
	y          []float64
}

// timelineOf aligns what users and tiers recorded of a step.
func timelineOf(p *Params, run *observe.Run, s model.Step) timeline {
	var out timeline
	results := run.Accepted(s.ID)
	var zero, last time.Time
	for _, x := range results {
		begin := x.Started
		for _, g := range x.Stages {
			begin = earlier(begin, x.Started.Add(time.Duration(g.Started)))
		}
		zero = earlier(zero, begin)
		if x.Ended.After(last) {
			last = x.Ended
		}
	}
	out.end = last.Sub(zero).Seconds()
	seconds := int(out.end)
	var w window
	for _, x := range run.Measured(s) {
		w.take(x)
		out.add(x, zero, seconds)
	}
	out.run = [2]float64{w.start.Sub(zero).Seconds(), w.end.Sub(zero).Seconds()}
	whole := window{zero, zero.Add(time.Duration(seconds) * time.Second)}
	for _, tier := range p.Tiers {
		var of []bottleneck.Service
		for _, x := range results {
			of = append(of, whole.services(x, []string{tier})...)
		}
		out.ofTier(tier, of)
	}
	for _, x := range results {
		for _, g := range x.Stages {
			at := x.Started.Sub(zero).Seconds()
			out.stages = append(out.stages, stage{g.Name, g.Service, at + float64(g.Started)/1e9, at + float64(g.Ended)/1e9})
		}
	}
	slices.SortStableFunc(out.stages, func(a, b stage) int { return cmp.Or(cmp.Compare(a.from, b.from), strings.Compare(a.name, b.name)) })
	return out
}

// ofTier adds how full the resources of a tier were, and what waited to be sent, of
// those that were recorded.
func (t *timeline) ofTier(tier string, of []bottleneck.Service) {
	add := func(name, unit string, y []float64) {
		if slices.ContainsFunc(y, num.Finite) {
			t.lines = append(t.lines, line{name, unit, y})
		}
	}
	for _, kind := range columnKinds {
		use := bottleneck.Utilisation(of, kind)
		for i := range use {
			use[i] *= 100
		}
		add(bottleneck.Resource{Tier: tier, Kind: kind}.String(), "%", use)
	}
	var queue []float64
	hosts := 0.0
	for _, s := range of {
		if q := s.Signals[bottleneck.SignalSendQueue]; len(q) > 0 {
			queue, hosts = append(queue, make([]float64, max(0, len(q)-len(queue)))...), hosts+1
			for i, v := range q {
				queue[i] += v
			}
		}
	}
	for i := range queue {
		queue[i] /= hosts
	}
	add("Send-Q of a host of "+tier, "byte", queue)
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// add adds what one generator recorded to the lines of all.
func (t *timeline) add(x model.Result, zero time.Time, seconds int) {
	for _, name := range []string{session.RecordingUsers, session.RecordingRate, session.RecordingErrors} {
		h := recorded(x, name)
		if h == nil {
			continue
		}
		y := bySteps(*h, zero.Sub(x.Started).Nanoseconds(), seconds, time.Second)
		k := slices.IndexFunc(t.lines, func(l line) bool { return l.name == name })
		if k < 0 {
			t.lines = append(t.lines, line{name, strings.TrimPrefix(h.Unit, "1"), y})
			continue
		}
		for j := range y {
			t.lines[k].y[j] += y[j]
		}
	}
}
