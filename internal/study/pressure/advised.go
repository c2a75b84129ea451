package pressure

import (
	"cmp"
	"fmt"
	"maps"
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
	Growth  *Range `json:"growth,omitempty"`
	AtLeast bool   `json:"at_least,omitempty"`
	// Most is the largest level that the model has, where no other limit is known. Other:
	// more than that takes another size or kind of service.
	Most  *float64  `json:"most,omitempty"`
	Other bool      `json:"other_service,omitempty"`
	Next  []LimitOf `json:"next,omitempty"` // the limits that bind then
}

// LimitOf names a limit of a service.
type LimitOf struct {
	Node    string `json:"node"`
	Service string `json:"service"`
	Quality string `json:"quality"`
}

// busyWindow is the least time, in s, and busyPeriods the least number of periods of the
// window of the highest load.
const busyWindow, busyPeriods = 60, 10

// often is the share of the time at a limit, in percent, from which the demand is clipped.
const often = 5

// candidates are the limits that the advice is about: each of a service once.
func (r *Result) candidates() (out []*Service) {
	for _, s := range r.Services {
		if !s.line.again {
			out = append(out, s)
		}
	}
	return out
}

// uses are how much of each limit the throughput of the busiest window uses. Where a
// service is at its limit often, and for shorter than the usual window, the window is as
// long as that lasts: all limits are looked at in the moments that count.
func (r *Result) uses() ([]Use, error) {
	length := max(busyWindow, busyPeriods*r.Period)
	if w := r.worst(); w != nil && w.TCPT.Percent >= often && w.MCPT.Seconds > 0 {
		length = min(length, w.MCPT.Seconds)
	}
	services := r.candidates()
	all := make([]Series, len(services))
	for i, s := range services {
		all[i] = s.line.series
	}
	begin, end := Busiest(all, length)
	out := make([]Use, len(services))
	for i, s := range services {
		u, err := NewUse(s.Limit, s.line.series, begin, end)
		if err != nil {
			return nil, fmt.Errorf("the use of %s: %w", s.Service, err)
		}
		if err := s.line.allow(&u, begin, end); err != nil {
			return nil, err
		}
		u.Node, u.Service, u.Limit = s.Node, s.Service, s.Quality
		out[i] = u
	}
	return out, nil
}

// allow sets what a bucket adds to a use. If the limit of the moment binds, that is its rate:
// in a burst, a higher base rate is of no use. In the long run a bucket gives what it gains.
// Less is enough only if the base rate alone bears the loads.
func (l *line) allow(u *Use, begin, end float64) error {
	if l.credits == nil {
		return nil
	}
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
	} else if lasting := all.Mean / l.level.Bucket.Fill; lasting > u.Pressure {
		u.Pressure, u.Mean = lasting, nil
	}
	return nil
}

// undecided reports whether the balance of a bucket, which is not known, decides what holds
// the throughput back: then there is no advice.
func (r *Result) undecided() bool {
	return slices.ContainsFunc(r.candidates(), func(s *Service) bool {
		return s.line.most != nil && s.SLP.P99 < saturated && s.line.most.peak() >= saturated
	})
}

// clipped reports whether limits hold the throughput back: by their pressure, by the time
// at them, or by what the provider says.
func (r *Result) clipped(a Advice) bool {
	return a.Clipped || slices.ContainsFunc(a.Steps[0].Next,
		func(i int) bool { return r.serviceOf(a.Uses[i]).atLimit() >= often })
}

// serviceOf is that of a use.
func (r *Result) serviceOf(u Use) *Service {
	k := slices.IndexFunc(r.Services, func(s *Service) bool {
		return !s.line.again && s.Node == u.Node && s.Service == u.Service && s.Quality == u.Limit
	})
	return r.Services[k]
}

// advise fills Advice: what to raise if a limit is saturated, how much more fits
// otherwise, and of what less is enough. It names levels that the models have.
func (r *Result) advise(p *Params, a Advice) error {
	if len(a.Steps) == 0 {
		return nil
	}
	limitsOf := func(indices []int) (out []LimitOf) {
		for _, i := range indices {
			out = append(out, LimitOf{a.Uses[i].Node, a.Uses[i].Service, a.Uses[i].Limit})
		}
		return out
	}
	of := func(action Action, i int) Advised {
		u := a.Uses[i]
		return Advised{Action: action, Node: u.Node, Service: u.Service, Quality: u.Limit, From: u.Rate}
	}
	first, clipped, grown := a.Steps[0], r.clipped(a), 1.0
	for k, i := range first.Next {
		x := of(ActionHeadroom, i)
		x.Growth = &first.Growth
		if clipped {
			x = of(ActionRaise, i)
			x.AtLeast = true
			if len(a.Steps) > 1 {
				next := a.Steps[1]
				x.To, x.Growth, x.Next = new(roundUp(next.Raise[k].Rate)), &next.Growth, limitsOf(next.Next)
				grown = next.Growth.Value
			}
			if err := x.within(p, r.serviceOf(a.Uses[i])); err != nil {
				return err
			}
		}
		r.Advice = append(r.Advice, x)
	}
	for _, c := range r.lower(a, grown) {
		x := of(ActionLower, c.Use)
		s := r.serviceOf(a.Uses[c.Use])
		least, err := p.extreme(s, false)
		if err != nil {
			return err
		}
		if to := max(roundUp(c.Rate*grown), least); to < mostLowered*s.Limit {
			x.To = &to
			r.Advice = append(r.Advice, x)
		}
	}
	return nil
}

