package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// specsdm91 is the benchmark of R's package usl; raytracer another of Gunther's.
func specsdm91() (n, x []float64) {
	return []float64{1, 18, 36, 72, 108, 144, 216}, []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775, 1702.2}
}

func raytracer() (n, x []float64) {
	return []float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64},
		[]float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310}
}

// codahale are the observations of codahale/usl.
func codahale() (n, x []float64) {
	x = []float64{
		955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7,
		9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37,
		12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
	}
	for i := range x {
		n = append(n, float64(i+1))
	}
	return n, x
}

// digits reports whether a value is another one, rounded to so many digits.
func digits(got, want float64, digits int) bool {
	if want == 0 {
		return got == 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(want)))+1-float64(digits))
	return math.Abs(got-want) <= unit/2*(1+1e-6)
}

// TestUSLGolden: parameters that the packages usl of R and Go find, with more digits from
// Gauss and Newton's method in 40 decimals.
func TestUSLGolden(t *testing.T) {
	sn, sx := specsdm91()
	rn, rx := raytracer()
	cn, cx := codahale()
	for _, c := range []struct {
		name                    string
		n, x                    []float64
		alpha, beta, gamma, sse float64
	}{
		{"specsdm91", sn, sx, 0.0277284756, 0.000104365484, 89.9952331, 27453.71958},
		{"raytracer, the first six", rn[:6], rx[:6], 0.0244440414, 0.00162680928, 20.8560453, 10.0918818395},
		{"raytracer", rn, rx, 0.0577708, 0, 21.8488, 697.238},
		{"codahale/usl", cn, cx, 0.0267159, 0.000769094, 995.649, 1.02385e6},
		{"α = β = 0.02, four decimals", []float64{1, 2, 4, 6, 8, 10},
			[]float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557}, 0.02, 0.02, 1, 3e-10},
	} {
		got, err := Fit(c.n, c.x)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		u, places := got.USL, 6
		if c.sse < 1e-9 {
			places = 3 // of data that are rounded
			u.SSE = math.Round(u.SSE*1e10) / 1e10
		}
		if !digits(u.Alpha, c.alpha, places) || !digits(u.Beta, c.beta, places) || !digits(u.Gamma, c.gamma, places) ||
			!digits(u.SSE, c.sse, places) {
			t.Errorf("%s: α %.8g, β %.8g, γ %.8g, SSE %.8g; want %v, %v, %v, %v",
				c.name, u.Alpha, u.Beta, u.Gamma, u.SSE, c.alpha, c.beta, c.gamma, c.sse)
		}
	}
}

// TestUSLDerived: peak, plateau, the roof without coherency, and standard errors.
func TestUSLDerived(t *testing.T) {
	n, x := specsdm91()
	c, err := Fit(n, x)
	if err != nil {
		t.Fatal(err)
	}
	u := c.USL
	ci, ok := u.Interval(u.Alpha, u.Errors.Alpha)
	for _, v := range []struct {
		name      string
		got, want float64
		digits    int
	}{
		{"peak", u.Peak(), 96.5196, 6},
		{"plateau", u.Plateau(), 1883.9, 4},
		{"throughput at the peak", u.At(96.5196), 1883.8, 4},
		{"γ/α", u.Gamma / u.Alpha, 3245.59, 6},
		{"error of α", u.Errors.Alpha, 0.009122, 4},
		{"error of β", u.Errors.Beta, 1.988e-5, 4},
		{"error of γ", u.Errors.Gamma, 14.21, 4},
		{"least α", ci.Lo, 0.0024, 2},
		{"greatest α", ci.Hi, 0.0531, 3},
	} {
		if !ok || !digits(v.got, v.want, v.digits) {
			t.Errorf("%s: %.8g, want %v", v.name, v.got, v.want)
		}
	}
}

