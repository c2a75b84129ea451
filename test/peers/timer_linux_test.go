package peers

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// timed is how long TestTimer lets a timer go off.
var timed = flag.Duration("timer", 0, "let a timer go off truthRate times a second for so long, and print how late it was")

// TestTimer is run by timer, in a process of its own.
func TestTimer(t *testing.T) {
	if *timed == 0 {
		t.Skip("a part of `make bench-load`")
	}
	late, err := lateness(truthRate, *timed)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(timerPrefix, late.Nanoseconds())
}

const timerPrefix = "timer:"

// timer is how late, at the 99.9th percentile, a thread on the generators'
// processor is that does nothing but wait for the moments at which the truthRate
// has something due: what no generator that sleeps there can do better.
func timer(t *testing.T, window time.Duration) time.Duration {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := newBox(t).command(self, "-test.run", "^TestTimer$", "-timer", window.String())
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	_, rest, _ := strings.Cut(string(out), timerPrefix)
	line, _, _ := strings.Cut(rest, "\n")
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatalf("%v printed %q", argv, out)
	}
	return time.Duration(ns)
}

// lateness waits for moments that are evenly spaced, and returns the 99.9th
// percentile of by how much it was late for each.
func lateness(rate float64, window time.Duration) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const exact = 1 // ns
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, exact, 0, 0, 0); err != nil {
		return 0, err
	}
	late := make([]time.Duration, int(rate*window.Seconds()))
	start := time.Now()
	for i := range late {
		due := time.Duration(float64(i) / rate * float64(time.Second))
		for left := due - time.Since(start); left > 0; left = due - time.Since(start) {
			rest := unix.NsecToTimespec(int64(left))
			_ = unix.Nanosleep(&rest, nil) // a signal may end it early
		}
		late[i] = time.Since(start) - due
	}
	slices.Sort(late)
	return late[len(late)*999/1000], nil
}
