package stats

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApart(t *testing.T) {
	for _, c := range []struct {
		name  string
		xs    []float64
		noise Noise
		want  []int
	}{
		{"one of six", []float64{1, 1.01, .99, .2, 1, 1.02}, Noise{}, []int{3}},
		{"one above", []float64{1, 1.01, .99, 1.3, 1, 1.02}, Noise{}, []int{3}},
		{"two that differ", []float64{1, .4, 1.01, .99, .7, 1, 1.02, 1}, Noise{}, []int{1, 4}},
		{"three of twelve", []float64{1, .5, 1.01, .99, .51, 1, 1.02, 1, .49, 1, 1.01, .98}, Noise{}, []int{8, 1, 4}},
		{"one of three, by its replicates", []float64{1, 1.01, .2}, Noise{SD: .01, Degrees: 6}, []int{2}},
		{"the others agree wholly", []float64{1, 1, 1, 1, .5}, Noise{}, []int{4}},
		{"three of six", []float64{1, 1.01, .99, .5, .51, .49}, Noise{}, nil},
		{"not worth it", []float64{1, 1.0001, .9999, 1.01, 1, 1}, Noise{}, nil},
		{"replicates scatter as much", []float64{1, 1.01, .99, .8, 1, 1.02}, Noise{SD: .15, Degrees: 20}, nil},
		{"even spread", []float64{.1, .3, .5, .7, .9, 1.1, 1.3}, Noise{}, nil},
	} {
		got, err := Apart(c.xs, c.noise, 0, .05, .002)
		if diff := cmp.Diff(c.want, append([]int(nil), got...)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	if _, err := Apart([]float64{1, 2}, Noise{}, 0, 0, .01); !errors.Is(err, ErrTooFew) {
		t.Errorf("two values: %v, want ErrTooFew", err)
	}
}

// TestApartOfOneKind: of one normal population an outlier is seldom named, and
// which index is named does not hang on the order.
func TestApartOfOneKind(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 27))
	for _, n := range []int{3, 4, 5, 6, 8, 12, 20, 60} {
		const runs = 2000
		alarms := 0
		for range runs {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = rng.NormFloat64()
			}
			got, err := Apart(xs, Noise{}, 0, 0, .002)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > 0 {
				alarms++
			}
			slices.Reverse(xs)
			if again, _ := Apart(xs, Noise{}, 0, 0, .002); len(again) != len(got) {
				t.Fatalf("%v in reverse: %d outliers instead of %d", xs, len(again), len(got))
			}
		}
		t.Logf("%d values: %d alarms in %d", n, alarms, runs)
		if alarms > runs*8/1000 {
			t.Errorf("%d values of one kind: %d alarms in %d, want at most 8 in 1000", n, alarms, runs)
		}
	}
}
