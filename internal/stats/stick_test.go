package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// at is the height of the stick at x.
func (s Stick) at(x float64) float64 {
	u := s.corner.served(x, s.Knee)
	return s.Before*u + s.After*(x-u)
}

// TestStickExact: without noise the stick is found as it was made.
func TestStickExact(t *testing.T) {
	x := []float64{10, 20, 30, 40, 50, 60, 80}
	for _, want := range []Stick{{Before: 2, After: 0, Knee: 35}, {Before: 1, After: -.5, Knee: 50}, {Before: 3, After: 1, Knee: 20}} {
		var y []float64
		for _, v := range x {
			y = append(y, want.at(v))
		}
		got, err := FitStick(x, y, .95, .01)
		if err != nil || math.Abs(got.Knee-want.Knee) > .2 || math.Abs(got.Before-want.Before) > .02 || math.Abs(got.After-want.After) > .02 || got.P > 1e-6 {
			t.Errorf("FitStick of %+v = %+v, %v", want, got, err)
		}
		if !(got.CI.Lo <= want.Knee && want.Knee <= got.CI.Hi) || got.CI.Hi-got.CI.Lo > 1 {
			t.Errorf("knee %v in %v", want.Knee, got.CI)
		}
	}
}

// TestStickCoverage: how often the interval holds the knee, and how often a
// straight line seems to bend.
func TestStickCoverage(t *testing.T) {
	const runs = 400
	x := []float64{10, 20, 30, 40, 60, 80, 100, 120}
	rng := rand.New(rand.NewPCG(7, 0))
	held, bent := 0, 0
	for range runs {
		truth := Stick{Before: 1, After: -.3 + .5*rng.Float64(), Knee: 35 + 55*rng.Float64()}
		var xs, ys, line []float64
		for _, v := range x {
			for range 3 {
				e := 2 * rng.NormFloat64()
				xs, ys, line = append(xs, v), append(ys, truth.at(v)+e), append(line, v+e)
			}
		}
		s, err := FitStick(xs, ys, .95, 0)
		if err != nil {
			t.Fatal(err)
		}
		if s.CI.Lo <= truth.Knee && truth.Knee <= s.CI.Hi {
			held++
		}
		if s, err = FitStick(xs, line, .95, 0); err != nil {
			t.Fatal(err)
		}
		if s.P < .05 {
			bent++
		}
	}
	t.Logf("the interval held the knee in %d of %d, and %d straight lines seemed to bend", held, runs, bent)
	if held < .93*runs || bent > .12*runs {
		t.Errorf("the interval held the knee in %d of %d, want 95 %%; %d straight lines seemed to bend, want about one in twenty", held, runs, bent)
	}
}

func TestStickRefuses(t *testing.T) {
	four := []float64{1, 2, 3, 4}
	for name, c := range map[string]struct {
		x, y  []float64
		level float64
		want  error
	}{
		"three x":  {[]float64{1, 2, 3, 3, 3}, []float64{1, 2, 3, 3, 3}, .95, ErrTooFew},
		"few":      {four[:3], four[:3], .95, ErrTooFew},
		"at zero":  {[]float64{0, 1, 2, 3}, four, .95, ErrArgument},
		"infinite": {four, []float64{1, 2, 3, math.Inf(1)}, .95, ErrNotFinite},
		"length":   {four, four[:3], .95, ErrLength},
		"level":    {four, four, 1, ErrArgument},
	} {
		if s, err := FitStick(c.x, c.y, c.level, 0); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v, want %v", name, s, err, c.want)
		}
	}
}
