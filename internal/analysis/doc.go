// Package analysis turns what was measured into findings: the capacity
// degradation index (CDI) of ScaleBench, section 2.3, with its interval, its
// verdict and every reason to doubt it. It reads no files and knows no clock.
//
// The pipeline, for each metric of each workload:
//
//  1. collect, trials: the accepted results become readings, one a task; values
//     that cannot be a capacity are refused by name. Only trials that are
//     complete in both phases go on.
//  2. curve, window: progress counters become curves; a parallel step has a
//     common window, in which all of its nodes were active.
//  3. score: both phases are scored in one and the same way, "common" (rate of
//     the counter) or, where some curve does not allow it, "whole" (the value
//     that the workload reported).
//  4. comparison: capacities are added up by subject (node or node pair),
//     paired over the phases and become a Finding, with an interval no narrower
//     than the instrument resolves (resolution).
//  5. doubts: what makes the answer "unknown", and what is only a warning.
//
// [CDIFromCSV] enters at step 4 with somebody's own numbers. Beside it,
//
//   - [Scaling] takes all fleet sizes through steps 1 to 3 (sweep) and fits the
//     growth of the total, from which shared limits are inferred;
//   - [Rank] orders the resources of a run by their findings;
//   - [Plan] holds what an application takes against what was measured.
//
// docs/methods.md explains the formulas.
package analysis
