// Package search finds the largest load at which a server passes, from windows
// in which it passed or failed. It is pure: it does not know what a load is,
// nor what passing means, and nothing here measures.
//
// The way of a search:
//
//  1. [Options] say where it begins, how far it may go, how finely it is to
//     know the boundary and how often windows are expected to be wrong. [New]
//     checks them and makes the [Search].
//  2. Next returns which load to try and what for ([Phase]); the caller measures
//     a window and gives its outcome to Observe; and so on, until Next says
//     that it is over.
//  3. Result returns what is known, at any time, so also when the user stops
//     the search halfway.
//  4. To go on with a search that was stopped, make a new one with the same
//     options and give it the measured windows.
//
// The [Default] algorithm expects windows that are wrong and confirms what it
// reports; docs/capacity-search.md explains it and compares it. [Paper] is the
// published algorithm with its errors.
//
// The same options and observations give the same search: it uses neither random
// numbers nor a clock.
package search

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Phase is what a window is for.
type Phase string

// The phases of a search.
const (
	Ramp    Phase = "ramp"    // finds the order of magnitude
	Refine  Phase = "refine"  // narrows the boundary down
	Confirm Phase = "confirm" // repeats what will be reported
)

// Trial is a load that was tried, in any unit.
type Trial struct {
	Load   float64
	Phase  Phase
	Passed bool
}

// Search is one algorithm. Next and Observe are called in turn.
type Search interface {
	// Next returns the load to try; ok is false when the search is over. It
	// returns the same until Observe is called.
	Next() (load float64, phase Phase, ok bool)
	// Observe says whether the load that Next returned was passed. When the
	// search is over it does nothing.
	Observe(passed bool)
	// Result is what is known so far, at any time.
	Result() Result
}

// Sure is implemented by algorithms that believe some windows more than others.
type Sure interface {
	// ObserveSurely is Observe for a window that failed so plainly that hardly
	// any disturbance explains it.
	ObserveSurely()
}

// Result is what a search has found. Passed and Failed are among the loads
// tried; NaN if there is none.
type Result struct {
	// Passed is the largest load that was passed, and confirmed if Confirmed
	// says so; Failed the smallest above it that was failed. A load that was
	// tried several times is what most of its windows were; one that passed
	// as often as it failed is neither.
	Passed, Failed float64
	// Estimate is the load at the boundary, Low and High its interval, in which
	// it lies with a probability of 95 % if windows err as Options suppose; NaN
	// where the algorithm has none. Low is 0 if the boundary may be below the
	// smallest load allowed, High +Inf if it may be above the largest.
	//
	// The paper's algorithm puts its answer in Estimate, and has no interval.
	Estimate, Low, High float64
	// Confirmed: each side of the boundary was tried at least twice, with more
	// windows for it than against it, and the sides are as close as Options
	// ask for.
	Confirmed bool
	// Capped: the search ended at the largest load that it was allowed; the
	// boundary is not below Passed, and may be anywhere above.
	Capped bool
	// Floored: the smallest load allowed was failed; the boundary is below.
	Floored bool
	// Trials are all windows, in order.
	Trials []Trial
	// Warnings say what is wrong with the result, and what to do.
	Warnings []Warning
}

// Warning is a doubt about a result. Its unit is known to the caller alone.
type Warning struct {
	Words string // a format with a %s for each of Loads
	Loads []float64
	About Topic
}

// Topic is what a warning is about: a caller who knows more of the windows than
// that they passed or failed may know better what to do.
type Topic string

// The topics.
const (
	// AboutWindows: what was believed of them, whatever the boundary is.
	AboutWindows Topic = ""
	// AboutBoundary: where the boundary is, and how sure that is.
	AboutBoundary Topic = "boundary"
	// AboutFloor: it is below the smallest load allowed.
	AboutFloor Topic = "floor"
)

// Text is the warning with its loads as load prints them.
func (w Warning) Text(load func(float64) string) string {
	var loads []any
	for _, l := range w.Loads {
		loads = append(loads, load(l))
	}
	return fmt.Sprintf(w.Words, loads...)
}

// warn makes a warning of words that have a %s for each load.
func warn(about Topic, words string, loads ...float64) Warning { return Warning{words, loads, about} }

// ErrOptions is the kind of error of options with which a search makes no sense.
// The message says which option, and what it may be.
var ErrOptions = errors.New("unusable search options")

// Algorithm names a way of searching.
type Algorithm string

// The algorithms.
const (
	// Default expects windows that are wrong, now and then or several in a
	// row, and confirms what it reports.
	Default Algorithm = "default"
	// Paper is Algorithm 1 of the paper on black-box throughput (section II),
	// with its errors, for comparison with published figures.
	Paper Algorithm = "paper"
)

