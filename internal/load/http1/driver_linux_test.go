package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
)

// open makes a driver that is closed when the test ends.
func open(t testing.TB, c Config) load.Driver {
	t.Helper()
	d, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// get is a request for a URL.
func get(url string) []load.Request {
	return []load.Request{{Name: "get", URL: url + "/path?q=1", Weight: 1}}
}

// hold is a plan of one rate, in operations per second.
func hold(rate float64, d time.Duration) load.Plan {
	return load.Plan{Arrivals: load.Constant, Stages: []load.Stage{load.Hold(rate, d)}, Seed: 1}
}

// result is what a run came to.
type result struct {
	load.Counts
	ops     []load.Counts
	replies int64
	seconds int
	sent    int64
	latency *hdr.Histogram
	service *hdr.Histogram
	lag     *hdr.Histogram
	read    *hdr.Histogram // ReceiveLag
	usage   load.Usage
	err     error
	took    time.Duration
}

// run executes a plan, checks what must be true of every run, and adds up.
func run(ctx context.Context, t testing.TB, d load.Driver, r load.Run) result {
	t.Helper()
	res := result{ops: make([]load.Counts, len(d.Ops())),
		latency: hdr.New(1, int64(load.Longest), 3), service: hdr.New(1, int64(load.Longest), 3), lag: hdr.New(1, int64(load.Longest), 3), read: hdr.New(1, int64(load.Longest), 3)}
	if r.Share == (load.Share{}) {
		r.Share = load.All
	}
	r.Each = func(s load.Second) {
		if s.Index != res.seconds {
			t.Errorf("second %d comes after %d others", s.Index, res.seconds)
		}
		res.seconds++
		res.Add(s.Total())
		res.replies += s.Replies
		res.sent += s.Sent
		res.lag.Merge(s.Lag)
		res.read.Merge(s.ReceiveLag)
		for i, o := range s.Ops {
			res.ops[i].Add(o.Counts)
			res.latency.Merge(o.Latency)
			res.service.Merge(o.Service)
		}
	}
	begin := time.Now()
	res.usage, res.err = d.Run(ctx, r)
	res.took = time.Since(begin)
	if res.Due != res.Settled() {
		t.Errorf("%d operations were due, and %d have an end: %+v", res.Due, res.Settled(), res.Counts)
	}
	if res.replies != res.OK || res.latency.TotalCount() != res.OK {
		t.Errorf("%d are OK, of %d replies, with %d latencies", res.OK, res.replies, res.latency.TotalCount())
	}
	if left := res.Due - res.Dropped; res.lag.TotalCount() != left {
		t.Errorf("%d have a lag, want all %d that were not dropped", res.lag.TotalCount(), left)
	}
	if u := res.usage; u.Busy < 0 || u.Busy > 1 || u.CPU < 0 {
		t.Errorf("usage %+v", u)
	}
	return res
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, loops := range []int{1, 2, 3} {
		s := serve(t, always(okAnswer))
		d := open(t, Config{Requests: get(s.url), Loops: loops, Connections: 30})
		got := run(t.Context(), t, d, load.Run{Plan: hold(1000, 500*time.Millisecond), Drain: time.Second})
		if got.err != nil {
			t.Fatal(got.err)
		}
		if want := (load.Counts{Due: 500, OK: 500, Late: got.Late, Waited: got.Waited}); !cmp.Equal(got.Counts, want) {
			t.Errorf("%d loops: %+v, want %+v", loops, got.Counts, want)
		}
		if n := s.requests.Load(); n != got.Due {
			t.Errorf("%d loops: the server saw %d requests, want %d", loops, n, got.Due)
		}
		if want := int64(500 * len("GET /path?q=1 HTTP/1.1\r\nHost: 127.0.0.1:12345\r\nUser-Agent: scalebench\r\n\r\n")); got.sent < want-1000 || got.sent > want {
			t.Errorf("%d loops: %d bytes were sent, want about %d", loops, got.sent, want)
		}
		if n := got.usage.Opened; n != s.accepted.Load() || n < int64(loops) || n > 30 {
			t.Errorf("%d loops opened %d connections, and the server accepted %d", loops, n, s.accepted.Load())
		}
		if got.usage.Wall < 500*time.Millisecond || got.usage.CPU <= 0 || got.usage.Busy <= 0 {
			t.Errorf("%d loops: usage %+v", loops, got.usage)
		}
	}
}

// TestConnectionsStay: a second run opens none; and those that the server has
// closed between runs are not used.
func TestConnectionsStay(t *testing.T) {
	t.Parallel()
	s := serve(t, after(5*time.Millisecond))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	r := load.Run{Plan: hold(1000, 200*time.Millisecond), Drain: time.Second}
	first := run(t.Context(), t, d, r)
	r.Plan = hold(100, 200*time.Millisecond)
	second := run(t.Context(), t, d, r)
	if first.usage.Opened < 2 || second.usage.Opened != 0 || second.OK != 20 {
		t.Errorf("the first run opened %d connections, the second %d more: %+v", first.usage.Opened, second.usage.Opened, second.Counts)
	}
	s.closeAll()
	awaitClosed(t, s)
	third := run(t.Context(), t, d, r)
	if third.OK != 20 || third.usage.Opened == 0 {
		t.Errorf("after the server closed all connections %d were opened: %+v", third.usage.Opened, third.Counts)
	}
}

// awaitClosed waits until the server is rid of all connections.
func awaitClosed(t testing.TB, s *server) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; s.wait(time.Millisecond) {
		s.mu.Lock()
		n := len(s.conns)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d connections: %v", n, errTooLate)
		}
	}
}

