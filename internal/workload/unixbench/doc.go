// Package unixbench runs a UnixBench (byte-unixbench 5.x or 6.x) that the user
// has built, and reads the report that its Run script prints: for every set of
// parallel copies each test's score and the index.
//
// UnixBench runs the whole suite once with one copy and once with as many
// copies as there are processors, unless told otherwise. Metrics of a set are
// named after its number of copies (see names.go). Scores are as printed;
// higher is better for all of them. UnixBench reports nothing before its end,
// so there is no progress series.
package unixbench
