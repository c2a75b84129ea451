package loadserver

import (
	"fmt"
	"math"
	"time"
)

// Admit is a rate of requests beyond which they are refused at once with status
// 503: a token bucket, full when the behaviour is set. The zero value admits
// all.
type Admit struct {
	// Rate is how many tokens come a second, Burst how many there are at most.
	// With fewer than 2, requests that are evenly spaced at little more than the
	// rate lose every second one: what comes while the bucket is full is lost.
	Rate, Burst float64
}

func (a Admit) check() error {
	if a == (Admit{}) || a.Rate > 0 && a.Burst >= 1 && !math.IsInf(a.Rate, 0) {
		return nil
	}
	return fmt.Errorf("admitting %v a second in bursts of %v; the rate is positive, and a burst at least 1", a.Rate, a.Burst)
}

// Load is the load at which a share of requests is refused in a window of so
// many seconds after a warm-up, if they are evenly spaced and the bucket is full
// before.
func (a Admit) Load(share float64, warmUp, window time.Duration) float64 {
	w, t := warmUp.Seconds(), window.Seconds()
	// At (1+x)·Rate the bucket is empty after Burst/(x·Rate) seconds; from then
	// on x·Rate a second are refused. Either that begins in the warm-up, or in
	// the window.
	before := share / (1 - share)
	within := (share*t + a.Burst/a.Rate) / (w + t - share*t)
	return a.Rate * (1 + max(before, within))
}

// bucket is what is left to be admitted.
type bucket struct {
	tokens float64
	at     time.Duration
}

// take takes a token if there is one.
func (k *bucket) take(a Admit, now time.Duration) bool {
	if a == (Admit{}) {
		return true
	}
	k.tokens = min(k.tokens+a.Rate*(now-k.at).Seconds(), a.Burst)
	k.at = now
	// Rates are rarely whole numbers of nanoseconds: a token that lacks less
	// than one of these is a token.
	if k.tokens < 1-a.Rate*1e-9 {
		return false
	}
	k.tokens--
	return true
}
