package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// fitCapped is the best curve min(γn, cap) of any number of observations.
func fitCapped(n, y []float64) Curve {
	d := observed(n, y, 0)
	f := d.capped(pinned{})
	c := Curve{Kind: Capped, Gamma: f.scale, Cap: f.scale * f.shape.knee, SSE: f.squares}
	if f.shape.knee >= d.largest() { // no size lies past it
		c.Cap = math.Inf(1)
	}
	return c
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestCappedGolden: hand-made cases; arithmetic gives their best curve.
func TestCappedGolden(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name             string
		n, y             []float64
		slope, cap, knee float64
	}{
		{"4 × 200 into 300", []float64{1, 2, 3, 4}, []float64{200, 300, 300, 300}, 200, 300, 1.5},
		{"linear", []float64{1, 2, 3, 4}, []float64{10, 20, 30, 40}, 10, inf, inf},
		{"last size past the knee", []float64{1, 2, 4, 8}, []float64{10, 20, 40, 60}, 10, 60, 6},
		{"knee at a size", []float64{1, 2, 4, 8}, []float64{10, 20, 20, 20}, 10, 20, 2},
		{"unordered, repeated", []float64{4, 1, 2, 1, 4}, []float64{32, 10, 20, 10, 28}, 10, 30, 3},
		// The split after 2 gives a = 11, cap = 24, knee 2.18.
		{"scatter", []float64{1, 2, 3, 4}, []float64{9, 23, 25, 23}, 11, 24, 24. / 11},
		// Either split has its knee outside of its range (2.6 is not below 2,
		// 1.46 not above 2): the best knee is 2 itself, a = (10+2·27+2·25)/9.
		{"knee forced to a size", []float64{1, 2, 3}, []float64{10, 27, 25}, 114. / 9, 228. / 9, 2},
		{"one size past and far", []float64{1, 100}, []float64{1, 5}, 1, 5, 5},
	} {
		g := fitCapped(c.n, c.y)
		near(t, c.name+": slope", g.Gamma, c.slope)
		if c.cap == inf {
			if g.Cap != inf || g.Knee() != inf {
				t.Errorf("%s: %+v, want no cap", c.name, g)
			}
			continue
		}
		near(t, c.name+": cap", g.Cap, c.cap)
		near(t, c.name+": knee", g.Knee(), c.knee)
	}
}

// TestCappedIsExact: no curve on a fine grid, refined around its best point,
// is better than the one that is found, whatever the data.
func TestCappedIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for trial := range 200 {
		n, y := randomGrowth(rng)
		g := fitCapped(n, y)
		brute := bruteForce(n, y)
		if g.SSE > brute*(1+1e-9)+1e-12 {
			t.Fatalf("case %d: the fit of %v, %v has SSE %v, a grid search finds %v", trial, n, y, g.SSE, brute)
		}
		if direct := squaresOf(n, y, g.Gamma, g.Cap); math.Abs(direct-g.SSE) > 1e-9*(1+g.SSE) {
			t.Errorf("case %d: SSE %v, by the curve itself %v", trial, g.SSE, direct)
		}
	}
}

// randomGrowth draws a few observations: capped, linear, falling or of no
// shape at all.
func randomGrowth(rng *rand.Rand) (n, y []float64) {
	limit, noise := 1+20*rng.Float64(), rng.Float64()*rng.Float64()
	size := 1.0
	for range 2 + rng.IntN(7) {
		n = append(n, size)
		y = append(y, min(size, limit)*(1+noise*rng.NormFloat64()))
		size += float64(rng.IntN(4)) // 0: another trial of the same size
	}
	return n, y
}

// squaresOf is the sum of squared errors of min(γn, cap).
func squaresOf(n, y []float64, gamma, limit float64) (sum float64) {
	for i := range n {
		e := y[i] - min(gamma*n[i], limit)
		sum += e * e
	}
	return sum
}

// bruteForce is the least sum of squares over a grid of slopes and caps, made
// finer around the best five times, and over straight lines.
func bruteForce(n, y []float64) float64 {
	var most float64
	for i := range n {
		most = max(most, math.Abs(y[i]), math.Abs(y[i]/n[i]))
	}
	best, bestA, bestC := math.Inf(1), 0., 0.
	loA, hiA, loC, hiC := 1e-9, 2*most, 1e-9, 2*most
	for range 6 {
		const steps = 40
		for i := range steps + 1 {
			for j := range steps + 1 {
				a := loA + (hiA-loA)*float64(i)/steps
				c := loC + (hiC-loC)*float64(j)/steps
				if s := squaresOf(n, y, a, c); s < best {
					best, bestA, bestC = s, a, c
				}
			}
		}
		stepA, stepC := 2*(hiA-loA)/steps, 2*(hiC-loC)/steps
		loA, hiA, loC, hiC = max(1e-9, bestA-stepA), bestA+stepA, max(1e-9, bestC-stepC), bestC+stepC
	}
	return best
}

