package loadserver

import (
	"time"

	"golang.org/x/sys/unix"
)

func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // it is part of every Linux
	}
	return time.Duration(t.Nano())
}
