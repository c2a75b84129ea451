package stats

import "testing"

// TestTelling: the sums of binomial terms, exact in fractions (Python's math.comb):
// P(B ≥ 3) = .0224 of 60, P(B ≥ 16) = .0479 of 1,000, and one less is above .05.
func TestTelling(t *testing.T) {
	for n, want := range map[int]int{0: 1, 2: 1, 60: 3, 100: 4, 1000: 16, 5000: 63} {
		if got := Telling(n, .01, .95); got != want {
			t.Errorf("Telling(%d, .01, .95) = %d, want %d", n, got, want)
		}
	}
}
