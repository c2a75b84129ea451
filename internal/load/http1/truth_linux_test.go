package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// clocked is a server that notes when requests come.
type clocked struct {
	*server
	mu    sync.Mutex
	times []time.Time
}

func serveClocked(t testing.TB) *clocked {
	k := &clocked{}
	k.server = serve(t, answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool {
		k.mu.Lock()
		k.times = append(k.times, time.Now())
		k.mu.Unlock()
		return say(c, okAnswer)
	}))
	return k
}

// first is when the first request came.
func (k *clocked) first() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.MinFunc(k.times, time.Time.Compare)
}

// lateness is by how much requests came after operations were due, each in
// order; in order of size.
func (k *clocked) lateness(start time.Time, due []time.Duration) []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.SortFunc(k.times, time.Time.Compare)
	late := make([]time.Duration, len(due))
	for i := range late {
		late[i] = k.times[i].Sub(start) - due[i]
	}
	slices.Sort(late)
	return late
}

// gaps are the times between requests, in seconds, in order of size.
func (k *clocked) gaps() []float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	slices.SortFunc(k.times, time.Time.Compare)
	var gaps []float64
	for i := 1; i < len(k.times); i++ {
		gaps = append(gaps, k.times[i].Sub(k.times[i-1]).Seconds())
	}
	slices.Sort(gaps)
	return gaps
}

// dueTimes are when the operations of a plan are due, in order, divided among so
// many loops.
func dueTimes(plan load.Plan, loops int) []time.Duration {
	var all []time.Duration
	for i := range loops {
		s := load.NewSchedule(plan, load.All.Split(i, loops))
		for due, ok := s.Next(); ok; due, ok = s.Next() {
			all = append(all, due)
		}
	}
	slices.Sort(all)
	return all
}

// TestArrivals: at the server, requests come when they were due, and so evenly
// spaced, or at exponential distances (Kolmogorov–Smirnov, p = .001); also from
// several loops together.
func TestArrivals(t *testing.T) {
	const rate = 300
	for _, arrivals := range []load.Arrivals{load.Constant, load.Poisson} {
		for _, loops := range []int{1, 2} {
			k := serveClocked(t)
			d := open(t, Config{Requests: get(k.url), Loops: loops})
			plan := hold(rate, time.Second)
			plan.Arrivals, plan.Seed = arrivals, 11
			start := time.Now().Add(20 * time.Millisecond)
			got := run(t.Context(), t, d, load.Run{Plan: plan, Drain: 10 * time.Second, Start: start})
			due := dueTimes(plan, loops)
			if n := k.requests.Load(); got.OK != int64(len(due)) || n != got.OK {
				t.Fatalf("%s, %d loops: %+v and %d requests, want %d", arrivals, loops, got.Counts, n, len(due))
			}
			late := k.lateness(start, due)
			// No machine is so busy that a request may be early, or all late.
			if late[0] < 0 || late[len(late)/10] > 2*time.Millisecond {
				t.Errorf("%s, %d loops: requests are late by %v, %v, …, %v", arrivals, loops, late[0], late[1], late[len(late)-1])
			}
			if p90 := late[len(late)*9/10]; p90 > 500*time.Microsecond {
				t.Logf("%s, %d loops: this machine is too busy to tell from its arrivals: one in ten is late by %v", arrivals, loops, p90)
				continue
			}
			if far := fromExpected(k.gaps(), arrivals, rate); far > 1.95/math.Sqrt(float64(len(due))) {
				t.Errorf("%s, %d loops: the times between %d requests are %.3f from what they should be", arrivals, loops, len(due), far)
			}
		}
	}
}

// fromExpected says how far times between arrivals are from evenly spaced ones
// (the share that is off by half) or from exponential ones (the largest
// distance between the distribution functions).
func fromExpected(gaps []float64, arrivals load.Arrivals, rate float64) float64 {
	far, n := 0.0, float64(len(gaps))
	for i, x := range gaps {
		if at := 1 - math.Exp(-rate*x); arrivals == load.Poisson {
			far = max(far, at-float64(i)/n, float64(i+1)/n-at)
		} else if math.Abs(x*rate-1) > .5 {
			far += 1 / n
		}
	}
	return far
}

// TestLatency: what is measured is what the server takes.
func TestLatency(t *testing.T) {
	s := serve(t, after(20*time.Millisecond))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	onCalmMachine(t, func() error {
		got := run(t.Context(), t, d, load.Run{Plan: hold(100, time.Second), Drain: time.Second})
		p0, p50, lag := got.latency.Min(), got.latency.ValueAtPercentile(50), got.lag.ValueAtPercentile(50)
		if p0 < 19.9e6 { // a histogram is exact to three digits
			t.Fatalf("the smallest latency is %v, want 20 ms at least", time.Duration(p0))
		}
		if p50 > 22e6 || lag > 500e3 {
			return fmt.Errorf("the median latency is %v, want little more than 20 ms; the median lag is %v", time.Duration(p50), time.Duration(lag))
		}
		return nil
	})
}

