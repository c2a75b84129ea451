package scalability

import (
	"math"
	"testing"
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
	} {
		got, err := Fit(c.n, c.x)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		u := got.USL
		t.Logf("%s: %+v %s %v %v", c.name, u, got.Kind, got.Plausible, got.Plateau())
		if !digits(u.Alpha, c.alpha, 6) || !digits(u.Beta, c.beta, 6) || !digits(u.Gamma, c.gamma, 6) ||
			!digits(u.SSE, c.sse, 6) {
			t.Errorf("%s: α %.8g, β %.8g, γ %.8g, SSE %.8g; want %v, %v, %v, %v",
				c.name, u.Alpha, u.Beta, u.Gamma, u.SSE, c.alpha, c.beta, c.gamma, c.sse)
		}
	}
}
