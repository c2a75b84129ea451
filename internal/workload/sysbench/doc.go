// Package sysbench runs the processor and memory tests of sysbench 1.0, where
// it is installed.
//
// The summary gives the metrics. The lines that sysbench prints every second
// give the progress series: each holds the mean rate since the line before, so
// the work done is that rate times the time between the two lines; the last
// point is the exact total of the summary.
package sysbench
