package scaleout

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/scalability"
	"github.com/scalebench/scalebench/internal/stats"
)

// Result is how far an application scales. Its JSON form is a contract.
type Result struct {
	Kind       scalability.Kind `json:"kind"`
	Parameters Parameters       `json:"parameters"`
	// Plateau is the most that any number of nodes does, in Unit; Knee the size at which
	// growth in proportion would reach it; Peak the size past which throughput falls. Null:
	// there is none. An end of an interval that is null has no bound.
	Plateau   *float64 `json:"plateau"`
	PlateauCI *Ends    `json:"plateau_ci"`
	// PlateauFitted is the plateau by the curve alone, whatever capacities were measured.
	PlateauFitted   *float64 `json:"plateau_fitted"`
	PlateauFittedCI *Ends    `json:"plateau_fitted_ci"`
	Knee            *float64 `json:"knee"`
	KneeCI          *Ends    `json:"knee_ci"`
	Peak            *float64 `json:"peak"`
	PeakCI          *Ends    `json:"peak_ci"`
	Unit            string   `json:"unit,omitempty"`
	// Bottleneck ends growth: a shared resource by its name, or another of the
	// constants. Stages, Uses and Processors are the evidence.
	Bottleneck Bottleneck  `json:"bottleneck"`
	Stages     []Stage     `json:"stages,omitempty"`
	Uses       []Use       `json:"uses,omitempty"`
	Processors *Processors `json:"processors,omitempty"`
	// Demands are what a job takes, and Distributions how long its parts take, in the
	// smallest and the largest fleet.
	Demands       []Demand       `json:"demands,omitempty"`
	Distributions []Distribution `json:"distributions,omitempty"`
	// Predicted is what was predicted before; null: nothing, as of tables.
	Predicted *Predicted  `json:"predicted"`
	Sizes     []Size      `json:"sizes"`
	Curves    []Curve     `json:"curves"`
	Target    *Target     `json:"target,omitempty"`
	Currency  string      `json:"currency,omitempty"`
	Answer    caveat.Text `json:"answer"`
	caveat.Notes

	title, metric string
	scale         num.Scale // in which throughputs are shown
	curves        *scalability.Curves
	points        []point
	planned       map[cell]bool // steps of fleets, also those that failed
	run           *observe.Run
}

// Parameters are those of a curve; null: the kind has none.
type Parameters struct {
	Gamma  *float64 `json:"gamma"` // throughput of one node
	Alpha  *float64 `json:"alpha"` // contention
	Beta   *float64 `json:"beta"`  // coherency
	Cap    *float64 `json:"cap"`
	Errors *Errors  `json:"standard_errors,omitempty"`
}

// Errors are standard errors; null: of a parameter that is fixed.
type Errors struct {
	Gamma *float64 `json:"gamma"`
	Alpha *float64 `json:"alpha"`
	Beta  *float64 `json:"beta"`
	Cap   *float64 `json:"cap"`
}

// Curve is a fitted curve.
type Curve struct {
	Kind       scalability.Kind `json:"kind"`
	Parameters Parameters       `json:"parameters"`
	SSE        float64          `json:"sse"`
	AICc       *float64         `json:"aicc"`
	// Plausible: the data do not rule it out.
	Plausible bool `json:"plausible"`
	// Plateau and Peak are those of this curve.
	Plateau *float64 `json:"plateau"`
	Peak    *float64 `json:"peak"`
}

// Ends are those of an interval; null: it has no bound there.
type Ends [2]*float64

// Overlaps reports whether the interval has a value from lo to hi.
func (e Ends) Overlaps(lo, hi float64) bool {
	return (e[0] == nil || *e[0] <= hi) && (e[1] == nil || lo <= *e[1])
}

func endsOf(e scalability.Estimate) *Ends { return &Ends{num.IfFinite(e.Lo), num.IfFinite(e.Hi)} }

// Predicted is a prediction that steps stored, beside when the first of them began.
type Predicted struct {
	Prediction
	// FirstLarger is when the first larger fleet began.
	FirstLarger *time.Time `json:"first_larger"`
}