// TestServerCloses: connections that the server closes after an answer are no
// failure, whether it says so or not.
func TestServerCloses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"close":         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"until the end": "HTTP/1.1 200 OK\r\n\r\nok",
		"HTTP/1.0":      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
	} {
		s := serve(t, once(text))
		d := open(t, Config{Requests: get(s.url), Loops: 1})
		got := run(t.Context(), t, d, load.Run{Plan: hold(400, 250*time.Millisecond), Drain: time.Second})
		if got.OK != 100 || got.usage.Opened != 100 {
			t.Errorf("%s: %d connections: %+v", name, got.usage.Opened, got.Counts)
		}
		if n := occupiedPorts(t, s) - s.occupied; n > 5 {
			t.Errorf("%s: %d local ports are still occupied", name, n)
		}
	}
}

// occupiedPorts counts closed connections to a server that still occupy a port
// (TIME_WAIT in /proc/net/tcp).
func occupiedPorts(t testing.TB, s *server) int {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const timeWait = "06"
	to := fmt.Sprintf("0100007F:%04X", s.listener.Addr().(*net.TCPAddr).Port)
	n := 0
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == to && f[3] == timeWait {
			n++
		}
	}
	return n
}

// TestDropped: what the only connection has no time for waits, and is dropped
// when it has waited for as long as an answer may take.
func TestDropped(t *testing.T) {
	s := serve(t, after(50*time.Millisecond))
	d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 1, Timeout: 100 * time.Millisecond})
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, 500*time.Millisecond), Drain: time.Second})
	// One is served every 50 ms; those that were due in the 100 ms before are
	// there to be sent, each after the one before.
	if got.Due != 50 || got.OK < 8 || got.OK > 13 || got.OK+got.Dropped != 50 || got.Waited != got.OK-1 {
		t.Errorf("%+v", got.Counts)
	}
	if s.requests.Load() != got.OK {
		t.Errorf("the server saw %d requests, and %d are OK", s.requests.Load(), got.OK)
	}
	// The latency counts from when they were due.
	if p := time.Duration(got.latency.ValueAtPercentile(50)); p < 90*time.Millisecond || p > 170*time.Millisecond {
		t.Errorf("the median latency is %v, want about 100 ms of waiting and 50 of service", p)
	}
}

// TestStalledOrigin: what is for one server does not wait for another.
func TestStalledOrigin(t *testing.T) {
	slow, fast := serve(t, never()), serve(t, always(okAnswer))
	requests := append(get(slow.url), get(fast.url)...)
	requests[1].Name = "fast"
	d := open(t, Config{Requests: requests, Loops: 1, Connections: 4, Timeout: 300 * time.Millisecond})
	onCalmMachine(t, func() error {
		got := run(t.Context(), t, d, load.Run{Plan: hold(1000, 500*time.Millisecond), Drain: 100 * time.Millisecond})
		stalled, other := got.ops[0], got.ops[1]
		if stalled.OK != 0 || stalled.Due < 200 || stalled.Errors[load.ErrTimeout] < 4 || stalled.Dropped < 100 {
			t.Fatalf("the server that never answers: %+v", stalled)
		}
		if other.Due != 500-stalled.Due || other.OK+other.Failed() < other.Due*9/10 {
			t.Fatalf("the other: %+v", other)
		}
		if p := time.Duration(got.latency.ValueAtPercentile(90)); p > 20*time.Millisecond || other.OK != other.Due {
			return fmt.Errorf("of the other, p90 is %v: %+v", p, other)
		}
		return nil
	})
}