// within keeps a raise to what the model has.
func (a *Advised) within(p *Params, s *Service) error {
	most, err := p.extreme(s, true)
	switch {
	case err != nil:
		return err
	case a.To == nil:
		a.Most = &most
		if most <= s.Limit*(1+same) {
			a.Other = true
		}
	case *a.To <= most*(1+same):
		for _, level := range s.line.levelsOf(p) {
			if level >= *a.To*(1-same) { // levels that are chosen by a word have steps
				a.To = &level
				break
			}
		}
	case *a.To > most*(1+same):
		a.To, a.Other, a.Next = &most, true, nil
		a.Growth = new(Range{most / s.Limit, most / s.Limit, most / s.Limit})
	}
	return nil
}

// choices are the inputs of the level that are words, such as a type.
func (l *line) choices() (names []string) {
	for _, name := range l.level.Inputs {
		if l.model.Choices(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// levelsOf are the levels of the limit with each word of its inputs, ascending; none: it
// has no such input.
func (l *line) levelsOf(p *Params) (out []float64) {
	set := p.inputs(l.source, l.node, l.service, l.model, newUsed(p))
	for _, name := range l.choices() {
		for _, word := range l.model.Choices(name) {
			of, err := l.model.Levels(changed(set, []string{name}, []string{word}))
			if err != nil {
				continue // not with the other inputs
			}
			for _, level := range of.Limits {
				if level.Name() == l.level.Name() {
					out = append(out, level.Rate.Level())
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// extreme is the largest or the smallest level of a limit that the inputs of its model
// give.
func (p *Params) extreme(s *Service, largest bool) (float64, error) {
	l := s.line
	set := p.inputs(l.source, s.Node, s.Service, l.model, newUsed(p))
	provisions, err := l.model.Provisions(set)
	if err != nil {
		return 0, fmt.Errorf("what %s may be: %w", s.Service, err)
	}
	ends := maps.Clone(set) // all amounts at their ends
	for _, of := range provisions {
		if ends[of.Name] = digits(of.Least); largest {
			ends[of.Name] = digits(of.Most)
		}
	}
	sets := []map[string]string{set, ends}
	for _, of := range provisions {
		if slices.Contains(l.level.Inputs, of.Name) {
			sets = append(sets, changed(set, []string{of.Name}, []string{ends[of.Name]}))
		}
	}
	for _, name := range l.level.Inputs {
		for _, one := range sets {
			for _, word := range l.model.Choices(name) {
				sets = append(sets, changed(one, []string{name}, []string{word}))
			}
		}
	}
	out := s.Limit
	for _, one := range sets {
		of, err := l.model.Levels(one)
		if err != nil {
			continue // a combination that there is not
		}
		for _, level := range of.Limits {
			if rate := level.Rate.Level(); level.Name() == s.Quality && (rate > out) == largest {
				out = rate
			}
		}
	}
	return out, nil
}

// lower are the limits of which less is enough when the throughput has grown: one for
// each input of a service, of the limit that needs most of it. Short data do not
// show it.
func (r *Result) lower(a Advice, grown float64) (out []Change) {
	needs := make(map[string]Change) // by service and inputs
	kept := make(map[string]bool)
	var keys []string
	for i, u := range a.Uses {
		s := r.serviceOf(u)
		key := strings.Join([]string{u.Node, u.Service, s.Model, strings.Join(s.line.level.Inputs, ",")}, "\x00")
		k := slices.IndexFunc(a.Lower, func(c Change) bool { return c.Use == i })
		if k < 0 || len(s.line.level.Inputs) == 0 || s.line.choices() != nil || s.Observed < leastObserved ||
			s.atLimit() > 0 || a.Lower[k].Factor*grown >= mostLowered {
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
// leastObserved is the time in s that data must have for it.
const mostLowered, leastObserved = .8, 3600

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
	also := ""
	if n := r.others(a); n > 0 {
		also = ", and " + num.Count(n, "other service") + " alike"
	}
	switch {
	case a.Other && (a.To == nil || *a.To <= a.From*(1+same)):
		return "the model has no higher level: more takes another size or kind of service"
	case a.Other:
		return fmt.Sprintf("raise it to %s%s, the most that the model has; more takes another size or kind of service",
			rateText(a.Quality, *a.To), also)
	case a.To == nil:
		return "raise it" + also + ": no other limit is known"
	}
	return fmt.Sprintf("raise it to %s%s; more is of no use, for then %s", rateText(a.Quality, *a.To), also, binds(a))
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
