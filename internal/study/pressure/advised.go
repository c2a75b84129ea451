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

// Raise: it holds the throughput back, and a raise up to To is of use. OtherService: so does it, and
// the model has no higher level. Headroom: it is the next to hold it back, when the throughput has
// grown by Growth. Lower: less is enough.
const (
	ActionRaise        Action = "raise"
	ActionOtherService Action = "other_service"
	ActionHeadroom     Action = "headroom"
	ActionLower        Action = "lower"
)

// Advised is what to do about a limit.
type Advised struct {
	Action  Action `json:"action"`
	Node    string `json:"node"`
	Service string `json:"service"`
	Quality string `json:"quality"`
	// From is the present level, To the advised one. Of another service, To is the level up to which
	// more is of use. null: no other limit is known, so that any raise is of use.
	From float64  `json:"from"`
	To   *float64 `json:"to"`
	// Inputs are those to change of the service, for all that is advised of it: its new inputs give To.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Growth is the largest throughput then, as a multiple of the present one. AtLeast:
	// the demand is clipped at the limit, so that the demand is at least what was seen.
	Growth  *Range `json:"growth,omitempty"`
	AtLeast bool   `json:"at_least,omitempty"`
	// Most is the largest level that the model has, where no other limit is known. Other:
	// more than To takes another size or kind of service, and would be of use.
	Most  *float64  `json:"most,omitempty"`
	Other bool      `json:"other_service,omitempty"`
	Next  []LimitOf `json:"next,omitempty"` // the limits that bind then

	offer *offer
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
	clipped := u.clipped()
	u.Peak = max(u.Peak, all.P99/l.level.Rate.Level())
	u.load, u.burst = loads.Mean(), l.level.Bucket.Burst
	if clipped {
		u.Rate = loads.Mean() / u.Pressure
	} else if lasting := all.Mean / l.level.Bucket.Fill; lasting > u.Pressure {
		u.Pressure, u.Mean, u.sustained = lasting, nil, true
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
func (r *Result) advise(a Advice) {
	if len(a.Steps) == 0 {
		return
	}
	offers, grown := r.offers(), 1.0
	if r.clipped(a) {
		grown = r.raise(a, offers)
	} else {
		for _, i := range a.Steps[0].Next {
			x := r.advised(ActionHeadroom, a.Uses[i], offers)
			x.Growth = &a.Steps[0].Growth
			r.Advice = append(r.Advice, x)
		}
	}
	for _, o := range offers {
		r.lower(a, o, offers, grown)
	}
	for i := range r.Advice {
		if x := &r.Advice[i]; x.Action == ActionRaise || x.Action == ActionLower {
			x.Inputs = x.offer.changes()
		}
	}
}

// advised is an advice about the limit of a use.
func (r *Result) advised(action Action, u Use, offers []*offer) Advised {
	s := r.serviceOf(u)
	k := slices.IndexFunc(offers, func(o *offer) bool { return slices.Contains(o.limits, s) })
	return Advised{Action: action, Node: u.Node, Service: u.Service, Quality: u.Limit, From: u.Rate, offer: offers[k]}
}

// limitsOf names the limits of uses.
func (a Advice) limitsOf(indices []int) (out []LimitOf) {
	for _, i := range indices {
		out = append(out, LimitOf{a.Uses[i].Node, a.Uses[i].Service, a.Uses[i].Limit})
	}
	return out
}

// raise advises raises of the first limits, up to where others bind, or where one of them has no higher
// level. Inputs for a raise may give more of the others, too: then it is of use for longer. grown is the
// throughput then, as a multiple of the present one.
func (r *Result) raise(a Advice, offers []*offer) (grown float64) {
	growth, next := r.after(a, offers)
	var all []Advised
	for range mostRounds {
		all, grown = r.raiseTo(a, offers, growth, next)
		more, then := r.after(a, offers)
		if grown < growth.Value*(1-same) {
			break
		}
		for k := range all {
			if all[k].Next != nil {
				all[k].Next = a.limitsOf(then)
			}
		}
		if !(more.Value > growth.Value*(1+same)) {
			break
		}
		growth, next = more, then
	}
	r.Advice = append(r.Advice, all...)
	if math.IsInf(grown, 1) {
		return 1
	}
	return grown
}

// mostRounds is more than the models that come with the program take.
const mostRounds = 1000

// after is how far the throughput can grow until limits bind that are not the first, with the inputs that
// are chosen.
func (r *Result) after(a Advice, offers []*offer) (growth Range, next []int) {
	growth = Range{math.Inf(1), math.Inf(1), math.Inf(1)}
	all := make(map[int]Range)
	for i, u := range a.Uses {
		if slices.Contains(a.Steps[0].Next, i) || !(u.Pressure > 0) {
			continue
		}
		o, level := r.advised("", u, offers).offer, u.Rate
		if then := o.levels(o.set)[u.Limit]; then > o.levels(o.now)[u.Limit]*(1+same) {
			level = then
		}
		if all[i] = u.reach(level); all[i].Value < growth.Value {
			growth = all[i]
		}
	}
	for i := range a.Uses {
		if g, ok := all[i]; ok && g.Value*alike <= growth.Value {
			next = append(next, i)
		}
	}
	return growth, next
}

// raiseTo are the raises of the first limits for a growth, at which the next ones bind. reached is how far
// the models let it grow.
func (r *Result) raiseTo(a Advice, offers []*offer, growth Range, next []int) (all []Advised, reached float64) {
	first := a.Steps[0].Next
	all = make([]Advised, len(first))
	most := make([]float64, len(first))
	for k, i := range first {
		u := a.Uses[i]
		all[k] = r.advised(ActionRaise, u, offers)
		all[k].AtLeast = !u.sustained
		most[k] = all[k].offer.most(u.Limit)
		if most[k] <= u.Rate*(1+same) {
			all[k].Action, all[k].Other = ActionOtherService, true
		} else if g := u.reach(most[k]); next != nil && g.Value < growth.Value*(1-same) {
			growth, next = g, []int{i}
		}
	}
	for k, i := range first {
		x, to := &all[k], a.Uses[i].needed(growth.Value)
		switch {
		case next == nil:
			x.Most = &most[k]
			continue
		case slices.Contains(next, i):
			x.Other, to = true, most[k]
		case to <= x.From*(1+same): // another one has to be raised first
			x.Action, x.AtLeast, x.Next, x.Growth = ActionHeadroom, false, a.limitsOf(next), &growth
			continue
		default:
			x.Next, to = a.limitsOf(next), roundUp(to)
		}
		x.To, x.Growth = &to, &growth
	}
	for _, o := range offers {
		o.reach(all)
	}
	return all, growth.Value
}

// reach chooses the inputs for the raises of a service. They may give more: amounts are whole, and words
// have steps.
func (o *offer) reach(all []Advised) {
	needed, raises := o.levels(o.now), []*Advised(nil)
	for k := range all {
		if x := &all[k]; x.offer == o && x.Action == ActionRaise && x.To != nil {
			needed[x.Quality] = min(*x.To, o.most(x.Quality))
			raises = append(raises, x)
		}
	}
	c, ok := o.raise(needed, Prices{})
	for _, x := range raises {
		if ok {
			x.To = new(c.levels[x.Quality])
		} else { // not all of them
			x.Action, x.Other = ActionOtherService, true
		}
	}
	if ok && len(raises) > 0 {
		o.set = c.set
	}
}

// lower advises less of a service, where that is enough when the throughput has grown. The inputs still
// give all that its other limits need. Of limits with the same inputs, it names the one that needs most.
// Short data do not show it.
func (r *Result) lower(a Advice, o *offer, offers []*offer, grown float64) {
	enough, uses := make(map[string]float64), make(map[string]Use) // by the names of limits
	for _, c := range a.Lower {
		u := a.Uses[c.Use]
		s := r.serviceOf(u)
		if slices.Contains(o.limits, s) && !s.line.byWord() && s.Observed >= leastObserved && s.atLimit() == 0 &&
			c.Factor*grown < mostLowered {
			enough[u.Limit], uses[u.Limit] = roundUp(c.Rate*grown), u
		}
	}
	c, now := o.least(enough), o.levels(o.now)
	o.set = c.set
	share := func(s *Service) float64 { return enough[s.Quality] / c.levels[s.Quality] }
	for _, s := range o.limits {
		more := func(other *Service) bool { // needs more of the same
			return slices.Equal(other.line.level.Inputs, s.line.level.Inputs) && share(other) > share(s)
		}
		if to := c.levels[s.Quality]; share(s) > 0 && to < now[s.Quality] && !slices.ContainsFunc(o.limits, more) {
			x := r.advised(ActionLower, uses[s.Quality], offers)
			x.To = &to
			r.Advice = append(r.Advice, x)
		}
	}
}

// least chooses the least inputs for the levels that are enough. A limit that would hardly change stays as
// it is, and is no longer in enough.
func (o *offer) least(enough map[string]float64) choice {
	now := o.levels(o.now)
	for {
		needed, inputs := o.levels(o.set), []string(nil)
		maps.Copy(needed, enough)
		for _, s := range o.limits {
			if enough[s.Quality] > 0 {
				inputs = append(inputs, s.line.level.Inputs...)
			}
		}
		c, ok := o.lower(inputs, needed)
		before := len(enough)
		maps.DeleteFunc(enough, func(name string, rate float64) bool {
			return !ok || rate > 0 && c.levels[name] >= mostLowered*now[name]
		})
		if len(enough) == before {
			return c
		}
	}
}

// byWord reports whether a limit depends on a word, such as a type.
func (l *line) byWord() bool {
	return slices.ContainsFunc(l.level.Inputs, func(name string) bool { return l.model.Choices(name) != nil })
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
		return (a.Action == ActionRaise || a.Action == ActionOtherService) && a.Node == s.Node && a.Service == s.Service &&
			a.Quality == s.Quality
	})
	if i < 0 {
		return nil
	}
	return &r.Advice[i]
}