// Options are what a search needs to know. Zero values stand for the defaults,
// except that Start must be given.
type Options struct {
	Algorithm Algorithm // "": Default
	// Start is the first load to try.
	Start float64
	// Min and Max bound the loads to try. Defaults: Start/1024 and Start·2^24.
	// The paper's algorithm knows no Min.
	Min, Max float64
	// Resolution is how far Failed may be above Passed, relative to Passed: .05
	// allows Failed ≤ 1.05·Passed, so that the middle is within 2.5 % of both.
	// From .001 to .5; default .05. The paper's algorithm has Rate instead.
	Resolution float64
	// Factor is by how much a step of the ramp raises the load, and so how far
	// beyond its boundary a server may be loaded for a window. From 1.5 to
	// 100; default 10. The paper's algorithm doubles.
	Factor float64
	// MaxWindows ends the search, confirmed or not. Default 40.
	MaxWindows int
	// ErrorRate is the share of windows expected to fail below the boundary,
	// half of them alone and half of them several in a row; a fifth of it is
	// the share expected to pass above. From .001 to .3; default .05.
	ErrorRate float64
	// Rate is how fine the steps of the paper's algorithm are. Above 0, up to
	// 1; default .1.
	Rate float64
}

const (
	defaultResolution = .05
	defaultFactor     = 10
	defaultMaxWindows = 40
	defaultErrorRate  = .05
	defaultRate       = .1
	// Ten octaves down and 24 up: from 100 operations per second they reach
	// from one in ten seconds to more than any generator can send.
	defaultDown = 1 << 10
	defaultUp   = 1 << 24
)

// New makes a search. The error is ErrOptions.
func New(o Options) (Search, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Algorithm == Paper {
		return newPaper(o), nil
	}
	return newAdaptive(o), nil
}

func (o Options) withDefaults() Options {
	o.Algorithm = cmp.Or(o.Algorithm, Default)
	o.Min = cmp.Or(o.Min, o.Start/defaultDown)
	o.Max = cmp.Or(o.Max, o.Start*defaultUp)
	o.Resolution = cmp.Or(o.Resolution, defaultResolution)
	o.Factor = cmp.Or(o.Factor, defaultFactor)
	o.MaxWindows = cmp.Or(o.MaxWindows, defaultMaxWindows)
	o.ErrorRate = cmp.Or(o.ErrorRate, defaultErrorRate)
	o.Rate = cmp.Or(o.Rate, defaultRate)
	return o
}

// The limits of the options. The ratio of Max to Min bounds the size of the
// grid on which the default algorithm works.
const (
	maxWindowsLimit = 10_000
	maxRatio        = 1 << 50
)

// check refuses options that make a search impossible. The comparisons also
// refuse NaN.
func (o Options) check() error {
	switch {
	case o.Algorithm != Default && o.Algorithm != Paper:
		return fmt.Errorf("%w: unknown algorithm %q; use %q or %q", ErrOptions, o.Algorithm, Default, Paper)
	case !positive(o.Start) || !positive(o.Min) || !positive(o.Max):
		return fmt.Errorf("%w: start at %v, from %v to %v; loads must be above 0 and finite", ErrOptions, o.Start, o.Min, o.Max)
	case o.Start < o.Min || o.Start > o.Max:
		return fmt.Errorf("%w: the first load, %v, must be between the smallest, %v, and the largest, %v", ErrOptions, o.Start, o.Min, o.Max)
	case o.Max/o.Min > maxRatio:
		return fmt.Errorf("%w: loads from %v to %v; the largest must be at most 2^50 times the smallest", ErrOptions, o.Min, o.Max)
	case !within(o.Resolution, .001, .5):
		return fmt.Errorf("%w: resolution %v must be from .001 to .5", ErrOptions, o.Resolution)
	case !within(o.Factor, 1.5, 100):
		return fmt.Errorf("%w: the ramp's factor %v must be from 1.5 to 100", ErrOptions, o.Factor)
	case o.MaxWindows < 1 || o.MaxWindows > maxWindowsLimit:
		return fmt.Errorf("%w: the limit of %d windows must be from 1 to %d", ErrOptions, o.MaxWindows, maxWindowsLimit)
	case !within(o.ErrorRate, .001, .3):
		return fmt.Errorf("%w: error rate %v must be from .001 to .3", ErrOptions, o.ErrorRate)
	case !within(o.Rate, math.SmallestNonzeroFloat64, 1):
		return fmt.Errorf("%w: rate %v of the paper's algorithm must be above 0 and at most 1", ErrOptions, o.Rate)
	}
	return nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// within is false for a NaN.
func within(x, low, high float64) bool { return x >= low && x <= high }
