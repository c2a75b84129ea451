package load_test

import (
	"errors"
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func newMix(t *testing.T, kinds []load.Weight, seed uint64, share load.Share) *load.Mix {
	t.Helper()
	m, err := load.NewMix(kinds, seed, share)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMixProportions: Pearson's chi-square of what was drawn against the
// weights, at a level of .001; in shares, too.
func TestMixProportions(t *testing.T) {
	kinds := []load.Weight{{Name: "a", Weight: 5}, {Name: "never", Weight: 0}, {Name: "b", Weight: 0.5}, {Name: "c", Weight: 94}, {Name: "d", Weight: 0.5}}
	const n, critical = 200_000, 16.266 // of 3 degrees of freedom
	for i := range 3 {
		m := newMix(t, kinds, 99, load.Share{Index: i, Of: 3})
		counts := make([]float64, len(kinds))
		for range n {
			counts[m.Next()]++
		}
		chi := 0.0
		for k, kind := range kinds {
			if expected := kind.Weight / 100 * n; expected > 0 {
				chi += (counts[k] - expected) * (counts[k] - expected) / expected
			}
		}
		if counts[1] > 0 || chi > critical {
			t.Errorf("share %d: drawn %v, chi-square %v, want at most %v and none of weight 0", i, counts, chi, critical)
		}
	}
}

// TestMixRepeats: the same seed and share draw the same, others do not.
func TestMixRepeats(t *testing.T) {
	kinds := []load.Weight{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}
	draw := func(seed uint64, share load.Share) (drawn uint64) {
		m := newMix(t, kinds, seed, share)
		for range 64 {
			drawn = drawn<<1 | uint64(m.Next())
		}
		return drawn
	}
	first := draw(1, load.All)
	if again := draw(1, load.All); again != first {
		t.Errorf("drawn %x, and %x with the same seed", first, again)
	}
	if other := draw(2, load.All); other == first {
		t.Errorf("two seeds draw the same: %x", other)
	}
	if other := draw(1, load.Share{Index: 1, Of: 2}); other == first {
		t.Errorf("two shares draw the same: %x", other)
	}
}

func TestMixOfOne(t *testing.T) {
	m := newMix(t, []load.Weight{{Name: "a", Weight: 0.1}}, 1, load.All)
	for range 100 {
		if got := m.Next(); got != 0 {
			t.Fatalf("Next() = %d, want 0", got)
		}
	}
}

func TestMixRefuses(t *testing.T) {
	for name, kinds := range map[string][]load.Weight{
		"nothing":      nil,
		"all zero":     {{Name: "a"}, {Name: "b"}},
		"negative":     {{Name: "a", Weight: 1}, {Name: "b", Weight: -1}},
		"not a number": {{Name: "a", Weight: math.NaN()}},
		"infinite":     {{Name: "a", Weight: math.Inf(1)}},
		"sum":          {{Name: "a", Weight: math.MaxFloat64}, {Name: "b", Weight: math.MaxFloat64}},
	} {
		if _, err := load.NewMix(kinds, 1, load.All); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: NewMix = %v, want model.ErrUsage", name, err)
		}
	}
}