// TestStall: a server that stalls delays what was due meanwhile, and that is
// seen although there was no connection to send it over.
func TestStall(t *testing.T) {
	onCalmMachine(t, func() error {
		stall, ended := make(chan struct{}), make(chan time.Time, 1)
		s := serve(t, answer(func(_ *server, c *net.TCPConn, _ *http.Request) bool {
			<-stall
			return say(c, okAnswer)
		}))
		d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 2})
		r := load.Run{Plan: hold(200, time.Second), Drain: time.Second, Start: time.Now().Add(50 * time.Millisecond)}
		time.AfterFunc(time.Until(r.Start)+500*time.Millisecond, func() {
			ended <- time.Now() // later than asked for where the machine is busy
			close(stall)
		})
		got := run(t.Context(), t, d, r)
		if got.OK != 200 {
			t.Fatalf("%+v", got.Counts)
		}
		lasted := (<-ended).Sub(r.Start)
		if due := int64(200 * lasted.Seconds()); got.Waited < due-10 { // a loop that is kept from its processor is late itself
			return fmt.Errorf("of %d due while the server stalled, %d waited for it: %+v", due, got.Waited, got.Counts)
		}
		// What is due before the end of the stall waits for it, the first for
		// all of it; the latencies of the others are almost 0.
		for _, p := range []float64{25, 60, 75, 99} {
			want := max(0, lasted-time.Duration((1-p/100)*float64(time.Second)))
			if v := time.Duration(got.latency.ValueAtPercentile(p)); v < want-20*time.Millisecond || v > want+20*time.Millisecond {
				return fmt.Errorf("p%v is %v, want %v", p, v, want)
			}
		}
		return nil
	})
}

// TestRequests holds what is sent, and how answers are read, against the
// standard library's server.
func TestRequests(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 1<<20)
	url := serveHTTP(t, critic(large))
	gone, err := load.ParseStatuses("404")
	if err != nil {
		t.Fatal(err)
	}
	requests := []load.Request{
		{Method: http.MethodPost, URL: url + "/post", Body: []byte(large)},
		{Method: http.MethodPut, URL: url + "/empty"},
		{URL: url + "/header?a=b c&d", Header: http.Header{"host": {"name.test"}, "user-agent": {"me"}, "X-Two": {"1", "2"}, "cookie": {"a=b"}}},
		{URL: url + "/large"},
		{Method: http.MethodHead, URL: url + "/large"},
		{URL: url + "/chunks"},
		{URL: url + "/none"},
		{URL: url + "/hints"},
		{URL: url + "/unknown", Expect: gone},
	}
	for i := range requests {
		requests[i].Name, requests[i].Weight = fmt.Sprint(requests[i].Method, i, requests[i].URL), 1
	}
	d := open(t, Config{Requests: requests, Loops: 1, Connections: 3})
	got := run(t.Context(), t, d, load.Run{Plan: hold(100, time.Second), Drain: time.Minute})
	for i, o := range got.ops {
		if o.OK != o.Due || o.Due == 0 {
			t.Errorf("%s: %+v", requests[i].Name, o)
		}
	}
	if got.usage.Opened > 3 {
		t.Errorf("%d connections were opened: they are not used again", got.usage.Opened)
	}
}

// critic is a server that refuses what is not exactly what TestRequests sends,
// and answers in every way that there is; large is what it takes and gives.
func critic(large string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /post", func(w http.ResponseWriter, q *http.Request) {
		b, err := io.ReadAll(q.Body)
		if err != nil || string(b) != large || q.ContentLength != int64(len(large)) {
			http.Error(w, "not what was sent", http.StatusBadRequest)
		}
	})
	mux.HandleFunc("PUT /empty", func(w http.ResponseWriter, q *http.Request) {
		if q.ContentLength != 0 || q.Header.Get("Content-Length") != "0" {
			http.Error(w, "no length", http.StatusLengthRequired)
		}
	})
	mux.HandleFunc("GET /header", func(w http.ResponseWriter, q *http.Request) {
		want := http.Header{"User-Agent": {"me"}, "X-Two": {"1", "2"}, "Cookie": {"a=b"}}
		if !cmp.Equal(want, q.Header) || q.Host != "name.test" || q.RequestURI != "/header?a=b%20c&d" {
			http.Error(w, fmt.Sprint(q), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) })
	mux.HandleFunc("HEAD /large", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10485760") })
	mux.HandleFunc("GET /chunks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		for range 20 {
			_, _ = io.WriteString(w, large[:1000])
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Sum", "1")
	})
	mux.HandleFunc("GET /none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /hints", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusEarlyHints) })
	return mux
}

func serveHTTP(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var all sync.WaitGroup
	all.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}

