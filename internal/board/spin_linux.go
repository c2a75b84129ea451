package board

import (
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// spin computes until its thread has used this much processor time, and returns
// how much it was. Time in which the thread waits for a processor, or is held
// back by a quota, does not count.
func spin(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start, _ := procself.ThreadTime() // Config.check has seen that it is known
	x := uint64(start) | 1
	for {
		for range 2000 { // some µs: reading the clock costs a tenth of that
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if now, _ := procself.ThreadTime(); now-start >= d {
			runtime.KeepAlive(x) // or a compiler might leave the work out
			return now - start
		}
	}
}

// timerSlack is how late a timer of this process may be.
const timerSlack = 5 * time.Millisecond

// Calm has the threads of this process sleep longer than they ask for. Go's
// runtime looks every 20 µs whether a thread that computes has computed for long
// enough, and that would cost a request a tenth of its work beside it. What it
// looks for may be late by some milliseconds then. It is best effort: without it
// requests cost more.
func Calm() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range threads { // those that they start inherit it
		_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", strconv.AppendInt(nil, int64(timerSlack), 10), 0o600) // see above
	}
}

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
