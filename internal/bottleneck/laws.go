package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/internal/stats"
)

// Laws are what the operational laws and the exact model of the network say beside
// the measurement.
type Laws struct {
	Demands []Demand `json:"demands"`
	// Limit is min over resources of what there is ÷ demand below the knee, with the
	// resource that has it; null: no demand is known.
	Limit   *float64        `json:"limit"`
	LimitCI *stats.Interval `json:"limit_ci"`
	By      Resource        `json:"limit_by"`
	// UsersAtKnee is N*, where what so many users can ask for without waiting meets the
	// limit: with more something must wait; null: not known.
	UsersAtKnee *float64 `json:"users_at_knee"`
	// Delay is the part of the response time at the first load that no demand
	// explains, in seconds: networks, locks, what was not measured. Below 0 requests
	// ran faster than their limits allow on average: a quota and a shaper let a single
	// one pass at full speed until what they allow for a period is used.
	Delay float64 `json:"delay"`
	// Points compare each load with the laws; the model is null where it was not
	// solved.
	Points []Point `json:"points"`
	// ExceededFrom is the number of users from which on the bound is none, for more was
	// measured; 0: it never was.
	ExceededFrom int `json:"exceeded_from,omitempty"`
	// Says where the model does not fit, or that it does.
	Says string `json:"says"`
}

// Units of demands: seconds of a core, bytes of a link, or, where only shares were
// measured, seconds of all that the tier has.
const (
	unitSeconds = "s"
	unitBytes   = "byte"
	UnitShare   = "share of the tier · s"
)

// Demand is how much of a resource an operation takes.
type Demand struct {
	Resource
	Unit string `json:"unit"`
	// Idle is what is used a second without operations (a runtime, what is asked
	// of the service): the intercept of the line from which Below is the slope; 0:
	// there is none that differs from 0 by more than chance.
	Idle float64 `json:"idle,omitempty"`
	// Below is the slope of what is used over the throughput, of the trials below the
	// knee, or D = U/X where these are too few or too much alike for a line; Beyond
	// is U/X of those beyond it. Both with Student's interval over trials; null: not
	// known.
	Below    *float64        `json:"below"`
	BelowCI  *stats.Interval `json:"below_ci"`
	Beyond   *float64        `json:"beyond"`
	BeyondCI *stats.Interval `json:"beyond_ci"`
	// Capacity is how much of it there is a second: cores, bytes; of shares 1.
	Capacity float64 `json:"capacity"`
	Hosts    int     `json:"hosts"`

	allows *stats.Interval // of the line, where there is one
	nodes  []model.NodeID
}

// best is the demand below the knee, or else beyond it.
func (d Demand) best() (value float64, ci *stats.Interval) {
	if d.Below != nil {
		return *d.Below, d.BelowCI
	}
	return *d.Beyond, d.BeyondCI
}

// Limit is the most throughput that the resource allows.
func (d Demand) Limit() float64 {
	v, _ := d.best()
	return (d.Capacity - d.Idle) / v
}

// Point is one load beside the laws.
type Point struct {
	Users      int     `json:"users"`
	Throughput float64 `json:"throughput"`
	// Lo is the balanced-job bound, or the asymptotic one, with limits as slower
	// servers. Hi is the limit, or what so many users ask for if nothing waits, at
	// full speed.
	Lo    float64  `json:"bound_lo"`
	Hi    float64  `json:"bound_hi"`
	Model *float64 `json:"model"`
	// Off is measured ÷ model − 1.
	Off *float64 `json:"off"`
}

// laws computes demands from the loads that count, and solves the model with them.
func (a *analysis) laws() {
	below, beyond := a.counted, []Load(nil)
	if i := slices.IndexFunc(below, func(l Load) bool {
		return a.Knee != nil && float64(l.Users) > a.Knee.Users
	}); i >= 0 {
		below, beyond = below[:i], below[i:]
	}
	l := &Laws{Points: []Point{}}
	a.Laws = l
	l.demands(below, beyond, &a.doubts)
	if len(l.Demands) > 0 {
		least := slices.MinFunc(l.Demands, func(a, b Demand) int { return cmp.Compare(a.Limit(), b.Limit()) })
		limit := least.Limit()
		l.Limit, l.LimitCI, l.By = &limit, least.LimitCI(), least.Resource
		l.solve(a.counted)
		a.exceeded()
	}
}

