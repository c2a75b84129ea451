package load

import (
	"runtime"
	"sync"
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

// Cores is how many processors this process may use at a time, by its affinity
// and the quota of its cgroup, as Go found it. Drivers may raise GOMAXPROCS
// beyond that once they have called this.
func Cores() int { return cores() }

var cores = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })
