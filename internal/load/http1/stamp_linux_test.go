package http1

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
)

// heldUp is a wall clock that takes so long to be read once a run has begun: a
// loop reads it after it was woken up, before it reads answers.
func heldUp(lasts time.Duration) func() time.Time {
	readings := 0
	return func() time.Time {
		if readings++; readings <= comparisons {
			return time.Now()
		}
		for begin := time.Now(); time.Since(begin) < lasts; { // as another thread on its processor does
		}
		return time.Now()
	}
}

// inParts answers with a header, and after a while with the body.
func inParts(pause time.Duration) func(*server, *net.TCPConn) {
	const header = len(okAnswer) - 2
	return answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		return say(c, okAnswer[:header]) && s.wait(pause) && say(c, okAnswer[header:])
	})
}

// medians are how long answers took from when requests were sent, and how late
// they were read.
func medians(got result) (service, late time.Duration) {
	return time.Duration(got.service.ValueAtPercentile(50)), time.Duration(got.read.ValueAtPercentile(50))
}

// TestHeldUp: where a loop is held up between an answer and reading it, that is
// no part of the latency, and is shown: once, or twice where something else has
// woken it just before. An answer in several segments came with the last of
// them, also where they are read together.
func TestHeldUp(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		name          string
		handle        func(*server, *net.TCPConn)
		hold          time.Duration
		service, late time.Duration
	}{
		{"not at all", after(5 * ms), 0, 5 * ms, 0},
		{"for 4 ms", always(okAnswer), 4 * ms, 0, 4 * ms},
		{"between two parts", inParts(20 * ms), 8 * ms, 20 * ms, 8 * ms},
		{"for longer than two parts take", inParts(5 * ms), 40 * ms, 5 * ms, 35 * ms},
	} {
		s := serve(t, x.handle)
		d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 1})
		onCalmMachine(t, func() error {
			d.(*driver).loops[0].wall = heldUp(x.hold)
			got := run(t.Context(), t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: 500 * ms}}, Drain: time.Second})
			service, late := medians(got)
			if service < x.service || got.OK < 5 {
				t.Fatalf("held up %s: the median of %d answers took %v, want %v at least", x.name, got.OK, service, x.service)
			}
			if service > x.service+2*ms || late < x.late-ms || late > x.late+x.hold+2*ms || got.read.TotalCount() < got.OK-1 {
				return fmt.Errorf("held up %s: answers took %v and were read %v late (%d of %d), want %v and %v",
					x.name, service, late, got.read.TotalCount(), got.OK, x.service, x.late)
			}
			return nil
		})
	}
}

// TestStampsTurnedOff: without stamps answers count from when they are read, and
// nothing is said of how late that was.
func TestStampsTurnedOff(t *testing.T) {
	const hold = 3 * time.Millisecond
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 1})
	l := d.(*driver).loops[0]
	r := load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: 100 * time.Millisecond}}, Drain: time.Second}
	if got := run(t.Context(), t, d, r); got.read.TotalCount() == 0 {
		t.Fatalf("no stamps in %d answers", got.OK)
	}
	for _, c := range l.conns {
		if err := unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 0); err != nil {
			t.Fatal(err)
		}
	}
	l.wall = heldUp(hold)
	got := run(t.Context(), t, d, r)
	if service, _ := medians(got); got.OK == 0 || got.read.TotalCount() > 0 || got.usage.Rejected > 0 || service < hold {
		t.Errorf("%d answers took %v, of which %d have stamps and %d stamps were rejected; want %v without any",
			got.OK, service, got.read.TotalCount(), got.usage.Rejected, hold)
	}
}

// TestEndWithoutStamp: an answer that ends with its connection was whole when
// that was noticed.
func TestEndWithoutStamp(t *testing.T) {
	const pause = 20 * time.Millisecond
	s := serve(t, answer(func(s *server, c *net.TCPConn, _ *http.Request) bool {
		return say(c, "HTTP/1.1 200 OK\r\n\r\nok") && s.wait(pause) && false
	}))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, 200*time.Millisecond), Drain: time.Second})
	if got.OK != 20 || got.read.TotalCount() != 0 || time.Duration(got.service.Min()) < pause*99/100 {
		t.Errorf("%d answers took %v at least, %d with a stamp; want 20 of %v without", got.OK, time.Duration(got.service.Min()), got.read.TotalCount(), pause)
	}
}

