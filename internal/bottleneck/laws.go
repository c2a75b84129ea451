package bottleneck

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
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
	// Delay is the part of the response time at the first load that no demand
	// explains, in seconds: networks, locks, what was not measured.
	Delay float64 `json:"delay"`
	// Points compare each load with the laws; the model is null where it was not
	// solved.
	Points []Point `json:"points"`
	// Says where the model does not fit, or that it does.
	Says string `json:"says"`
}

// Demand is how much of a resource an operation takes: seconds of a core, or bytes
// of a link.
type Demand struct {
	Resource
	Unit string `json:"unit"`
	// Idle is what is used a second without operations (a runtime, what is asked
	// of the service): the intercept of the line from which Below is the slope; 0:
	// there is none that is told from nothing.
	Idle float64 `json:"idle,omitempty"`
	// Below is the slope of what is used over the throughput, of the trials below the
	// knee, or D = U/X where these are too few or too much alike for a line; Beyond
	// is U/X of those beyond it. Both with Student's interval over trials; null: not
	// known.
	Below    Optional        `json:"below"`
	BelowCI  *stats.Interval `json:"below_ci"`
	Beyond   Optional        `json:"beyond"`
	BeyondCI *stats.Interval `json:"beyond_ci"`
	// Capacity is how much of it there is a second: cores, bytes.
	Capacity float64 `json:"capacity"`
	Hosts    int     `json:"hosts"`

	allows *stats.Interval // of the line, where there is one
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
	Users      int      `json:"users"`
	Throughput float64  `json:"throughput"`
	Lo         float64  `json:"bound_lo"` // asymptotic bounds
	Hi         float64  `json:"bound_hi"`
	Model      Optional `json:"model"`
	// Off is measured ÷ model − 1.
	Off Optional `json:"off"`
}

// laws computes demands from loads that count, and solves the model with them.
func (s System) laws(loads []Load, knee *Knee) *Laws {
	below, beyond := loads, []Load(nil)
	if knee != nil {
		i := slices.IndexFunc(loads, func(l Load) bool { return float64(l.Users) > knee.Users })
		if i >= 0 {
			below, beyond = loads[:i], loads[i:]
		}
	}
	out := &Laws{Demands: []Demand{}, Points: []Point{}}
	for _, u := range loads[0].Usage {
		if u.Kind.Soft() || u.Node != "" {
			continue
		}
		if d, ok := demandOf(u.Resource, loads[0], below, beyond); ok {
			out.Demands = append(out.Demands, d)
		}
	}
	out.limit()
	if len(out.Demands) > 0 {
		out.solve(loads)
	}
	return out
}

// demandOf is the demand of an operation on a resource; ok is false where it is not
// known.
func demandOf(r Resource, first Load, below, beyond []Load) (Demand, bool) {
	d := Demand{Resource: r, Unit: "s"}
	if r.Kind.Link() {
		d.Unit = "byte"
	}
	d.Capacity, d.Hosts = first.seconds[0][r].capacity, first.seconds[0][r].hosts
	rates, used := usedIn(r, below)
	if d.slope(rates, used); d.Below == nil {
		d.Below, d.BelowCI = demandIn(rates, used)
	}
	d.Beyond, d.BeyondCI = demandIn(usedIn(r, beyond))
	return d, (d.Below != nil || d.Beyond != nil) && d.Capacity > 0 && d.Limit() > 0 && !math.IsInf(d.Limit(), 0)
}

// usedIn are the throughput of each trial, and what was used a second of a resource
// meanwhile.
func usedIn(r Resource, loads []Load) (rates, used []float64) {
	for _, l := range loads {
		for i, t := range l.trials {
			amount := l.seconds[i][r].amount
			if v := queueing.Demand(amount, t.Throughput); v > 0 && !math.IsInf(v, 0) {
				rates, used = append(rates, t.Throughput), append(used, amount)
			}
		}
	}
	return rates, used
}

// demandIn is D = U/X of each trial, averaged.
func demandIn(rates, used []float64) (Optional, *stats.Interval) {
	if len(rates) == 0 {
		return nil, nil
	}
	values := make([]float64, len(rates))
	for i, x := range rates {
		values[i] = queueing.Demand(used[i], x)
	}
	mean, ci, err := stats.MeanInterval(values, level)
	if err != nil {
		return some(meanOf(values)), nil
	}
	return some(mean), &ci
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
// 1995). There is none where the intercept is not told from 0. What the resource
// allows is where the line meets the capacity.
func (d *Demand) slope(rates, used []float64) {
	if len(rates) < leastTrials || slices.Max(rates) < leastSpan*slices.Min(rates) {
		return
	}
	line, err := stats.FitLine(rates, used, level)
	if err != nil || line.InterceptCI.Lo <= 0 || line.SlopeCI.Lo <= 0 {
		return
	}
	d.Idle, d.Below, d.BelowCI = line.Intercept, some(line.Slope), &line.SlopeCI
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

// limit finds the resource that allows least.
func (l *Laws) limit() {
	if len(l.Demands) == 0 {
		return
	}
	d := slices.MinFunc(l.Demands, func(a, b Demand) int { return cmp.Compare(a.Limit(), b.Limit()) })
	limit := d.Limit()
	l.Limit, l.LimitCI, l.By = &limit, d.LimitCI(), d.Resource
}

// network is the closed network with these demands: each host of a tier is a
// station of its own, for requests are dealt out before they wait. A processor of
// several cores serves so many at once; parts of a core serve one, more slowly. What
// no demand explains of the response time at the first load is a delay.
func (l *Laws) network(loads []Load) queueing.Closed {
	var c queueing.Closed
	for _, d := range l.Demands {
		each := (d.Capacity - d.Idle) / float64(d.Hosts)
		value, _ := d.best()
		servers := 1
		if d.Kind == CPU { // what is used without operations makes servers slower, not fewer
			servers = max(1, int(d.Capacity/float64(d.Hosts)))
		}
		for range d.Hosts {
			c.Stations = append(c.Stations, queueing.Station{Demand: value / float64(d.Hosts) * float64(servers) / each, Servers: servers})
		}
	}
	c.Think = *loads[0].Think
	if x, err := c.Solve(loads[0].Users); err == nil {
		l.Delay = max(0, *loads[0].Response-queueing.Response(float64(loads[0].Users), x[len(x)-1], c.Think))
	}
	c.Think += l.Delay
	return c
}

// solve compares each load with bounds and model.
func (l *Laws) solve(loads []Load) {
	if loads[0].Think == nil || loads[0].Response == nil {
		l.Says = "without think times or response times the model was not solved"
		return
	}
	c := l.network(loads)
	model, err := c.Solve(loads[len(loads)-1].Users)
	if err != nil {
		l.Says = "the model was not solved: " + err.Error()
		return
	}
	for _, x := range loads {
		b := c.Asymptotic(float64(x.Users))
		if closer, ok := c.Balanced(float64(x.Users)); ok {
			b = closer
		}
		predicted := model[x.Users-1]
		l.Points = append(l.Points, Point{Users: x.Users, Throughput: x.Throughput, Lo: b.Lo, Hi: b.Hi, Model: some(predicted), Off: some(x.Throughput/predicted - 1)})
	}
	l.Says = l.fit()
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
