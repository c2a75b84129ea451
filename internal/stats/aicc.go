package stats

import (
	"fmt"
	"math"
)

// AICc is Akaike's information criterion of a least-squares fit, corrected for
// few observations (C. M. Hurvich, C.-L. Tsai, "Regression and time series
// model selection in small samples", Biometrika 76(2), 1989): n·ln(SSE/n) + 2k
// + 2k(k+1)/(n−k−1), with k parameters, the error variance among them. Less is
// better. It needs n ≥ k+2 and an SSE above zero.
func AICc(sse float64, n, k int) (float64, error) {
	if n < k+2 {
		return 0, fmt.Errorf("AICc of %d observations and %d parameters: %w", n, k, ErrTooFew)
	}
	if !(sse > 0) {
		return 0, fmt.Errorf("AICc of a sum of squares of %v: %w", sse, ErrArgument)
	}
	fn, fk := float64(n), float64(k)
	return finite(fn*math.Log(sse/fn) + 2*fk + 2*fk*(fk+1)/(fn-fk-1))
}
