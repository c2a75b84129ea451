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

// spinOn keeps so many threads busy and returns the mean of their rates.
func spinOn(threads int) float64 {
	rates := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range rates {
		wg.Go(func() {
			runtime.LockOSThread()
			rates[i] = spin(togetherSpin)
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

// spin returns how often in a second 1,000 steps of a xorshift generator were
// made (G. Marsaglia, "Xorshift RNGs", J. Stat. Softw. 8(14), 2003): integers in
// registers, as the workload cpu has them.
func spin(d time.Duration) float64 {
	start, rounds, x := time.Now(), 0, uint64(88172645463325252)
	for {
		for range 1000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		rounds++
		if spent := time.Since(start); spent >= d && x != 0 { // x is never 0; the compiler does not know
			return float64(rounds) / spent.Seconds()
		}
	}
}
