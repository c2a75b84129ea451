// Package stats is the mathematics of scalebench: pure functions of
// []float64, each with its source, none with a side effect.
//
// Two rules hold for every function but [Average]:
//
//   - A result is finite or there is an error. Too few values, a NaN or an
//     infinity in the input, an overflow on the way, an interval without
//     bounds: each is an error that errors.Is can identify, never a NaN that
//     reaches the output.
//   - The input is not changed, and the same input gives the same output: the
//     resampling functions take a seed.
//
// How the parts meet in a capacity degradation index (package evaluation):
//
//  1. [Describe] gives mean, extremes and population SD of each phase.
//  2. [RatioOfMeans] is the efficiency E.
//  3. [Fieller] gives the interval of that ratio, [BCa] a second one that does
//     not suppose normal values.
//  4. [Apart] names the few nodes that are unlike the others, [TwoGroups] says
//     whether they fall in two groups: then one mean describes nobody.
//
// And in the growth of a fleet's total, whose curves package scalability fits: [Peak] says from where it falls.
//
// And in how much measurements vary: [NewSpread] and [COVInterval] say how much,
// [Decompose] over what, [EtaSquared] which fact explains it, [ChangePoints] and
// [Drift] whether it stays so, [EffectiveSize] what values that depend on each other
// are worth, [Clustered] what few nodes tell, and [ConfirmMedian] and [RepetitionsForMean] how often to measure.
// [FindBands] says whether they lie in bands, [Density] draws them.
//
// And in comparing: [WelchT], [MannWhitney], [A12Interval], [HodgesLehmann] and
// [LogShift] for two samples, [PairedT], [WilcoxonSignedRank] and [PairedShift] for
// pairs, [SpearmanOfSeries] for metrics, [BenjaminiHochberg] for many comparisons.
//
// docs/methods.md explains the formulas and shows how often each interval
// holds the truth.
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
	// ErrZeroMean: the denominator of a ratio has the mean zero.
	ErrZeroMean = errors.New("denominator has mean zero")
	// ErrNoSpread: the values show no scatter, so that nothing can be said
	// about their uncertainty. An interval of width zero would be a claim of
	// perfect knowledge.
	ErrNoSpread = errors.New("values show no scatter")
	// ErrUnbounded: the interval exists but has no bounds; the denominator does
	// not differ significantly from zero.
	ErrUnbounded = errors.New("interval is unbounded")
	// ErrArgument: a parameter outside its domain.
	ErrArgument = errors.New("parameter outside its domain")
)

// check returns an error unless there are at least min values, all finite.
func check(xs []float64, least int) error {
	if len(xs) < least {
		return fmt.Errorf("%d of at least %d: %w", len(xs), least, ErrTooFew)
	}
	// A NaN or infinity less itself is NaN, and all else 0: this runs over millions.
	var sum [4]float64
	i := 0
	for ; i+4 <= len(xs); i += 4 {
		four := xs[i : i+4 : i+4]
		sum[0] += four[0] - four[0]
		sum[1] += four[1] - four[1]
		sum[2] += four[2] - four[2]
		sum[3] += four[3] - four[3]
	}
	if sum[0]+sum[1]+sum[2]+sum[3] != 0 {
		i = 0
	}
	for ; i < len(xs); i++ {
		if x := xs[i]; x-x != 0 {
			return fmt.Errorf("value %d is %v: %w", i, x, ErrNotFinite)
		}
	}
	return nil
}

// checkPairs is check for two slices of paired elements.
func checkPairs(xs, ys []float64, least int) error {
	if len(xs) != len(ys) {
		return fmt.Errorf("%d and %d values: %w", len(xs), len(ys), ErrLength)
	}
	if err := check(xs, least); err != nil {
		return err
	}
	return check(ys, least)
}

// annotate says before an error what was computed.
func annotate(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// finite passes x on, or an error when the arithmetic has overflowed.
func finite(x float64) (float64, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("result is %v: %w", x, ErrNotFinite)
	}
	return x, nil
}
