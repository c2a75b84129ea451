// Package stats is the mathematics of scalebench: pure functions of
// []float64, each with its source, none with a side effect.
//
// Two rules hold for every function:
//
//   - A result is finite or there is an error. Too few values, a NaN or an
//     infinity in the input, an overflow on the way, an interval without
//     bounds: each is an error whose kind errors.Is can tell, never a NaN that
//     somebody prints.
//   - The input is not changed, and the same input gives the same output: the
//     resampling functions take a seed.
//
// How the parts meet in a capacity degradation index (package evaluation):
//
//  1. [Describe] gives mean, extremes and population SD of each phase.
//  2. [RatioOfMeans] is the efficiency E.
//  3. [Fieller] gives the interval of that ratio, [BCa] a second one that does
//     not suppose normal values.
//  4. [TwoGroups] says whether the nodes fall in two groups, in which case
//     one mean describes neither.
//
// And in the growth of a fleet's total: [ChooseGrowth] fits a·n and min(a·n,
// cap), [CapInterval] says how well the cap is known, [LevelOff] whether the
// totals past the knee stay where they are.
//
// docs/methods.md explains the formulas and shows how often each interval
// holds the truth.
package stats
