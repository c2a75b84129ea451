package pressure

import (
	"cmp"
	"fmt"
	"slices"

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
		out[i] = u
	}
	return out, nil
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
				x.To, x.Growth, x.Next = &next.Raise[k].Rate, &next.Growth, limes(next.Next)
			}
		}
		r.Advice = append(r.Advice, x)
	}
	for _, c := range a.Lower {
		if slices.Contains(first.Next, c.Use) {
			continue
		}
		x := of(ActionLower, c.Use)
		x.To = &c.Rate
		r.Advice = append(r.Advice, x)
	}
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
