// Package design lays out a run: the treatments that a study names become
// steps of tasks for nodes. It is pure: the same experiment, run id and nodes
// give the same steps, so that a run that was cut can be laid out again and
// resumed.
//
//   - A study that knows everything beforehand names all treatments at once
//     ([Build]); one that decides from results is asked after each step
//     ([Sequence]).
//   - What is measured is a subject: a node, or a connection between two nodes
//     (workload.Paired). A serial step measures one subject; the nodes at its
//     other end take part and serve.
//   - Serial steps have a barrier, too, although one task has nothing to wait
//     for: so all phases prepare, start and are timed in the same way.
package design