// TestHardCap: the Universal Scalability Law describes a hard cap badly, and predicts a fall that
// no size shows. AICc prefers the cap, and no curve falls past what was measured.
func TestHardCap(t *testing.T) {
	var n, x []float64
	for i := range 8 {
		n, x = append(n, float64(i+1)), append(x, min(float64(i+1), 4))
	}
	c, err := Fit(n, x)
	if err != nil {
		t.Fatal(err)
	}
	u := c.USL
	if u.Alpha != 0 || !digits(u.Beta, .0237, 3) || !digits(u.Peak(), 6.5, 2) || !digits(u.formula(16), 2.8, 2) ||
		!digits(u.AICc, -7, 1) {
		t.Errorf("%+v has a peak at %v and %v at 16 nodes, want 0.0237, 6.5 and 2.8", u, u.Peak(), u.formula(16))
	}
	if u.At(16) != u.formula(8) {
		t.Errorf("16 nodes do %v, less than 8 nodes with %v", u.At(16), u.formula(8))
	}
	if p := c.Plateau(); c.Kind != Capped || c.Capped.AICc > -148 || math.Abs(p.Value-4) > 1e-9 ||
		p.Hi-p.Lo > .01 || math.Abs(c.Knee().Value-4) > 1e-9 {
		t.Errorf("%s, plateau %v, knee %v, AICc %v; want a cap of 4", c.Kind, p, c.Knee(), c.Capped.AICc)
	}
	for target, want := range map[float64]float64{.5: 1, 1: 1, 2.5: 3, 3.999: 4, 4.1: math.Inf(1)} {
		if got := c.NodesFor(target); got.Value != want || got.Lo > want || got.Hi < want {
			t.Errorf("%v takes %v nodes, want %v", target, got, want)
		}
	}
}

// TestCappedIsBest: no curve nearby is better, with errors of either kind.
func TestCappedIsBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 28))
	for range 200 {
		d := someCurve(rng, Capped)
		x := d.measured(rng, noise{part: .1})
		c, err := Fit(d.n, x)
		if err != nil {
			t.Fatal(err)
		}
		got := c.Capped
		for range 50 {
			knee := math.Exp(rng.NormFloat64()/10) * min(got.Knee(), 2*c.Largest)
			s := shape{knee: knee}
			if near := c.data.squares(s, c.data.scale(s, 0, len(x))); near < got.SSE*(1-1e-9) {
				t.Fatalf("%+v, but a knee of %v has %v", got, knee, near)
			}
		}
	}
}

// TestFitScales: units of throughput and the order of observations change no kind and no
// shape; the largest size has a prediction close to what was measured.
func TestFitScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 28))
	for i := range 40 {
		d := someCurve(rng, Kinds()[i%4])
		x := d.measured(rng, noise{part: .03})
		c, err := Fit(d.n, x)
		if err != nil {
			t.Fatal(err)
		}
		n, y := slices.Clone(d.n), slices.Clone(x)
		rng.Shuffle(len(n), func(i, j int) { n[i], n[j], y[i], y[j] = n[j], n[i], y[j], y[i] })
		for i := range y {
			y[i] *= 1024
		}
		s, err := Fit(n, y)
		if err != nil || s.Kind != c.Kind || s.data.logs != c.data.logs {
			t.Fatalf("%s, %v in another unit, %v; want %s, %v", s.Kind, s.data.logs, err, c.Kind, c.data.logs)
		}
		for _, n := range []float64{1, c.Largest, 3 * c.Largest} {
			got, want := s.Predict(n), c.Predict(n)
			for _, v := range [][2]float64{{got.Value, want.Value}, {got.Lo, want.Lo}, {got.Hi, want.Hi}} {
				if math.Abs(v[0]/1024-v[1]) > 1e-3*v[1] {
					t.Errorf("%s: %v nodes do %v/1024, want %v", c.Kind, n, got, want)
				}
			}
		}
		for _, k := range Kinds() {
			if of := c.Curve(k); of.At(c.Largest) > of.At(2*c.Largest)*(1+1e-12) {
				t.Errorf("%+v falls past the largest size", of)
			}
		}
	}
}

