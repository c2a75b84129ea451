package facts

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return time.Since(process)
	}
	return time.Duration(t.Nano())
}