// TestNoGarbage: what a run allocates does not grow with its operations.
func TestNoGarbage(t *testing.T) {
	page := []byte(nginxAnswer + strings.Repeat("x", 615))
	s := serve(t, func(_ *server, c *net.TCPConn) {
		b := make([]byte, 4096)
		for {
			if _, err := c.Read(b); err != nil { // a request is small, and comes whole
				return
			}
			if _, err := c.Write(page); err != nil {
				return
			}
		}
	})
	d := open(t, Config{Requests: get(s.url), Loops: 1, Connections: 16})
	r := load.Run{Plan: load.Plan{Closed: &load.Closed{Users: 16, Duration: 300 * time.Millisecond}}, Drain: time.Second,
		Share: load.All, Each: func(load.Second) {}}
	if _, err := d.Run(t.Context(), r); err != nil { // opens the connections
		t.Fatal(err)
	}
	var operations int64
	r.Each = func(s load.Second) { operations += s.Total().OK }
	var before, end runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := d.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&end)
	// A run costs some, as does each second of it; and Go's runtime.
	if n := int64(end.Mallocs - before.Mallocs); operations < 1000 || n > 300+operations/100 {
		t.Errorf("%d allocations in %d operations", n, operations)
	}
}

// TestNoFiles: a machine that has no more files ends the run, and says what to
// do.
func TestNoFiles(t *testing.T) {
	s := serve(t, never())
	d := open(t, Config{Requests: get(s.url), Loops: 2})
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: uint64(openFiles(t) + 10), Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	got := run(t.Context(), t, d, load.Run{Plan: hold(1000, time.Hour), Drain: time.Hour})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(got.err, model.ErrUnavailable) || !strings.Contains(fmt.Sprint(got.err), "ulimit") || got.Unfinished < 4 || got.took > 5*time.Second {
		t.Errorf("after %v: %v, %+v", got.took, got.err, got.Counts)
	}
}

// TestBusy: a loop that is kept from its work says so.
func TestBusy(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ wanted, passed, want time.Duration }{
		{10 * ms, 10*ms + 50*time.Microsecond, 10*ms + 50*time.Microsecond}, // as exact as a timer is
		{10 * ms, 15 * ms, 10 * ms},                                         // 5 ms late
		{10 * ms, 3 * ms, 3 * ms},                                           // something happened
		{-2 * ms, time.Microsecond, 0},
		{-2 * ms, 5 * ms, 0},
		{10 * ms, time.Microsecond, 0}, // it had happened already
	} {
		if got := waitedFor(c.wanted, c.passed); got != c.want {
			t.Errorf("waitedFor(%v, %v) = %v, want %v", c.wanted, c.passed, got, c.want)
		}
	}
	for _, c := range []struct {
		woken, from, at, now, want time.Duration
	}{
		{10 * ms, 10 * ms, 20 * ms, 15 * ms, 15 * ms}, // woken by what happened
		{10 * ms, 10 * ms, 20 * ms, 20 * ms, 20 * ms}, // and by the clock
		{10 * ms, 14 * ms, 20 * ms, 14 * ms, 10 * ms}, // it was at work for long
		{10 * ms, 14 * ms, 20 * ms, 15 * ms, 15 * ms}, // but nothing had happened
		{10 * ms, 10 * ms, 20 * ms, 90 * ms, 20 * ms}, // woken late
		{10 * ms, 10 * ms, 5 * ms, 90 * ms, 10 * ms},  // and not waiting
	} {
		if got := since(c.woken, c.from, c.at, c.now); got != c.want {
			t.Errorf("since(%v, %v, %v, %v) = %v, want %v", c.woken, c.from, c.at, c.now, got, c.want)
		}
	}
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	onCalmMachine(t, func() error {
		idle := run(t.Context(), t, d, load.Run{Plan: hold(50, 300*ms), Drain: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 300*ms)
		defer cancel()
		// Who is refused at once never waits.
		full := run(ctx, t, open(t, Config{Requests: get(closedPort(t)), Loops: 1}), load.Run{Plan: hold(1e6, time.Hour), Drain: time.Second})
		if idle.usage.Busy > .3 || full.usage.Busy < .5 {
			return fmt.Errorf("busy is %.2f at 50/s, and %.2f when there is too much to do", idle.usage.Busy, full.usage.Busy)
		}
		return nil
	})
}

// nginxAnswer is what nginx says about a small page.
const nginxAnswer = "HTTP/1.1 200 OK\r\nServer: nginx/1.26.0\r\nDate: Sat, 21 Nov 2026 10:00:00 GMT\r\nContent-Type: text/html\r\n" +
	"Content-Length: 615\r\nLast-Modified: Tue, 23 Apr 2024 14:04:32 GMT\r\nConnection: keep-alive\r\nETag: \"6627bff0-267\"\r\nAccept-Ranges: bytes\r\n\r\n"