// exceeded finds where the upper bound is none: more was measured, by more than chance.
// An operation took less there than at the loads that the demand comes from.
func (a *analysis) exceeded() {
	for i, p := range a.Laws.Points {
		l := a.counted[i]
		least, most := p.Throughput/(1+lawTolerance), p.Hi // of one trial nothing is known
		if l.CI != nil {
			least = l.CI.Lo
		}
		if ci := a.Laws.LimitCI; ci != nil {
			most *= ci.Hi / *a.Laws.Limit
		}
		if least > most {
			a.Laws.ExceededFrom = p.Users
			a.doubts.Warn("bound_exceeded", "with %s %s were measured, and the upper bound by the demands at low load is %s: "+
				"an operation took less there, so that from there on limit and bound are none",
				l, num.For("op/s", p.Throughput).Value(p.Throughput, 0), num.For("op/s", p.Hi).Value(p.Hi, 0))
			return
		}
	}
}

// demands are those of all hardware of tiers that any trial tells of, and of hosts that
// were full alone, with doubts about what not all trials tell.
func (l *Laws) demands(below, beyond []Load, doubts *model.Doubts) {
	l.Demands = []Demand{}
	var trials []map[Resource]seconds
	var full []Resource
	for _, x := range slices.Concat(below, beyond) {
		trials, full = append(trials, x.seconds...), append(full, always(x)...)
	}
	for _, r := range resourcesIn(trials) {
		if r.Kind.Soft() || r.Node != "" && !slices.Contains(full, r) {
			continue
		}
		d, known, ok := demandOf(r, below, beyond)
		if ok {
			l.Demands = append(l.Demands, d)
		}
		switch used := slices.ContainsFunc(trials, func(t map[Resource]seconds) bool { return t[r].amount > 0 }); {
		case !ok && used:
			doubts.Warn("demand_unknown", "how much of the %s an operation takes cannot be told: what the laws allow may be too much", r)
		case ok && known < len(trials):
			doubts.Warn("demand_incomplete", "the %s was measured on all hosts in %d of %s only: what an operation takes of it is told from those", r, known, num.Count(len(trials), "trial"))
		}
	}
}

// demandOf is the demand of an operation on a resource, by so many trials that know it
// of all its hosts; ok is false where it is not known.
func demandOf(r Resource, below, beyond []Load) (d Demand, known int, ok bool) {
	d = Demand{Resource: r, Unit: unitSeconds}
	if r.Kind.Link() {
		d.Unit = unitBytes
	}
	loads := slices.Concat(below, beyond)
	d.Hosts = hostsOf(r, loads)
	var capacities []float64
	for _, l := range loads {
		for i, t := range l.trials {
			if x, ok := l.seconds[i][r]; ok && x.hosts == d.Hosts {
				capacities, d.nodes = append(capacities, x.capacity), x.nodes
				if t.Shares != nil {
					d.Unit = UnitShare
				}
			}
		}
	}
	d.Capacity = meanOf(capacities)
	if d.slope(usedIn(r, below, d.Hosts)); d.Below == nil {
		d.Below, d.BelowCI = demandIn(r, below, d.Hosts)
	}
	d.Beyond, d.BeyondCI = demandIn(r, beyond, d.Hosts)
	if d.Unit == UnitShare {
		d.Hosts = max(1, loads[0].trials[0].Shares[r.Tier])
	}
	ok = (d.Below != nil || d.Beyond != nil) && d.Capacity > 0 && d.Limit() > 0 && !math.IsInf(d.Limit(), 0)
	return d, len(capacities), ok
}