// Size is what fleets of one size came to.
type Size struct {
	Nodes  int             `json:"nodes"`
	Trials int             `json:"trials"`
	Rate   float64         `json:"rate"`
	CI     *stats.Interval `json:"ci"` // Student's over trials; null: fewer than two, or no scatter
	// Lower to Upper was predicted; Inside: the mean lies there; null: nothing was predicted.
	Lower  *float64 `json:"lower"`
	Upper  *float64 `json:"upper"`
	Inside *bool    `json:"inside"`
	// Bound is min(N·r, C/d), and BoundError by what share the mean differs from it.
	Bound      *float64 `json:"bound"`
	BoundError *float64 `json:"bound_error"`
	// JobCost is what a job costs, in Currency; null: there is no price.
	JobCost *float64 `json:"job_cost"`
}

// analyse adds what the points say.
func (p *Params) analyse(r *Result, run *observe.Run, points []point) error {
	r.points, r.run = points, run
	r.measure()
	r.fit()
	capacity, err := p.amounts("capacity", p.Capacity)
	if err != nil {
		return err
	}
	r.bind(capacity)
	if run != nil {
		r.doubt(p, capacity)
	}
	each := p.each(r)
	r.price(each)
	if err := p.aim(r, each); err != nil {
		return err
	}
	if run != nil && run.Err() != nil {
		return run.Err()
	}
	r.Answer = caveat.Sentence(r.sentence())
	return nil
}

// fleets are the points that count: those of blocks, or all of a table.
func (r *Result) fleets() []point {
	return slices.DeleteFunc(slices.Clone(r.points), func(x point) bool { return x.single })
}

// pointsOf are the points of a size.
func (r *Result) pointsOf(nodes int) (out []point) {
	for _, x := range r.fleets() {
		if x.nodes == nodes {
			out = append(out, x)
		}
	}
	return out
}

// measure adds the sizes.
func (r *Result) measure() {
	rates := make(map[int][]float64)
	for _, x := range r.fleets() {
		rates[x.nodes] = append(rates[x.nodes], x.rate)
	}
	r.Sizes = []Size{}
	var means []float64
	for _, nodes := range slices.Sorted(maps.Keys(rates)) {
		s := Size{Nodes: nodes, Trials: len(rates[nodes])}
		s.Rate, s.CI = stats.MeanWithin(rates[nodes], stats.DefaultLevel)
		if r.Predicted != nil {
			if b, ok := r.Predicted.bandOf(s.Nodes); ok {
				inside, apart := b.Lower <= s.Rate && s.Rate <= b.Upper, s.Rate/b.Bound-1
				s.Lower, s.Upper, s.Bound, s.Inside, s.BoundError = &b.Lower, &b.Upper, &b.Bound, &inside, num.IfFinite(apart)
			}
		}
		r.Sizes, means = append(r.Sizes, s), append(means, s.Rate)
	}
	r.scale = num.For(r.Unit, means...)
}

// smallest and largest are those measured; there is at least one.
func (r *Result) smallest() Size { return r.Sizes[0] }
func (r *Result) largest() Size  { return r.Sizes[len(r.Sizes)-1] }

