// Package plan turns an experiment and the nodes of its fleet into the steps
// of a run. It is pure: the same experiment, run id and nodes give the same
// plan, so that a run that was cut can be planned again and resumed.
//
// The order of a plan is part of the measurement:
//
//   - Serial and parallel trials are interleaved unless the experiment says
//     otherwise: drift over time would look like degradation (docs/methods.md).
//   - Nodes take their serial turns in an order that is shuffled by the seed
//     and rotated from trial to trial: over as many trials as nodes each node
//     has each turn once.
//   - What is measured is a subject: a node, or a connection between two nodes
//     (workload.Paired). A serial step measures one subject; the nodes at its
//     other end take part and serve.
//   - A sweep over fleet sizes repeats the parallel step with fewer subjects,
//     which change from trial to trial.
//   - Serial steps have a barrier, too, although one task has nobody to wait
//     for: so both phases prepare, start and are timed in the same way.
package design