// TestNoise: trials show whether errors are proportional; without trials values are by equal
// ones, and intervals hold those of proportional ones, too.
func TestNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 28))
	var n, equal, proportional []float64
	for _, size := range []float64{1, 2, 4, 8, 16, 32} {
		for range 4 {
			n = append(n, size)
			equal = append(equal, size+.3*rng.NormFloat64())
			proportional = append(proportional, size*(1+.05*rng.NormFloat64()))
		}
	}
	rn, rx := raytracer()
	for _, c := range []struct {
		name string
		n, x []float64
		want bool
	}{{"equal", n, equal, false}, {"proportional", n, proportional, true}, {"one trial", rn, rx, false}} {
		if got, err := Fit(c.n, c.x); err != nil || got.data.logs != c.want {
			t.Errorf("%s: proportional is %v, %v, want %v", c.name, got.data.logs, err, c.want)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	for _, c := range []struct {
		name string
		n, x []float64
		want error
	}{
		{"five observations", six[:5], six[:5], stats.ErrTooFew},
		{"two sizes", []float64{1, 1, 1, 2, 2, 2}, six, stats.ErrTooFew},
		{"a size of 0", []float64{0, 1, 2, 3, 4, 5}, six, stats.ErrArgument},
		{"half a node", []float64{.5, 1, 2, 3, 4, 5}, six, stats.ErrArgument},
		{"NaN", six, []float64{1, 2, math.NaN(), 4, 5, 6}, stats.ErrNotFinite},
		{"nothing done", six, make([]float64, 6), stats.ErrArgument},
	} {
		if got, err := Fit(c.n, c.x); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// TestFitOfNonsense: whatever is measured, an estimate lies within its interval, and nothing is
// NaN or takes long.
func TestFitOfNonsense(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 28))
	for range 12 {
		var n, x []float64
		scale := math.Exp(20 * rng.NormFloat64())
		for range 6 + rng.IntN(8) {
			n = append(n, float64(1+rng.IntN(5)*rng.IntN(50)))
			x = append(x, scale*[]float64{0, 1, rng.Float64(), n[len(n)-1], 1 / n[len(n)-1], rng.ExpFloat64()}[rng.IntN(6)])
		}
		c, err := Fit(n, x)
		if err != nil {
			if !errors.Is(err, stats.ErrTooFew) && !errors.Is(err, stats.ErrArgument) {
				t.Errorf("%v, %v: %v", n, x, err)
			}
			continue
		}
		for name, e := range map[string]Estimate{
			"plateau": c.Plateau(), "knee": c.Knee(), "peak": c.Peak(), "largest": c.Predict(c.Largest),
			"far": c.Predict(10 * c.Largest), "nodes": c.NodesFor(scale),
		} {
			if name == "peak" && math.IsNaN(e.Value) && c.Kind == Unclear {
				e.Value = e.Hi // it is not known
			}
			if !(e.Lo <= e.Value && e.Value <= e.Hi && e.Lo >= 0) {
				t.Fatalf("%v, %v: %s %+v", n, x, name, e)
			}
		}
	}
}

// TestPeakIsMissing: where several kinds describe the data and the best has no peak, whether
// there is one is not known. A peak that another kind denies has no upper bound.
func TestPeakIsMissing(t *testing.T) {
	n := []float64{1, 2, 3, 4, 6, 8}
	for _, c := range []struct {
		name  string
		x     []float64
		kind  Kind
		value func(float64) bool
		hi    float64
	}{
		{"it falls, or not", []float64{1, 1.9, 2.9, 3.5, 4.6, 5.9}, Unclear, math.IsNaN, math.Inf(1)},
		{"nothing falls", []float64{1, 2, 3, 4, 6, 8}, Linear, func(v float64) bool { return math.IsInf(v, 1) }, math.Inf(1)},
	} {
		got, err := Fit(n, c.x)
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Peak(); got.Kind != c.kind || !c.value(p.Value) || p.Hi != c.hi {
			t.Errorf("%s: %s of %v, best %s, peak %+v", c.name, got.Kind, got.Plausible, got.Best, p)
		}
	}
}