// fit adds the curves, plateau, knee and peak.
func (r *Result) fit() {
	r.Kind, r.Curves = scalability.Unclear, []Curve{}
	var n, x []float64
	for _, p := range r.fleets() {
		n, x = append(n, float64(p.nodes)), append(x, p.rate)
	}
	if r.copied() {
		n, x = nil, nil
		for _, s := range r.Sizes {
			n, x = append(n, float64(s.Nodes)), append(x, s.Rate)
		}
		r.Doubts.Add(copies.Warn(struct{}{}))
	}
	c, err := scalability.Fit(n, x)
	if err != nil {
		r.Doubts.Add(noCurve.Warn(caveat.Because("", err.Error())))
		return
	}
	r.curves, r.Kind = &c, c.Kind
	r.Parameters = parametersOf(c.Curve(c.Kind))
	for _, k := range scalability.Kinds() {
		one := c.Curve(k)
		r.Curves = append(r.Curves, Curve{k, parametersOf(one), one.SSE, num.IfFinite(one.AICc),
			slices.Contains(c.Plausible, k), num.IfFinite(one.Plateau()), num.IfFinite(one.Peak())})
	}
	set := func(value **float64, ci **Ends, e scalability.Estimate) {
		*value, *ci = num.IfFinite(e.Value), endsOf(e)
	}
	fitted := c.Plateau()
	r.PlateauFitted, r.PlateauFittedCI = num.IfFinite(fitted.Value), endsOf(fitted)
	plateau, knee := r.clipped(fitted, c.Knee(), c.Curve(c.Kind).Gamma)
	set(&r.Plateau, &r.PlateauCI, plateau)
	set(&r.Knee, &r.KneeCI, knee)
	set(&r.Peak, &r.PeakCI, c.Peak())
	if r.Peak == nil {
		r.PeakCI = nil
	}
}

// copied reports whether sizes have several trials, and none differs from another of its size.
func (r *Result) copied() bool {
	repeated := 0
	for _, s := range r.Sizes {
		all := r.pointsOf(s.Nodes)
		for _, x := range all[1:] {
			if x.rate != all[0].rate {
				return false
			}
		}
		if len(all) > 1 {
			repeated++
		}
	}
	return repeated > 1
}

// clipped keeps plateau and knee to what the shared resources were measured to carry: a curve
// that still grows at the largest size does not know them. gamma is the throughput of one node.
func (r *Result) clipped(plateau, knee scalability.Estimate, gamma float64) (_, _ scalability.Estimate) {
	if r.Predicted == nil || math.IsInf(plateau.Value, 1) {
		return plateau, knee
	}
	value, most := r.Predicted.saturation()
	largest := slices.MaxFunc(r.Sizes, func(a, b Size) int { return cmp.Compare(a.Rate, b.Rate) }).Rate
	if most < largest || plateau.Value <= most && !math.IsInf(plateau.Hi, 1) { // it is more, or says no more
		return plateau, knee
	}
	plateau.Hi = most
	plateau.Value = min(plateau.Value, max(value, largest))
	plateau.Lo = min(plateau.Lo, plateau.Value)
	knee.Value = min(knee.Value, plateau.Value/gamma)
	knee.Lo = min(knee.Lo, knee.Value)
	knee.Hi = min(knee.Hi, max(most/gamma, knee.Value))
	return plateau, knee
}

func parametersOf(c scalability.Curve) Parameters {
	p := Parameters{Gamma: &c.Gamma, Errors: &Errors{num.IfFinite(c.Errors.Gamma), num.IfFinite(c.Errors.Alpha),
		num.IfFinite(c.Errors.Beta), num.IfFinite(c.Errors.Cap)}}
	switch c.Kind {
	case scalability.Capped:
		p.Cap = num.IfFinite(c.Cap)
	case scalability.Amdahl:
		p.Alpha = &c.Alpha
	case scalability.USL:
		p.Alpha, p.Beta = &c.Alpha, &c.Beta
	}
	return p
}

// enough is the smallest size measured that does as much as the largest, but for a share
// that is of no interest.
func (r *Result) enough() Size {
	for _, s := range r.Sizes {
		if s.Rate >= sameShare*r.largest().Rate {
			return s
		}
	}
	return r.largest()
}

// sameShare is from which share of a throughput on another one does as well, and declined
// below which one does less.
const sameShare, declined = .95, .8

// efficiency is what a node of the largest fleet does, as a share of what one of the
// smallest does; NaN: one size was measured.
func (r *Result) efficiency() float64 {
	small, large := r.smallest(), r.largest()
	if small.Nodes == large.Nodes || !(small.Rate > 0) {
		return math.NaN()
	}
	return large.Rate / float64(large.Nodes) / (small.Rate / float64(small.Nodes))
}
