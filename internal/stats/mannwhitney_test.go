package stats

import (
	"errors"
	"testing"
)

func TestMannWhitneyAgreesWithSciPy(t *testing.T) {
	cases := readReference(t).MannWhitney
	if len(cases) == 0 {
		t.Fatal("testdata/reference.json has no Mann-Whitney tests")
	}
	for _, c := range cases {
		got, err := MannWhitney(c.X, c.Y)
		closeTo(t, "U", got.U, err, c.U, 1e-12)
		closeTo(t, "P, relative", got.P/c.P, err, 1, 1e-9)
	}
}

func TestMannWhitneyExtremes(t *testing.T) {
	same, err := MannWhitney([]float64{1, 1}, []float64{1, 1, 1})
	if err != nil || same.P != 1 || same.A12 != .5 {
		t.Errorf("equal values: %+v, %v; want P 1 and A12 .5", same, err)
	}
	if _, err := MannWhitney(nil, []float64{1}); !errors.Is(err, ErrTooFew) {
		t.Errorf("without values: %v, want ErrTooFew", err)
	}
}