// also says which limits have to be raised, too.
func (r *Result) also(a *Advised) (text string) {
	alike, others := 0, 0
	for i := range r.Advice {
		x := &r.Advice[i]
		switch {
		case x == a || x.Action != ActionRaise && x.Action != ActionOtherService:
		case x.Action == a.Action && x.Quality == a.Quality && (x.To == nil || a.To != nil && *x.To == *a.To):
			alike++
		default:
			others++
		}
	}
	if alike > 0 {
		text = ", and " + num.Count(alike, "other service") + " alike"
	}
	if others > 0 {
		text += ", and " + num.Count(others, "other limit") + " as the table says"
	}
	return text
}

// sentence says what to raise.
func (r *Result) sentence(a *Advised) string {
	also, useless := r.also(a), ""
	if len(a.Next) > 0 {
		useless = "; more is of no use, for then " + a.binds()
	}
	switch {
	case a.Action == ActionOtherService && a.To != nil:
		return fmt.Sprintf("its model has no higher level%s. Another size or kind of service is of use up to %s%s", also,
			rateText(a.Quality, *a.To), useless)
	case a.Action == ActionOtherService:
		return "its model has no higher level" + also + ": more takes another size or kind of service"
	case a.To == nil:
		return "raise it" + also + ": no other limit is known"
	case a.Other:
		return fmt.Sprintf("raise it to %s%s, the most that the model has; more takes another size or kind of service",
			rateText(a.Quality, *a.To), also)
	}
	return "raise it to " + rateText(a.Quality, *a.To) + also + useless
}