// TestCappedScales: units of capacity and of size change the curve and nothing
// else.
func TestCappedScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 50 {
		n, y := randomGrowth(rng)
		g := fitCapped(n, y)
		scaledY := make([]float64, len(y))
		for i := range y {
			scaledY[i] = 1024 * y[i]
		}
		s := fitCapped(n, scaledY)
		near(t, "slope in another unit", s.Gamma, 1024*g.Gamma)
		if math.IsInf(s.Cap, 1) != math.IsInf(g.Cap, 1) || math.Abs(s.Knee()-g.Knee()) > 1e-9*g.Knee() {
			t.Errorf("in another unit %+v, want the shape of %+v", s, g)
		}
	}
}

func TestGrowthRefuses(t *testing.T) {
	capped := Curve{Kind: Capped, Gamma: 1, Cap: 2}
	five := []float64{1, 2, 3, 4, 5}
	_, errZero := ChooseGrowth([]float64{0, 1, 2, 3, 4}, five, 0)
	_, errNaN := ChooseGrowth(five, []float64{1, 2, math.NaN(), 4, 5}, 0)
	_, errLength := ChooseGrowth(five, five[:4], 0)
	_, errFew := ChooseGrowth(five[:4], five[:4], 0)
	_, errNoCap := Curve{Kind: Capped, Gamma: 1, Cap: 5}.CapInterval(five, five, 200, 1)
	_, errOne := capped.LevelOff([]float64{1, 2, 2, 3}, []float64{1, 2, 2, 2}, 0)
	_, errThree := capped.LevelOff([]float64{1, 3, 4}, []float64{1, 2, 2}, 0)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"size 0", errZero, stats.ErrArgument},
		{"NaN", errNaN, stats.ErrNotFinite},
		{"lengths differ", errLength, stats.ErrLength},
		{"a choice from four", errFew, stats.ErrTooFew},
		{"interval of no cap", errNoCap, stats.ErrUnbounded},
		{"one size past the knee", errOne, stats.ErrTooFew},
		{"three observations", errThree, stats.ErrTooFew},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// growthCase is a simulated sweep.
type growthCase struct {
	name   string
	sizes  []float64
	trials int
	cap    float64 // a = 1
	noise  func(*rand.Rand, float64) float64
	most   float64 // share of intervals that may hold the truth
}

func relativeNoise(sd float64) func(*rand.Rand, float64) float64 {
	return func(r *rand.Rand, truth float64) float64 { return truth * (1 + sd*r.NormFloat64()) }
}

func absoluteNoise(sd float64) func(*rand.Rand, float64) float64 {
	return func(r *rand.Rand, truth float64) float64 { return truth + sd*r.NormFloat64() }
}

func (c growthCase) draw(rng *rand.Rand) (n, y []float64) {
	for _, size := range c.sizes {
		for range c.trials {
			n, y = append(n, size), append(y, c.noise(rng, min(size, c.cap)))
		}
	}
	return n, y
}

// TestCapIntervalHoldsTruth: of 400 simulated sweeps a case, the interval of
// the cap holds the truth in about 95 %, and the cap is found. Where totals of
// small fleets scatter by as much as those of large ones, the interval, which
// supposes relative errors, is wider than need be.
func TestCapIntervalHoldsTruth(t *testing.T) {
	for _, c := range []growthCase{
		{"2 %, 6 sizes × 2", []float64{1, 2, 3, 4, 6, 8}, 2, 3.4, relativeNoise(.02), .98},
		{"5 %, 6 sizes × 2", []float64{1, 2, 4, 8, 16, 32}, 2, 11, relativeNoise(.05), .98},
		{"2 %, 5 sizes × 1", []float64{1, 2, 4, 8, 16}, 1, 5.5, relativeNoise(.02), .98},
		{"absolute, 6 sizes × 3", []float64{1, 2, 4, 8, 16, 32}, 3, 11, absoluteNoise(.3), 1},
		{"knee at a size", []float64{1, 2, 4, 8, 16, 32}, 3, 8, relativeNoise(.03), .98},
	} {
		const runs = 400
		held, found := 0, 0
		rng := rand.New(rand.NewPCG(5, uint64(len(c.name))))
		for run := range uint64(runs) {
			n, y := c.draw(rng)
			g, err := ChooseGrowth(n, y, 0)
			if err != nil {
				t.Fatal(err)
			}
			if g.Kind != Capped {
				continue
			}
			found++
			if iv, err := g.CapInterval(n, y, 200, run); err == nil && iv.Contains(c.cap) {
				held++
			}
		}
		share := float64(held) / float64(found)
		t.Logf("%s: found in %d of %d, held in %.3f", c.name, found, runs, share)
		if found < runs*95/100 || share < .92 || share > c.most {
			t.Errorf("%s: cap found in %d of %d sweeps and held in %.3f of these, want at least 380 and 0.92 to %v", c.name, found, runs, share, c.most)
		}
	}
}
