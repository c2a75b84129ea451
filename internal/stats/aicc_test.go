package stats

import (
	"errors"
	"math"
	"testing"
)

func TestAICc(t *testing.T) {
	// n = 5, k = 3: 5·ln(10/5) + 6 + 24/1.
	got, err := AICc(10, 5, 3)
	closeTo(t, "AICc(10, 5, 3)", got, err, 5*math.Ln2+30, 1e-14)
	if _, err := AICc(10, 4, 3); !errors.Is(err, ErrTooFew) {
		t.Errorf("AICc of 4 observations and 3 parameters: %v, want ErrTooFew", err)
	}
	if _, err := AICc(0, 9, 3); !errors.Is(err, ErrArgument) {
		t.Errorf("AICc of SSE 0: %v, want ErrArgument", err)
	}
}
