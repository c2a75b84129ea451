// Package experiment reads experiment files (YAML) and the job files of the
// ScaleBench paper (JSON), fills in defaults and refuses everything it does
// not understand.
//
// A file that is silently misread makes a wrong number later, so the reader is
// strict: an unknown key, a wrong type, a bad unit, an impossible value, a
// duplicate key is an error "file:line:col: what is wrong; what is allowed",
// and all errors are reported at once. docs/experiment.md is the reference of
// the format.
//
// The way of a file:
//
//  1. bytes become a tree of YAML nodes, which have positions: [Parse] from YAML,
//     with aliases and merge keys expanded within a budget, [ParseJob] from JSON;
//  2. overrides (--set key.path=value) change the tree;
//  3. the tree is decoded over the defaults into [Experiment] or [JobFile], and
//     what the Go types and their tags do not allow is put into words at its
//     position ([Schema] prints the same as a JSON Schema);
//  4. what tags cannot say is checked: unique names, what a workload says about
//     its own parameters, timeouts that cannot be kept.
package experiment
