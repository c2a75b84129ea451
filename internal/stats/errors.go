package stats

import (
	"errors"
	"fmt"
	"math"
)

// Kinds of error, told apart with errors.Is.
var (
	// ErrTooFew: the statistic needs more values than there are.
	ErrTooFew = errors.New("too few values")
	// ErrLength: two slices that belong together differ in length.
	ErrLength = errors.New("slices differ in length")
	// ErrNotFinite: a value is NaN or infinite, or the result would be.
	ErrNotFinite = errors.New("value is not finite")
	// ErrZeroMean: a ratio whose denominator has the mean zero.
	ErrZeroMean = errors.New("denominator has mean zero")
	// ErrNoSpread: the values show no scatter, so that nothing can be said
	// about their uncertainty. An interval of width zero would be a claim of
	// perfect knowledge.
	ErrNoSpread = errors.New("values show no scatter")
	// ErrUnbounded: the interval exists but has no bounds; the denominator
	// cannot be told from zero.
	ErrUnbounded = errors.New("interval is unbounded")
	// ErrArgument: a parameter outside its domain.
	ErrArgument = errors.New("parameter outside its domain")
)

// check returns an error unless there are at least min values, all finite.
func check(xs []float64, least int) error {
	if len(xs) < least {
		return fmt.Errorf("%d of at least %d: %w", len(xs), least, ErrTooFew)
	}
	for i, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("value %d is %v: %w", i, x, ErrNotFinite)
		}
	}
	return nil
}

// checkPairs is check for two slices whose elements belong together.
func checkPairs(xs, ys []float64, least int) error {
	if len(xs) != len(ys) {
		return fmt.Errorf("%d and %d values: %w", len(xs), len(ys), ErrLength)
	}
	if err := check(xs, least); err != nil {
		return err
	}
	return check(ys, least)
}

// finite passes x on, or an error when the arithmetic has overflowed.
func finite(x float64) (float64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("result is %v: %w", x, ErrNotFinite)
	}
	return x, nil
}
