package load

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// lateAlarm is an alarm on a machine that has no time: it wakes late.
type lateAlarm struct {
	alarm
	by time.Duration
}

func (a lateAlarm) sleep(d time.Duration) { a.alarm.sleep(d + a.by) }

// latePool is a pool with such an alarm.
func latePool(t *testing.T, f *fake, c PoolConfig, by time.Duration) *Pool {
	p := fakePool(t, f, c)
	p.newAlarm = func() (alarm, error) {
		a, err := newTimerAlarm()
		return lateAlarm{a, by}, err
	}
	return p
}

// TestPoolSaysThatItIsLate: what the generator delays is latency, and is told
// apart from what the server does.
func TestPoolSaysThatItIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(10 * ms)}
		x := run(t.Context(), latePool(t, f, PoolConfig{Clients: 5}, 4*ms), Run{Plan: constantRate(10, time.Second), Drain: time.Second})
		x.check(t, 0)
		if diff := cmp.Diff(Counts{Due: 10, OK: 10, Late: 9}, x.total); diff != "" { // the first is due at once
			t.Errorf("total (-want +got):\n%s", diff)
		}
		for want, h := range map[time.Duration]*hdr.Histogram{4 * ms: x.lag, 14 * ms: x.latency, 10 * ms: x.service} {
			if got := float64(h.ValueAtPercentile(50)); math.Abs(got/float64(want)-1) > .001 {
				t.Errorf("median %v, want %v", time.Duration(got), want)
			}
		}
		if x.Busy < .035 || x.Busy > .045 {
			t.Errorf("busy %v, want 4 of 100 ms", x.Busy)
		}
	})
}

// TestPoolDoesNotDropForItself: an operation that is late for the generator's
// sake is sent, however late, as long as a client is free or may be opened.
func TestPoolDoesNotDropForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(ms)}
		p := latePool(t, f, PoolConfig{Clients: 5, Timeout: 100 * ms}, 500*ms)
		x := run(t.Context(), p, Run{Plan: constantRate(4, 2*time.Second), Drain: 10 * time.Second})
		x.check(t, 0)
		// It wakes at 0.75, 1.5 and 2.25 s.
		if diff := cmp.Diff(Counts{Due: 8, OK: 8, Late: 5}, x.total); diff != "" {
			t.Errorf("total (-want +got):\n%s", diff)
		}
	})
}