// binds says which limits bind after a raise.
func (a *Advised) binds() string {
	n, text, verb := a.first(), a.next(), " bind"
	if n.Service != a.Service || n.Node != a.Node {
		text = "the " + text
	}
	if levels.Quality(n.Quality) == levels.CPU {
		verb = " binds"
	}
	return text + verb
}

// first is the limit that is named of those that bind then: one of the same service, or else the first.
func (a *Advised) first() LimitOf {
	own := slices.IndexFunc(a.Next, func(n LimitOf) bool { return n.Service == a.Service && n.Node == a.Node })
	return a.Next[max(0, own)]
}

// next is that limit for people, without its label; empty: none is known.
func (a *Advised) next() string {
	if len(a.Next) == 0 {
		return ""
	}
	n := a.first()
	parts := strings.Split(n.Quality, ".")
	if way := parts[len(parts)-1]; len(parts) > 1 && way != string(levels.Read) && way != string(levels.Write) {
		parts = parts[:len(parts)-1]
	}
	n.Quality = strings.Join(parts, ".")
	text := n.words()
	if n.Service != a.Service || n.Node != a.Node {
		text += " of " + cmp.Or(n.Service, n.Node, "the node")
	}
	if n.Service != "" && n.Node != a.Node {
		text += " of " + n.Node
	}
	return text
}
