package procself

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime is the processor time that the calling thread has used; ok is false
// where the system does not tell. Who measures a part of the program locks it to its
// thread.
func ThreadTime() (used time.Duration, ok bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
