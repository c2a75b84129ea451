package http1

import (
	"fmt"
	"os"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// slowFor answers after 40 ms, but every 100th request after 400 ms, and every
// 100th, half way between those, with status 503. Of 40 ms, 5 % is much beside
// what a busy machine adds to one request in 100.
var slowFor = loadserver.Behaviour{
	Service: 40 * time.Millisecond,
	Slow:    loadserver.Slow{Share: .01, Extra: 360 * time.Millisecond},
	Fail:    loadserver.Fail{Share: .01, How: loadserver.Status},
}

// The two latencies, in seconds.
var (
	fast = slowFor.Service.Seconds()
	slow = (slowFor.Service + slowFor.Slow.Extra).Seconds()
)

// step is what a percentile should be, in seconds.
type step struct{ percentile, want float64 }

// Other work on the machine delays some of the fast in any short time, so that
// the percentiles just below the step, and the very last, are for the proof.
var (
	shortSteps = []step{{50, fast}, {90, fast}, {99.1, slow}, {99.5, slow}}
	proofSteps = []step{{50, fast}, {90, fast}, {95, fast}, {98.5, fast}, {99.1, slow}, {99.5, slow}, {99.9, slow}}
)

// TestSlowForSome: of 100 requests 98 are fast, one is slow and one fails. So
// among the OK the step is at 98/99, p98.99. Percentiles below it are those of
// the fast, and above it those of the slow. How many there are of each is
// exact, on any machine.
func TestSlowForSome(t *testing.T) {
	parts.Begin(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	lasts, steps, tries := time.Second, shortSteps, 8
	if os.Getenv("LOAD_PROOF") != "" {
		lasts, steps, tries = time.Minute, proofSteps, 2
	}
	server := loadserver.Start(t, slowFor)
	repeatedly(t, tries, func() error {
		server.Set(slowFor)
		d := open(t, Config{Requests: get("http://" + server.Address()), Loops: 1})
		const rate = 2000
		got := run(t.Context(), t, d, load.Run{Plan: hold(rate, lasts), Drain: 10 * time.Second})
		checkShares(t, got, int64(rate*lasts.Seconds()), server.Take())
		return checkStep(t, got.latency, steps)
	})
}

// checkShares: of n requests one in 100 failed and one in 100 was held back,
// and the server says the same.
func checkShares(t *testing.T, got result, n int64, did loadserver.Record) {
	t.Helper()
	if got.Due != n || got.OK != n*99/100 || got.Errors[load.ErrStatus] != n/100 {
		t.Fatalf("%+v, want %d due, %d OK and %d by status", got.Counts, n, n*99/100, n/100)
	}
	if by := got.Statuses.Counted(); len(by) != 1 || by[0] != (load.StatusCount{Status: 503, Count: n / 100}) {
		t.Fatalf("by status: %v, want %d times 503", by, n/100)
	}
	if ok, failed := did.Count(loadserver.OK), did.Count(loadserver.Failed); int64(ok) != got.OK || int64(failed) != n/100 {
		t.Fatalf("the server answered %d well and %d with status 503: %+v", ok, failed, got.Counts)
	}
	if held := over(got.latency, 399*time.Millisecond); held < n/100 {
		t.Fatalf("%d took 400 ms or more, want %d", held, n/100)
	}
}

// checkStep reports where percentiles are not within 5 % of what they should
// be, or another number took long than was held back.
func checkStep(t *testing.T, h *hdr.Histogram, steps []step) error {
	t.Helper()
	mean := (98*fast + slow) / 99
	text := fmt.Sprintf("%d requests: mean %.2f ms (by arithmetic %.2f)", h.TotalCount(), h.Mean()/1e6, 1e3*mean)
	var wrong error
	if far(h.Mean()/1e9, mean) {
		wrong = fmt.Errorf("the mean is %v s, want %v within 5 %%", h.Mean()/1e9, mean)
	}
	for _, c := range steps {
		got := float64(h.ValueAtPercentile(c.percentile)) / 1e9
		text += fmt.Sprintf(", p%v %.2f (%.0f)", c.percentile, 1e3*got, 1e3*c.want)
		if far(got, c.want) {
			wrong = fmt.Errorf("p%v is %v s, want %v within 5 %%", c.percentile, got, c.want)
		}
	}
	t.Log(text)
	if n, want := over(h, 350*time.Millisecond), h.TotalCount()/99; n != want {
		return fmt.Errorf("%d took more than 350 ms, want just the %d that were held back", n, want)
	}
	return wrong
}

// over counts what took longer.
func over(h *hdr.Histogram, limit time.Duration) int64 {
	var n int64
	for _, bar := range h.Distribution() {
		if bar.From > int64(limit) {
			n += bar.Count
		}
	}
	return n
}

// TestFailuresExact: each way to fail is counted as its kind, as often as the
// server did it, on any machine.
func TestFailuresExact(t *testing.T) {
	parts.Begin(t)
	t.Parallel()
	server := loadserver.Start(t, loadserver.Behaviour{})
	for how, kind := range map[loadserver.Failure]load.Kind{
		loadserver.Status: load.ErrStatus, loadserver.Close: load.ErrClosed, loadserver.Reset: load.ErrClosed,
	} {
		server.Set(loadserver.Behaviour{Service: time.Millisecond, Fail: loadserver.Fail{Share: .07, How: how}})
		d := open(t, Config{Requests: get("http://" + server.Address()), Loops: 1})
		got := run(t.Context(), t, d, load.Run{Plan: hold(2000, 200*time.Millisecond), Drain: 10 * time.Second})
		const failed = 28 // 7 % of 400
		if got.Due != 400 || got.OK != 400-failed || got.Errors[kind] != failed {
			t.Errorf("%s: %+v, want %d OK and %d of the kind %s", how, got.Counts, 400-failed, failed, kind)
		}
		if r := server.Take(); len(r.Requests) != 400 || r.Count(loadserver.OK) != 400-failed {
			t.Errorf("%s: the server had %d requests, %d of them OK", how, len(r.Requests), r.Count(loadserver.OK))
		}
	}
}
