package runner

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep blocks the thread in nanosleep, which is late by the timer slack
// (50 µs) and by the scheduler; the spin makes up for the slack. It may return
// early.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil) // an interrupted sleep is resumed by the caller's loop
}
