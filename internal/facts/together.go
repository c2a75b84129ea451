package facts

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// A calibration takes a tenth of a second in all.
const (
	togetherRounds = 6
	togetherLead   = 2 * time.Millisecond // for threads to be there
	togetherSpin   = 8 * time.Millisecond
)

// Together measures the share of its speed that a core keeps while all of them
// are busy: 1 where they are independent, less where threads share a core, the
// clock falls under load, or the host of the virtual machine gives less than it
// says. What disturbs a round makes it slower, never faster: so the best of
// several counts, of one core and of all. 0 of a single core.
func Together(cores int) float64 {
	if cores < 2 {
		return 0
	}
	var one, all float64
	for range togetherRounds {
		one, all = max(one, spinOn(1)), max(all, spinOn(cores))
	}
	return min(all/one, 1)
}

// spinOn keeps so many threads busy at the same time and returns the mean of
// their rates.
func spinOn(threads int) float64 {
	rates := make([]float64, threads)
	start := time.Now().Add(togetherLead)
	var wg sync.WaitGroup
	for i := range rates {
		wg.Go(func() {
			runtime.LockOSThread()
			rates[i] = spin(start, togetherSpin)
		})
	}
	wg.Wait()
	slices.Sort(rates) // a sum that does not depend on who was first
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / float64(threads)
}

// spin returns how often in a second, from a moment on that all wait for in
// work, 1,000 steps of a xorshift generator were made (G. Marsaglia, "Xorshift
// RNGs", J. Stat. Softw. 8(14), 2003): integers in registers, as the workload cpu
// has them.
func spin(start time.Time, d time.Duration) float64 {
	rounds, x := 0, uint64(88172645463325252)
	for {
		for range 1000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		switch spent := time.Since(start); {
		case spent < 0:
		case spent >= d && x != 0: // it is never 0; the compiler does not know
			return float64(rounds) / d.Seconds()
		default:
			rounds++
		}
	}
}
