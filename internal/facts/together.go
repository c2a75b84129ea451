package facts

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/procself"
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
// says. Time in which a thread does not run does not count, so that other work
// on the machine disturbs little; and as it makes a round slower, never faster,
// the best of several counts, of one core and of all. 0 of a single core, and
// where so little is left that something else must be the reason.
func Together(cores int) float64 {
	if cores < 2 {
		return 0
	}
	var one, all float64
	for range togetherRounds {
		one, all = max(one, spinOn(1)), max(all, spinOn(cores))
	}
	if !(all >= leastTogether*one) {
		return 0
	}
	return min(all/one, 1)
}

// leastTogether is less than two threads on one core leave each other.
const leastTogether = 0.4

// process is what times are taken from where threads have none of their own.
var process = time.Now()

// spinOn keeps so many threads busy at the same time and returns the mean rate of
// those that had a core.
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
	sum, ran := 0.0, 0.0
	for _, r := range rates {
		if r > 0 {
			sum, ran = sum+r, ran+1
		}
	}
	return sum / max(ran, 1)
}

// spin returns how often a thread made 1,000 steps of a xorshift generator in a
// second of its own processor time (G. Marsaglia, "Xorshift RNGs", J. Stat. Softw.
// 8(14), 2003): integers in registers, as the workload cpu has them. It counts
// from a common moment on; until then it works, too, so that no clock is slow.
func spin(start time.Time, d time.Duration) float64 {
	rounds, x, began := 0, uint64(88172645463325252), time.Duration(0)
	for {
		for range 1000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		switch spent := time.Since(start); {
		case spent < 0:
		case began == 0:
			began = ownTime()
		case spent >= d && x != 0: // it is never 0; the compiler does not know
			return float64(rounds) / (ownTime() - began).Seconds()
		default:
			rounds++
		}
	}
}

// ownTime is the processor time of this thread, or the time where that is not known.
func ownTime() time.Duration {
	if used, ok := procself.ThreadTime(); ok {
		return used
	}
	return time.Since(process)
}
