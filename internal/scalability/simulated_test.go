package scalability

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// simulated is a curve that is known, with the sizes at which it is measured.
type simulated struct {
	truth Curve
	n     []float64
}

// someCurve draws sizes, trials and parameters. Curves bend within what is measured, or
// just past it.
func someCurve(rng *rand.Rand, k Kind) simulated {
	sizes, trials := 5+rng.IntN(5), 2+rng.IntN(3)
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rng.Float64()) }
	largest := math.Floor(between(float64(sizes), 16*float64(sizes)))
	d := simulated{truth: Curve{Kind: k, Gamma: between(1, 1e4), Cap: math.Inf(1)}}
	last := 0.0
	for i := range sizes {
		// Between even steps and even factors, as people choose them.
		part := float64(i) / float64(sizes-1)
		last = max(last+1, math.Round(math.Sqrt((1+(largest-1)*part)*math.Pow(largest, part))))
		d.n = append(d.n, slices.Repeat([]float64{last}, trials)...)
	}
	d.truth.largest = last
	switch k {
	case Capped:
		d.truth.Cap = d.truth.Gamma * between(2, last)
	case Amdahl:
		d.truth.Alpha = min(1, between(.05, 10)/(last-1))
	case USL:
		peak := between(max(2, last/4), 2*last)
		d.truth.Alpha = min(.9, between(.05, 5)/(peak-1))
		d.truth.Beta = (1 - d.truth.Alpha) / (peak * peak)
	}
	return d
}

// noise is how measurements scatter: about the truth by a part of it, or, where errors are equal
// at all sizes, by that part of the mean throughput.
type noise struct {
	part  float64
	equal bool
}

func (d simulated) sd(e noise, n float64) float64 {
	if !e.equal {
		return e.part * d.truth.formula(n)
	}
	mean := 0.0
	for _, n := range d.n {
		mean += d.truth.formula(n) / float64(len(d.n))
	}
	return e.part * mean
}

func (d simulated) measured(rng *rand.Rand, e noise) []float64 {
	x := make([]float64, len(d.n))
	for i, n := range d.n {
		x[i] = d.truth.formula(n) + d.sd(e, n)*rng.NormFloat64()
	}
	return x
}

// once measures each size once: that takes six of them.
func (d simulated) once() simulated {
	d.n = slices.Compact(d.n)
	for len(d.n) < leastObservations {
		d.truth.largest++
		d.n = append(d.n, d.truth.largest)
	}
	return d
}

// isTold reports whether so much noise leaves the kind to be seen: every curve of other kinds is
// at least six standard errors away. Of kinds that contain the truth that is every curve that
// differs in what matters.
func (d simulated) isTold(t *testing.T, e noise) bool {
	exact, err := newData(d.n, d.measured(rand.New(rand.NewPCG(0, 0)), noise{}))
	if err != nil {
		t.Fatal(err)
	}
	least := e.part
	if e.equal {
		least = d.sd(e, 1)
	} else {
		exact, _ = exact.proportional()
	}
	c, err := exact.curves()
	if err != nil {
		t.Fatal(err)
	}
	nearest := math.Inf(1)
	for _, k := range Kinds() {
		switch {
		case k == d.truth.Kind:
		case d.truth.Kind == Linear, d.truth.Kind == Amdahl && k == USL:
			nearest = min(nearest, c.leastOf(k, d.truth.Kind))
		default:
			nearest = min(nearest, c.data.fitted(k, pinned{}).squares)
		}
	}
	return math.Sqrt(nearest) >= 6*least
}

// covered counts intervals with two ends; held is how many of these hold the truth.
type covered struct{ intervals, held int }

func (c *covered) add(e Estimate, truth float64, counts bool) {
	if !counts {
		return
	}
	c.intervals++
	if e.Lo <= truth && truth <= e.Hi {
		c.held++
	}
}

// tally counts what became of curves of one kind.
type tally struct {
	runs, told, toldRight, right, wrong int
	// Of linear growth all count: an upper end does not hold what has no end.
	plateau, knee, largest covered
	widths                 []float64
}