// hostsOf is on how many hosts a resource was measured, where on most.
func hostsOf(r Resource, loads []Load) (most int) {
	for _, l := range loads {
		for _, x := range l.seconds {
			most = max(most, x[r].hosts)
		}
	}
	return most
}

// usedIn are the throughput of each trial, and what was used a second of a resource
// meanwhile, where that is known of so many hosts: fewer are a part of it.
func usedIn(r Resource, loads []Load, hosts int) (rates, used []float64) {
	for _, l := range loads {
		for i, t := range l.trials {
			of := l.seconds[i][r]
			if v := queueing.Demand(of.amount, t.Throughput); v >= 0 && !math.IsInf(v, 0) && of.hosts == hosts {
				rates, used = append(rates, t.Throughput), append(used, of.amount)
			}
		}
	}
	return rates, used
}

// perOperation is D = U/X of each trial: how much of a resource an operation takes, or of
// a soft one for how long it holds one.
func perOperation(r Resource, loads []Load, hosts int) []float64 {
	rates, used := usedIn(r, loads, hosts)
	for i, x := range rates {
		used[i] = queueing.Demand(used[i], x)
	}
	return used
}

// demandIn is that on average, with its interval over trials; null: not known.
func demandIn(r Resource, loads []Load, hosts int) (*float64, *stats.Interval) {
	mean, ci := stats.MeanWithin(perOperation(r, loads, hosts), level)
	return num.IfFinite(mean), ci
}

// What a line takes to tell demand from what is used without operations: so many
// trials, and rates that differ by so much.
const (
	leastTrials = 4
	leastSpan   = 1.5
)

// slope is the demand where a part of what is used does not depend on operations:
// U = idle + D·X (utilisation law regression; J. Rolia and V. Vetland, "Parameter
// estimation for performance models of distributed application systems", CASCON
// 1995). There is none where the intercept may be 0. What the resource
// allows is where the line meets the capacity.
func (d *Demand) slope(rates, used []float64) {
	if len(rates) < leastTrials || slices.Max(rates) < leastSpan*slices.Min(rates) {
		return
	}
	line, err := stats.FitLine(rates, used, level)
	if err != nil || line.InterceptCI.Lo <= 0 || line.SlopeCI.Lo <= 0 {
		return
	}
	d.Idle, d.Below, d.BelowCI = line.Intercept, num.IfFinite(line.Slope), &line.SlopeCI
	if _, ci, err := line.Reaches(d.Capacity); err == nil {
		d.allows = &ci
	}
}

// LimitCI is the interval of Limit; nil: it is not known. Of a line it is Fieller's:
// where the idle part is taken too high, the slope is taken too low.
func (d Demand) LimitCI() *stats.Interval {
	if d.Idle > 0 {
		return d.allows
	}
	_, ci := d.best()
	if ci == nil || ci.Lo <= 0 {
		return nil
	}
	return &stats.Interval{Lo: d.Capacity / ci.Hi, Hi: d.Capacity / ci.Lo}
}

// modelFits is how far the model may be off to be said to fit.
const modelFits = .05

// fit says in a sentence where the model fits.
func (l *Laws) fit() string {
	worst := slices.MaxFunc(l.Points, func(a, b Point) int { return cmp.Compare(math.Abs(*a.Off), math.Abs(*b.Off)) })
	off := *worst.Off
	switch last := l.Points[len(l.Points)-1]; {
	case math.Abs(off) <= modelFits:
		return fmt.Sprintf("the model of queues fits all loads within %s", num.Fraction(math.Abs(off)))
	case off < 0 && *last.Off < -modelFits:
		return fmt.Sprintf("the model of queues does not fit: with %s the throughput is %s below it, for it knows no demands that grow with the load (more switching, locks, retries)", num.Count(worst.Users, "user"), num.Fraction(-off))
	}
	return fmt.Sprintf("the model of queues does not fit with %s, where it is off by %s", num.Count(worst.Users, "user"), num.Signed(off))
}