// TestStop: a run with only busy connections ends within a second of being
// stopped.
func TestStop(t *testing.T) {
	for _, loops := range []int{1, 2} {
		s := serve(t, never())
		d := open(t, Config{Requests: get(s.url), Loops: loops, Connections: 8, Timeout: time.Hour})
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		var told time.Time
		s.all.Go(func() {
			for s.requests.Load() < 8 {
				if !s.wait(time.Millisecond) {
					return
				}
			}
			told = time.Now()
			cancel(why)
		})
		got := run(ctx, t, d, load.Run{Plan: hold(1000, time.Hour), Drain: time.Hour})
		if took := time.Since(told); took > time.Second || !errors.Is(got.err, why) {
			t.Errorf("%d loops: it stopped after %v with %v", loops, took, got.err)
		}
		if got.Unfinished != 8 || got.OK+got.Failed() != 0 {
			t.Errorf("%d loops: %+v", loops, got.Counts)
		}
	}
}

func TestStoppedBefore(t *testing.T) {
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := run(ctx, t, d, load.Run{Plan: hold(1000, time.Hour)}); !errors.Is(got.err, context.Canceled) || got.Due != 0 {
		t.Errorf("a run that was stopped before it began: %v, %+v", got.err, got.Counts)
	}
	// And while it waits for its beginning.
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got := run(ctx, t, d, load.Run{Plan: hold(1000, time.Hour), Start: time.Now().Add(time.Hour)})
	if !errors.Is(got.err, context.DeadlineExceeded) || got.Due != 0 || got.took > time.Second || got.usage.Wall != 0 {
		t.Errorf("a run that was stopped before its time: %v, %+v", got.err, got)
	}
}

// TestDrain: at its end a run waits for answers as long as it was told.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := serve(t, after(300*time.Millisecond))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	r := load.Run{Plan: hold(100, 100*time.Millisecond), Drain: 50 * time.Millisecond}
	short := run(t.Context(), t, d, r)
	if short.Due != 10 || short.Unfinished != 10 || short.err != nil || short.took < 150*time.Millisecond || short.took > time.Second {
		t.Errorf("a short drain took %v: %v %+v", short.took, short.err, short.Counts)
	}
	r.Drain = time.Minute
	if long := run(t.Context(), t, d, r); long.OK != 10 || long.took > 10*time.Second {
		t.Errorf("a long drain took %v: %+v", long.took, long.Counts)
	}
}

// TestPause: a run lasts as long as its plan, also where nothing is due, and
// each second of it is handed over.
func TestPause(t *testing.T) {
	t.Parallel()
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 2})
	plan := hold(20, 100*time.Millisecond)
	plan.Stages = append(plan.Stages, load.Hold(0, 1500*time.Millisecond))
	got := run(t.Context(), t, d, load.Run{Plan: plan})
	if got.OK != 2 || got.seconds != 2 || got.took < 1600*time.Millisecond || got.usage.Busy > .5 {
		t.Errorf("%d seconds, in %v: %+v", got.seconds, got.took, got)
	}
}

// TestStart: a run begins at the time that it was given.
func TestStart(t *testing.T) {
	k := serveClocked(t)
	d := open(t, Config{Requests: get(k.url), Loops: 2})
	start := time.Now().Add(150 * time.Millisecond).Round(0) // without a monotonic reading
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, 100*time.Millisecond), Drain: time.Second, Start: start})
	if late := k.first().Sub(start); late < -time.Millisecond || late > 100*time.Millisecond || got.OK != 10 {
		t.Errorf("the first request came %v after the start: %+v", late, got.Counts)
	}
	if got.usage.Wall > got.took-100*time.Millisecond {
		t.Errorf("wall time %v of %v includes the time before the start", got.usage.Wall, got.took)
	}
}

// TestClosedLoop: ten users who do not think are served one after the other by
// their own connections: N = X·R.
func TestClosedLoop(t *testing.T) {
	s := serve(t, after(10*time.Millisecond))
	d := open(t, Config{Requests: get(s.url), Loops: 2})
	got := run(t.Context(), t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 10, Duration: time.Second}}, Drain: time.Second})
	if got.OK != got.Due || got.OK > 1010 || got.OK < 500 {
		t.Errorf("10 users, 10 ms each: %+v, want almost 1000", got.Counts)
	}
	if got.usage.Opened != 10 {
		t.Errorf("10 users have %d connections", got.usage.Opened)
	}
}

// TestClosedLoopRefused: a loop can be stopped even if the server refuses all
// users.
func TestClosedLoopRefused(t *testing.T) {
	t.Parallel()
	d := open(t, Config{Requests: get(closedPort(t)), Loops: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	got := run(ctx, t, d, load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 1000, Duration: time.Hour}}, Drain: time.Hour})
	if got.took > 1500*time.Millisecond || got.Errors[load.ErrConnect] == 0 || got.OK > 0 || !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("after %v: %v, %+v", got.took, got.err, got.Counts)
	}
}
