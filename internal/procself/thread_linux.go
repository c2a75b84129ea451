package procself

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread runs f on a thread of its own that ends with f. What f changes
// about its thread (namespace, control group) can then never leak into other code,
// and need not be changed back, which might fail.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The runtime cannot end the main thread; held here, it is not
			// the one that the next goroutine gets.
			done <- OnThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f() // and the thread ends, because it is still locked
	}()
	return <-done
}
