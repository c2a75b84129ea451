package load

import (
	"syscall"
	"time"
)

// ProcessorTime is how long this process has computed since it began, on all
// processors, for itself and in the kernel.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
