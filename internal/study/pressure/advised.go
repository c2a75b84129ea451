package pressure

import (
	"maps"
	"math"
	"slices"
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
	Action Action `json:"action"`
	LimitOf
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

// advise fills Advice: what to raise if a limit is saturated, how much more fits
// otherwise, and of what less is enough. It names levels that the models have.
func (r *Result) advise() {
	first := bottlenecks(r.used)
	if len(first) == 0 {
		return
	}
	offers, grown := r.offers(), 1.0
	if first[0].clipped() || slices.ContainsFunc(first, func(u Use) bool { return u.of.atLimit() >= often }) {
		grown = r.raise(first, offers)
	} else {
		growth := first[0].growth()
		for _, u := range first {
			x := u.advised(ActionHeadroom)
			x.Growth = &growth
			r.Advice = append(r.Advice, x)
		}
	}
	for _, o := range offers {
		r.lower(o, grown)
	}
	for i := range r.Advice {
		if x := &r.Advice[i]; x.Action == ActionRaise || x.Action == ActionLower {
			x.Inputs = x.offer.changes()
		}
	}
}

// advised is an advice about the limit of a use.
func (u Use) advised(action Action) Advised {
	return Advised{Action: action, LimitOf: u.LimitOf, From: u.Rate, offer: u.of.offer}
}

// raise advises raises of the first limits, up to where others bind, or where one of them has no higher
// level. Inputs for a raise may give more of the others, too: then it is of use for longer. grown is the
// throughput then, as a multiple of the present one.
func (r *Result) raise(first []Use, offers []*offer) (grown float64) {
	others := r.used[len(first):]
	growth, next := after(others)
	var all []Advised
	for range mostRounds {
		all, grown = raiseTo(first, offers, growth, next)
		more, then := after(others)
		if grown < growth.Value*(1-same) {
			break
		}
		for k := range all {
			if all[k].Next != nil {
				all[k].Next = then
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

// after is how far the throughput can grow until one of these limits binds, with the inputs that are chosen, and
// which bind then.
func after(limits []Use) (growth Range, next []LimitOf) {
	growth = Range{math.Inf(1), math.Inf(1), math.Inf(1)}
	var all []Range
	for _, u := range limits {
		if !(u.Pressure > 0) { // the rest is not used either
			break
		}
		o, level := u.of.offer, u.Rate
		if then := o.levels(o.set)[u.Quality]; then > o.levels(o.now)[u.Quality]*(1+same) {
			level = then
		}
		g := u.reach(level)
		if all = append(all, g); g.Value < growth.Value {
			growth = g
		}
	}
	for i, g := range all {
		if g.Value*alike <= growth.Value {
			next = append(next, limits[i].LimitOf)
		}
	}
	return growth, next
}

// raiseTo are the raises of the first limits for a growth, at which the next ones bind. reached is how far
// the models let it grow.
func raiseTo(first []Use, offers []*offer, growth Range, next []LimitOf) (all []Advised, reached float64) {
	all = make([]Advised, len(first))
	most := make([]float64, len(first))
	for k, u := range first {
		all[k] = u.advised(ActionRaise)
		all[k].AtLeast = !u.sustained
		most[k] = all[k].offer.most(u.Quality)
		if most[k] <= u.Rate*(1+same) {
			all[k].Action, all[k].Other = ActionOtherService, true
		} else if g := u.reach(most[k]); next != nil && g.Value < growth.Value*(1-same) {
			growth, next = g, []LimitOf{u.LimitOf}
		}
	}
	for k, u := range first {
		x, to := &all[k], u.needed(growth.Value)
		switch {
		case next == nil:
			x.Most = &most[k]
			continue
		case slices.Contains(next, u.LimitOf):
			x.Other, to = true, most[k]
		case to <= x.From*(1+same): // another one has to be raised first
			x.Action, x.AtLeast, x.Next, x.Growth = ActionHeadroom, false, next, &growth
			continue
		default:
			x.Next, to = next, roundUp(to)
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
func (r *Result) lower(o *offer, grown float64) {
	enough, uses := make(map[string]float64), make(map[string]Use) // by the names of limits
	for _, u := range r.used {
		s, share := u.of, u.sufficient(r.Critical/100)
		if s.offer == o && !s.line.byWord() && s.Observed >= leastObserved && s.atLimit() == 0 &&
			share < 1-same && share*grown < mostLowered {
			enough[u.Quality], uses[u.Quality] = roundUp(share*u.Rate*grown), u
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
			x := uses[s.Quality].advised(ActionLower)
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
