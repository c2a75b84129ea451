package stats

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestWelchANOVAHoldsItsRate: levels that differ in their spread alone are no
// difference of means, however few values the widest has; the usual analysis of
// variance finds one.
func TestWelchANOVAHoldsItsRate(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, sizes := range [][]int{{10, 490}, {20, 40, 300}, {30, 30}, {6, 6, 6, 6}} {
		var codes []uint16
		for code, n := range sizes {
			for range n {
				codes = append(codes, uint16(code+1))
			}
		}
		welch, usual := 0, 0
		const samples = 500
		for range samples {
			xs := make([]float64, len(codes))
			for i, c := range codes {
				xs[i] = 100 + random.NormFloat64()*[]float64{0, 10, 3, 1, 1}[c]
			}
			p, err := WelchANOVA(xs, codes, len(sizes)+1, 1)
			if err != nil {
				t.Fatal(err)
			}
			e, _ := EtaSquared(xs, codes, len(sizes)+1, DefaultLevel)
			if p < .05 {
				welch++
			}
			if e.P < .05 {
				usual++
			}
		}
		if welch > samples*8/100 {
			t.Errorf("%v: %d of %d alarms, want about 5 %%", sizes, welch, samples)
		}
		if sizes[0] < sizes[1]/10 && usual < samples/4 {
			t.Errorf("%v: the usual test has %d of %d alarms, want more than a quarter", sizes, usual, samples)
		}
	}
}

// TestWelchANOVA: a level of one value, or without any scatter, counts with the
// spread of all; values that are worth less show less.
func TestWelchANOVA(t *testing.T) {
	values := []float64{9, 10, 11, 10, 9, 11, 20, 5, 5, 5, 5}
	codes := []uint16{1, 1, 1, 1, 1, 1, 2, 3, 3, 3, 3}
	p, err := WelchANOVA(values, codes, 4, 1)
	if err != nil || !(p > 0 && p < 1e-3) {
		t.Errorf("p = %v, %v, want a clear difference", p, err)
	}
	if half, err := WelchANOVA(values, codes, 4, .5); err != nil || half <= p {
		t.Errorf("p of values worth half = %v, %v, want more than %v", half, err, p)
	}
	for _, c := range []struct {
		values []float64
		codes  []uint16
		worth  float64
		want   error
	}{
		{[]float64{1, 2, 3, 4}, []uint16{1, 1, 1, 1}, 1, ErrTooFew},
		{[]float64{1, 2, 3, 4}, []uint16{1, 2, 3, 4}, 1, ErrTooFew},
		{[]float64{1, 2, 3, 4}, []uint16{1, 1, 2, 2}, .4, ErrTooFew},
		{[]float64{1, 1, 3, 3}, []uint16{1, 1, 2, 2}, 1, ErrNoSpread},
		{[]float64{1, 2, 3, 4}, []uint16{1, 1, 2, 2}, 0, ErrArgument},
		{[]float64{1, 2, 3, 4}, []uint16{1, 1, 2, 9}, 1, ErrArgument},
		{[]float64{1, 2, 3}, []uint16{1, 1, 2, 2}, 1, ErrLength},
	} {
		if p, err := WelchANOVA(c.values, c.codes, 5, c.worth); !errors.Is(err, c.want) {
			t.Errorf("WelchANOVA(%v, %v, %v) = %v, %v, want %v", c.values, c.codes, c.worth, p, err, c.want)
		}
	}
}
