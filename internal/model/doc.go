// Package model is the vocabulary of scalebench: the nouns that every other
// package speaks in, and nothing that acts.
//
// The nouns, in the order in which one run meets them:
//
//  1. An experiment file describes what to do. A [Run] is one execution of it.
//  2. A [Node] is one host of the fleet, with [Facts] about it.
//  3. A [Step] is a set of tasks that belong together in time: one task in the
//     serial phase, one per node in the parallel phase, all jobs of a batch.
//  4. A [Task] is one workload of one trial on one node.
//  5. A [Result] is what one attempt at a task left behind: its [Outcome],
//     [Sample] values, [Series] and [Output].
//  6. An [Event] is something that happened to the run and that a person may
//     want to know.
//
// The package imports the standard library only.
package model
