package http1

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestLateness: the supposition follows the tenth percentile, also when the
// machine changes, within its bounds.
func TestLateness(t *testing.T) {
	const us = time.Microsecond
	rng := rand.New(rand.NewPCG(1, 2))
	var l lateness
	for _, x := range []struct{ from, to, atLeast, atMost time.Duration }{
		{10 * us, 20 * us, 10 * us, 12 * us},
		{0, us, brief, brief},
		{4 * us, 24 * us, 5 * us, 7 * us},
		{80 * us, 90 * us, longestEarly, longestEarly},
		{-us, 0, brief, brief},
	} {
		for range 2000 {
			l.add(x.from + time.Duration(rng.Int64N(int64(x.to-x.from))))
		}
		if got := l.least(); got < x.atLeast || got > x.atMost {
			t.Errorf("sleeps late by %v to %v: at least %v, want %v to %v", x.from, x.to, got, x.atLeast, x.atMost)
		}
	}
}
