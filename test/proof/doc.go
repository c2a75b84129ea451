//go:build proof

// Package proof holds the end-to-end tests that take too long for `make test`: systems with a
// known answer, measured by the dozen. The Makefile's proofs run them, and `make test-long`
// those that say so (skip.UnlessLong). They need the machine for themselves.
//
// Each test is a part of a proof, or has parts (package parts), so that a proof of hours runs
// an hour at a time.
package proof
