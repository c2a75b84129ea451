// Package measured holds the end-to-end tests that measure: they run one at a time, and need
// the machine for themselves. Each is the short form of a proof (test/proof).
package measured
