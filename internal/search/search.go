// Package search finds the largest load at which a server passes, from windows
// in which it passed or failed. It is pure: it does not know what a load is,
// nor what passing means, and nothing here measures.
//
// The way of a search:
//
//  1. [Options] say where it begins, how far it may go, how finely it is to
//     know the boundary and how often windows are expected to be wrong. [New]
//     checks them and makes the [Search].
//  2. Next says which load to try and what for ([Phase]); the caller measures
//     a window and tells Observe what came of it; and so on, until Next says
//     that it is over.
//  3. Result says what is known, at any time, so also when somebody stops the
//     search halfway.
//  4. [Replay] brings a new search to where an old one was, from the windows
//     that were measured.
//
// The [Default] algorithm expects windows that are wrong and confirms what it
// reports; docs/capacity-search.md explains it and compares it. [Paper] is the
// published algorithm with its errors.
//
// The same options and observations give the same search: there is no chance
// and no clock in it.
package search

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

// Result is what a search has found. Passed and Failed are among the loads
// tried; NaN where there is none.
type Result struct {
	// Passed is the largest load that was passed, and confirmed if Confirmed
	// says so; Failed the smallest above it that was failed. A load that was
	// tried several times is what most of its windows were; one that passed
	// as often as it failed is neither.
	Passed, Failed float64
	// Estimate is the load at the boundary, Low and High its interval, in
	// which it lies with a probability of 95 % if windows err as Options
	// suppose; NaN where the algorithm has none. Low is 0 if the boundary may
	// be below the smallest load allowed, High +Inf if it may be above the
	// largest.
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
	Warnings []string
}