func (y *tally) add(t *testing.T, d simulated, e noise, rng *rand.Rand) {
	c, err := Fit(d.n, d.measured(rng, e))
	if err != nil {
		t.Fatal(err)
	}
	efficiency := d.truth.formula(c.Largest) / (d.truth.Gamma * c.Largest)
	right := c.Kind == d.truth.Kind || c.Kind == Linear && efficiency >= leastEfficiency
	y.runs++
	if right {
		y.right++
	} else if c.Kind != Unclear {
		y.wrong++
	}
	if d.isTold(t, e) {
		y.told++
		if right {
			y.toldRight++
		}
	}
	y.largest.add(c.Predict(c.Largest), d.truth.At(c.Largest), true)
	p, k := c.Plateau(), c.Knee()
	y.plateau.add(p, d.truth.Plateau(), !math.IsInf(p.Hi, 1) || d.truth.Kind == Linear)
	y.knee.add(k, d.truth.Knee(), !math.IsInf(k.Hi, 1) || d.truth.Kind == Linear)
	y.widths = append(y.widths, (p.Hi-p.Lo)/p.Lo/2)
}

// share is a part of a whole, 1 of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func (c *covered) join(o covered) { c.intervals, c.held = c.intervals+o.intervals, c.held+o.held }

func (c covered) percent() float64 { return 100 * share(c.held, c.intervals) }

// TestSimulated: the kind is named rightly where trials can tell it, and hardly ever wrongly; the
// intervals of plateau and knee hold the truth in 93 to 97 %, with either kind of errors, with
// and without trials. The tables of docs/methods.md are of CURVES=500.
func TestSimulated(t *testing.T) {
	t.Parallel()
	runs := 16
	if n, err := strconv.Atoi(os.Getenv("CURVES")); err == nil {
		runs = n
	}
	slack := func(n int) float64 { return 2.5 * math.Sqrt(.05*.95/float64(n)) } // of so few curves
	for _, trials := range []bool{false, true} {
		for _, equal := range []bool{false, true} {
			t.Run(fmt.Sprintf("trials %v, equal errors %v", trials, equal), func(t *testing.T) {
				t.Parallel()
				var all tally
				for _, k := range Kinds() {
					for _, part := range []float64{.02, .05} {
						var y tally
						rng := rand.New(rand.NewPCG(uint64(100*part), uint64(k.Parameters())))
						for range runs {
							d := someCurve(rng, k)
							if !trials {
								d = d.once()
							}
							y.add(t, d, noise{part, equal}, rng)
						}
						slices.Sort(y.widths)
						t.Logf("| %s | %.0f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% | ±%.2g %% |", k,
							100*part, 100*share(y.told, y.runs), 100*share(y.toldRight, y.told), 100*share(y.right, y.runs),
							100*share(y.wrong, y.runs), y.plateau.percent(), y.knee.percent(), y.largest.percent(),
							100*y.widths[len(y.widths)/2])
						if trials && share(y.toldRight, y.told) < .95-slack(runs) {
							t.Errorf("%s with %v noise: %d of %d that can be told are named rightly", k, part, y.toldRight, y.told)
						}
						all.runs, all.wrong = all.runs+y.runs, all.wrong+y.wrong
						if k != Linear { // which has no end
							all.plateau.join(y.plateau)
							all.knee.join(y.knee)
						}
					}
				}
				t.Logf("| %.1f %% | %.1f %% | %.1f %% |", all.plateau.percent(), all.knee.percent(), 100*share(all.wrong, all.runs))
				for name, c := range map[string]covered{"plateau": all.plateau, "knee": all.knee} {
					if held := share(c.held, c.intervals); math.Abs(held-.95) > .02+slack(c.intervals) {
						t.Errorf("the interval of the %s holds the truth in %.3f", name, held)
					}
				}
				if share(all.wrong, all.runs) > .02+slack(all.runs)/2 {
					t.Errorf("%d of %d kinds are named wrongly", all.wrong, all.runs)
				}
			})
		}
	}
}
