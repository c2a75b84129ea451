package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// fake is a target with clients that do what a test says.
type fake struct {
	mix  []Weight                               // nil: one kind
	dial func(ctx context.Context, i int) error // nil: succeeds
	do   func(ctx context.Context, client *fakeClient) error

	opened, closed atomic.Int64
}

// fakeClient is a client of a fake.
type fakeClient struct {
	target *fake
	index  int
	op     int
	dead   bool
	busy   atomic.Bool
	closed atomic.Bool
}

func (f *fake) Mix() []Weight {
	if f.mix == nil {
		return []Weight{{Name: "op", Weight: 1}}
	}
	return f.mix
}

func (f *fake) Open(ctx context.Context, i int) (Client, error) {
	if f.dial != nil {
		if err := f.dial(ctx, i); err != nil {
			return nil, err
		}
	}
	f.opened.Add(1)
	return &fakeClient{target: f, index: i}, nil
}

func (c *fakeClient) Do(ctx context.Context, op int) error {
	if c.closed.Load() {
		panic("a closed client is used")
	}
	if c.busy.Swap(true) {
		panic("a client is used by two")
	}
	defer c.busy.Store(false)
	c.op = op
	return c.target.do(ctx, c)
}

func (c *fakeClient) Alive() bool { return !c.dead }

func (c *fakeClient) Close() error {
	if c.closed.Swap(true) {
		return errors.New("a client is closed twice")
	}
	c.target.closed.Add(1)
	return nil
}

// pass lets time pass, or ctx end.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// taking makes operations that take so long.
func taking(d time.Duration) func(context.Context, *fakeClient) error {
	return func(ctx context.Context, _ *fakeClient) error { return pass(ctx, d) }
}

// fakePool is a pool on the clock of the runtime, which tests may govern.
func fakePool(t testing.TB, f *fake, c PoolConfig) *Pool {
	t.Helper()
	p, err := NewPool(f, c)
	if err != nil {
		t.Fatal(err)
	}
	p.newAlarm = newTimerAlarm
	t.Cleanup(func() { // in a bubble, before it ends
		if err := p.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return p
}

// result is a whole run.
type result struct {
	Usage
	err     error
	seconds []Counts
	handed  []time.Time // when each second was
	replies []int64
	total   Counts
	ops     []Counts

	latency, service, lag *hdr.Histogram
}

// run executes a plan and adds up what came of it.
func run(ctx context.Context, d Driver, r Run) *result {
	x := &result{latency: newHistogram(), service: newHistogram(), lag: newHistogram(), ops: make([]Counts, len(d.Ops()))}
	r.Each = x.add
	if r.Share == (Share{}) {
		r.Share = All
	}
	x.Usage, x.err = d.Run(ctx, r)
	return x
}

func (x *result) add(s Second) {
	x.seconds = append(x.seconds, s.Total())
	x.handed = append(x.handed, time.Now())
	x.replies = append(x.replies, s.Replies)
	x.total.Add(s.Total())
	x.lag.Merge(s.Lag)
	for i, o := range s.Ops {
		x.ops[i].Add(o.Counts)
		x.latency.Merge(o.Latency)
		x.service.Merge(o.Service)
	}
}

// check fails a test if its operations do not add up. unopened is how many
// failed because no client could be opened.
func (x *result) check(t *testing.T, unopened int64) {
	t.Helper()
	for i, c := range x.seconds {
		if c.Due != c.Settled() {
			t.Errorf("second %d: due %d, settled %d: %+v", i, c.Due, c.Settled(), c)
		}
	}
	if sent := x.total.Due - x.total.Dropped - unopened; x.lag.TotalCount() != sent {
		t.Errorf("the lag of %d operations is known, want %d: %+v", x.lag.TotalCount(), sent, x.total)
	}
	if x.latency.TotalCount() != x.total.OK || x.service.TotalCount() != x.total.OK {
		t.Errorf("%d latencies and %d times of service of %d operations", x.latency.TotalCount(), x.service.TotalCount(), x.total.OK)
	}
}

// constantRate is a plan of one stage.
func constantRate(rate float64, d time.Duration) Plan {
	return Plan{Arrivals: Constant, Stages: []Stage{Hold(rate, d)}}
}

// reportPercentiles of a histogram in ns, as figures of a benchmark in µs.
func reportPercentiles(b *testing.B, name string, h *hdr.Histogram) {
	for _, p := range []struct {
		name string
		at   float64
	}{{"p50", 50}, {"p99", 99}, {"p99.9", 99.9}} {
		b.ReportMetric(float64(h.ValueAtPercentile(p.at))/1000, name+"-"+p.name+"-µs")
	}
}
