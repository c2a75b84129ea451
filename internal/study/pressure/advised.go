package pressure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
)

// Action is what an advice says of a limit.
type Action string

// Raise: it holds the throughput back, and a raise up to To is of use. Headroom: it is the
// next to hold it back, when the throughput has grown by Growth. Lower: less is enough.
const (
	ActionRaise    Action = "raise"
	ActionHeadroom Action = "headroom"
	ActionLower    Action = "lower"
)

// Advised is what to do about a limit.
type Advised struct {
	Action  Action `json:"action"`
	Node    string `json:"node"`
	Service string `json:"service"`
	Quality string `json:"quality"`
	// From is the present level, To the advised one; null: no other limit is known, so
	// that any raise is of use.
	From float64  `json:"from"`
	To   *float64 `json:"to"`
	// Growth is the largest throughput then, as a multiple of the present one. AtLeast:
	// the demand is clipped at the limit, so that the demand is at least what was seen.
	Growth  *Range  `json:"growth,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
	Next    []Limes `json:"next,omitempty"` // the limits that bind then
}

// Limes names a limit of a service.
type Limes struct {
	Node    string `json:"node"`
	Service string `json:"service"`
	Quality string `json:"quality"`
}

// busyWindow is the least time, in s, and busyPeriods the least number of periods of the
// window of the highest load.
const busyWindow, busyPeriods = 60, 10

// uses are how much of each limit the throughput of the busiest window uses.
func (r *Result) uses() ([]Use, error) {
	all := make([]Series, len(r.Services))
	for i, s := range r.Services {
		all[i] = s.line.series
	}
	begin, end := Busiest(all, max(busyWindow, busyPeriods*r.Period))
	out := make([]Use, len(r.Services))
	for i, s := range r.Services {
		u, err := NewUse(s.Limit, s.line.series, begin, end)
		if err != nil {
			return nil, fmt.Errorf("the use of %s: %w", s.Service, err)
		}
		u.Node, u.Service, u.Limit = s.Node, s.Service, s.Quality
		if s.line.level.Bucket != nil {
			if err := s.line.allow(&u, begin, end); err != nil {
				return nil, err
			}
		}
		out[i] = u
	}
	return out, nil
}

// allow sets what a bucket adds to a use. If the limit of the moment binds, that is its
// rate: in a burst, a higher base rate is of no use. Less is enough only if
// the base rate alone bears the loads.
func (l *line) allow(u *Use, begin, end float64) error {
	loads := l.loads.Between(begin, end)
	if len(loads) == 0 {
		loads = l.loads
	}
	all, err := l.loads.Summary()
	if err != nil {
		return fmt.Errorf("the loads of %s: %w", l.service, err)
	}
	u.Peak = max(u.Peak, all.P99/l.level.Rate.Level())
	if u.highest() >= saturated {
		u.Rate = loads.Mean() / u.Pressure
	}
	return nil
}

// undecided reports whether the balance of a bucket, which is not known, decides what holds
// the throughput back: then there is no advice.
func (r *Result) undecided() bool {
	return slices.ContainsFunc(r.Services, func(s *Service) bool {
		return s.line.most != nil && s.SLP.P99 < saturated && s.line.most.peak() >= saturated
	})
}

// advise fills Advice from what P found: what to raise if a limit is saturated, how much
// more fits otherwise, and of what less is enough.
func (r *Result) advise(a Advice) {
	r.Advice = []Advised{}
	limes := func(indices []int) (out []Limes) {
		for _, i := range indices {
			out = append(out, Limes{a.Uses[i].Node, a.Uses[i].Service, a.Uses[i].Limit})
		}
		return out
	}
	of := func(action Action, i int) Advised {
		u := a.Uses[i]
		return Advised{Action: action, Node: u.Node, Service: u.Service, Quality: u.Limit, From: u.Rate}
	}
	if len(a.Steps) == 0 {
		return
	}
	first := a.Steps[0]
	for k, i := range first.Next {
		x := of(ActionHeadroom, i)
		x.Growth = &first.Growth
		if a.Clipped {
			x = of(ActionRaise, i)
			x.AtLeast = true
			if len(a.Steps) > 1 {
				next := a.Steps[1]
				x.To, x.Growth, x.Next = new(roundUp(next.Raise[k].Rate)), &next.Growth, limes(next.Next)
			}
		}
		r.Advice = append(r.Advice, x)
	}
	grown := 1.0
	if a.Clipped && len(a.Steps) > 1 {
		grown = a.Steps[1].Growth.Value
	}
	for _, i := range r.lower(a, grown) {
		x := of(ActionLower, i.Use)
		x.To = new(roundUp(i.Rate * grown))
		r.Advice = append(r.Advice, x)
	}
}

// lower are the limits of which less is enough when the throughput has grown: one for
// each input of a service, of the limit that needs most of it. A limit that no input sets
// cannot be lowered.
func (r *Result) lower(a Advice, grown float64) (out []Change) {
	level := func(u Use) *line {
		k := slices.IndexFunc(r.Services, func(s *Service) bool {
			return s.Node == u.Node && s.Service == u.Service && s.Quality == u.Limit
		})
		return r.Services[k].line
	}
	needs := make(map[string]Change) // by service and inputs
	kept := make(map[string]bool)
	var keys []string
	for i, u := range a.Uses {
		l := level(u)
		key := u.Node + "\x00" + u.Service + "\x00" + l.of.Model + "\x00" + strings.Join(l.level.Inputs, ",")
		k := slices.IndexFunc(a.Lower, func(c Change) bool { return c.Use == i })
		if k < 0 || len(l.level.Inputs) == 0 || l.chosen || a.Lower[k].Factor*grown >= mostLowered {
			kept[key] = true
			continue
		}
		if _, ok := needs[key]; !ok {
			keys = append(keys, key)
		}
		if c := a.Lower[k]; c.Factor > needs[key].Factor {
			needs[key] = c
		}
	}
	for _, key := range keys {
		if c := needs[key]; !kept[key] && c.Rate > 0 {
			out = append(out, c)
		}
	}
	return out
}

// mostLowered is the share of a limit above which lowering it is not worth a change.
const mostLowered = .8

// roundUp rounds up to three digits: what is advised is at least what is needed.
func roundUp(x float64) float64 {
	if !(x > 0) {
		return x
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return math.Ceil(x/unit-1e-9) * unit
}

// adviceFor is that to raise a service.
func (r *Result) adviceFor(s *Service) *Advised {
	i := slices.IndexFunc(r.Advice, func(a Advised) bool {
		return a.Action == ActionRaise && a.Node == s.Node && a.Service == s.Service && a.Quality == s.Quality
	})
	if i < 0 {
		return nil
	}
	return &r.Advice[i]
}

// same are the raises of the same quality of other services.
func (r *Result) others(a *Advised) (n int) {
	for i := range r.Advice {
		if x := &r.Advice[i]; x != a && x.Action == ActionRaise && x.Quality == a.Quality {
			n++
		}
	}
	return n
}

// sentence says what to raise.
func (r *Result) sentence(a *Advised) string {
	what := "raise it"
	if n := r.others(a); n > 0 {
		what = fmt.Sprintf("raise it and that of %s", num.Count(n, "other service"))
	}
	if a.To == nil {
		return what + ": no other limit is known to bind"
	}
	return fmt.Sprintf("%s to %s; more is of no use, for then %s", what, rateText(a.Quality, *a.To), binds(a))
}

// binds says which limits bind after a raise.
func binds(a *Advised) string {
	n := a.Next[0]
	words := limitWords(n.Quality)
	verb := " bind"
	if levels.Quality(n.Quality) == levels.CPU {
		verb = " binds"
	}
	if n.Service != a.Service || n.Node != a.Node {
		return fmt.Sprintf("the %s of %s%s", words, cmp.Or(n.Service, n.Node), verb)
	}
	return words + verb
}