// TestWallClockIsSet: while the wall clock is not the one that the kernel stamps
// with, answers count from when they are read; before and after by their stamps.
func TestWallClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, time.Second} {
		s := serve(t, always(okAnswer))
		d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 1})
		for stamped := int64(0); stamped == 0; { // the kernel begins to stamp a while after it was asked to
			stamped = run(t.Context(), t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: 20 * time.Millisecond}}, Drain: time.Second}).read.TotalCount()
		}
		readings := 0
		d.(*driver).loops[0].wall = func() time.Time {
			if readings++; readings > 200 && readings <= 300 {
				return time.Now().Add(step)
			}
			return time.Now()
		}
		got := run(t.Context(), t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: 500 * time.Millisecond}}, Drain: time.Second})
		if stamped := got.read.TotalCount(); got.OK < 300 || got.usage.Rejected < 10 || got.usage.Rejected > 110 || stamped < got.OK-got.usage.Rejected-10 {
			t.Errorf("set by %v: of %d answers %d have stamps, and %d stamps were rejected", step, got.OK, stamped, got.usage.Rejected)
		}
		if most := time.Duration(max(got.service.Max(), got.read.Max())); most > got.took {
			t.Errorf("set by %v: something took %v in a run of %v", step, most, got.took)
		}
	}
}

// TestTimelyAnswersReadLate: an answer that came in time is no timeout where it
// was read too late.
func TestTimelyAnswersReadLate(t *testing.T) {
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 1, Timeout: 100 * time.Millisecond})
	r := load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: time.Second}}, Drain: time.Second}
	run(t.Context(), t, d, r) // opens the connection: that an answer to it is late would count
	onCalmMachine(t, func() error {
		d.(*driver).loops[0].wall = heldUp(150 * time.Millisecond)
		if got := run(t.Context(), t, d, r); got.OK < 3 || got.OK+got.Dropped != got.Due { // what is sent too late is dropped
			return fmt.Errorf("%+v", got.Counts)
		}
		return nil
	})
}

// TestOutOfOrder: where the end of an answer came before its beginning, which
// was lost, it was whole when the beginning came.
func TestOutOfOrder(t *testing.T) {
	const pause = 30 * time.Millisecond
	for _, disordered := range []bool{false, true} {
		p := startPeer(t, disordered, pause)
		d := open(t, Config{Requests: get(p.url), Loops: 1, Connections: 1})
		onCalmMachine(t, func() error {
			got := run(t.Context(), t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1, Duration: 500 * time.Millisecond}}, Drain: time.Second})
			stamped, least := got.read.TotalCount(), time.Duration(got.service.Min())
			if got.OK < 5 || least < pause*99/100 {
				t.Fatalf("disordered is %v: %+v, taking %v at least, want %v", disordered, got.Counts, least, pause)
			}
			if disordered && (stamped > 0 || got.usage.Rejected < got.OK-1) || !disordered && stamped < got.OK-1 {
				return fmt.Errorf("disordered is %v: of %d answers %d have stamps that were believed, %d others", disordered, got.OK, stamped, got.usage.Rejected)
			}
			return nil
		})
	}
}

// TestManyStamps: a loop that has nothing else to do reads stamps with almost
// all answers, whichever way they are read.
func TestManyStamps(t *testing.T) {
	for _, spin := range []bool{false, true} {
		s := serve(t, always(okAnswer))
		d := open(t, Config{Requests: get(s.url), Loops: 2, Connections: 8, Spin: spin})
		got := run(t.Context(), t, d, load.Run{Plan: hold(2000, 500*time.Millisecond), Drain: time.Second})
		if n := got.read.TotalCount(); got.OK != 1000 || n < 900 || got.usage.Rejected > 50 {
			t.Errorf("spin is %v: of %d answers %d have stamps, and %d stamps were rejected", spin, got.OK, n, got.usage.Rejected)
		}
	}
}

// TestNoSegmentsCounted: a kernel that does not say how segments came is told
// from one where they came in order.
func TestNoSegmentsCounted(t *testing.T) {
	r := newReceiver()
	defer r.close()
	if _, known := r.outOfOrder(r.keeper); known { // it is no TCP socket
		t.Error("it is known of a socket that has no segments")
	}
	if _, _, errno := r.read(-1); !errors.Is(errno, unix.EBADF) {
		t.Errorf("reading from no socket: %v", errno)
	}
}
