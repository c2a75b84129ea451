package runner

import (
	"context"
	"runtime"
	"time"
)

// spin is how long before the start the child stops sleeping and watches the
// clock: about the time that a kernel needs to wake a sleeper on an idle CPU.
const spin = 200 * time.Microsecond

// nap bounds one sleep, so that a step of the wall clock or a cancel is
// noticed.
const nap = 50 * time.Millisecond

// waitUntil returns at this wall-clock time, or at the end of ctx. It does not
// use time.Sleep for the last stretch: its timers may be a millisecond late,
// because the runtime waits for them in whole milliseconds.
func waitUntil(ctx context.Context, at time.Time) {
	runtime.LockOSThread() // the thread that sleeps is the one that spins
	defer runtime.UnlockOSThread()
	at = at.Round(0) // compare wall clocks
	for ctx.Err() == nil {
		left := time.Until(at)
		if left <= spin {
			break
		}
		sleep(min(left-spin, nap))
	}
	for time.Now().Before(at) && ctx.Err() == nil {
		continue
	}
}
