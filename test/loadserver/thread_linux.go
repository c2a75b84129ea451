package loadserver

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// exactTimers has the system wake this thread when it asked for. Otherwise it
// may be up to 50 µs late, so that several sleepers can be woken at a time.
func exactTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("asking for exact timers: %w", err)
	}
	return nil
}

// beFirst gives this thread the processor as soon as it has something to do,
// before all that is not urgent: a server that computes next to nothing is not
// to be late because the generator beside it computes. Only root may ask for
// that; without it answers are late where the machine is busy, and the record
// says how late.
func beFirst() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{
		Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, // not for what the thread may start
	}, 0)
}
