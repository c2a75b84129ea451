package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errTold = errors.New("told to stop")

// stopAfter is a context that ends after d.
func stopAfter(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errTold) })
	t.Cleanup(func() { timer.Stop(); cancel(nil) })
	return ctx
}

// TestPoolStops at once when it is told to, and what is under way is
// unfinished.
func TestPoolStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(time.Hour)}
		p := fakePool(t, f, PoolConfig{Clients: 3, Timeout: time.Hour})
		begin := time.Now()
		x := run(stopAfter(t, 2050*ms), p, Run{Plan: constantRate(10, time.Hour), Drain: time.Hour})
		x.check(t, 0)
		want := Counts{Due: 21, Unfinished: 3, Dropped: 18}
		if diff := cmp.Diff(want, x.total); diff != "" || !errors.Is(x.err, errTold) {
			t.Errorf("error %v, want %v; total (-want +got):\n%s", x.err, errTold, diff)
		}
		if took := time.Since(begin); took != 2050*ms || f.closed.Load() != 3 || len(x.seconds) != 3 {
			t.Errorf("stopped after %v, want 2.05s; %d clients closed, want 3; %d seconds, want 3", took, f.closed.Load(), len(x.seconds))
		}
	})
}

// TestPoolStopsBeforeItsStart: then there is nothing to tell.
func TestPoolStopsBeforeItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool(t, &fake{}, PoolConfig{Clients: 1})
		x := run(stopAfter(t, time.Second), p, Run{Plan: constantRate(10, time.Hour), Start: time.Now().Add(time.Hour)})
		if !errors.Is(x.err, errTold) || len(x.seconds) != 0 || x.Wall != 0 {
			t.Errorf("error %v, %d seconds in %v; want %v and nothing", x.err, len(x.seconds), x.Wall, errTold)
		}
	})
}

// TestPoolAbandonsTheDeaf: a client that ignores its context does not prevent a
// stop, and is closed when it returns. Until then it is one of those allowed.
func TestPoolAbandonsTheDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan bool)
		f := &fake{do: func(context.Context, *fakeClient) error { <-answer; return nil }}
		p := fakePool(t, f, PoolConfig{Clients: 3, Timeout: time.Hour})
		begin := time.Now()
		x := run(stopAfter(t, 2050*ms), p, Run{Plan: constantRate(10, time.Hour)})
		x.check(t, 0)
		if x.total.Unfinished != 3 || time.Since(begin) > 3050*ms {
			t.Errorf("%+v after %v, want 3 unfinished within a second of 2.05s", x.total, time.Since(begin))
		}
		x = run(t.Context(), p, Run{Plan: constantRate(10, time.Second)})
		x.check(t, 0)
		if x.total.Dropped != 10 || x.Opened != 0 {
			t.Errorf("%+v, %d opened; want all dropped while no client is free", x.total, x.Opened)
		}
		close(answer)
		synctest.Wait()
		if f.closed.Load() != 3 {
			t.Errorf("%d clients closed, want 3", f.closed.Load())
		}
		x = run(t.Context(), p, Run{Plan: constantRate(10, time.Second)})
		if x.total.OK != 10 || x.Opened != 1 {
			t.Errorf("%+v, %d opened; want all to be well again", x.total, x.Opened)
		}
	})
}

// TestPoolAbandonsTheHung: one client that hangs in the middle of a run holds
// up neither the others nor the seconds.
func TestPoolAbandonsTheHung(t *testing.T) {
	for name, hangs := range map[string]struct {
		open bool
		kind Kind
	}{"in an operation": {false, ErrTimeout}, "while it is opened": {true, ErrConnect}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan bool)
				var hung atomic.Bool
				hang := func(here bool) {
					if here && !hung.Swap(true) {
						<-answer
					}
				}
				f := &fake{
					dial: func(context.Context, int) error { hang(hangs.open); return nil },
					do:   func(context.Context, *fakeClient) error { hang(!hangs.open); return nil },
				}
				p := fakePool(t, f, PoolConfig{Clients: 2, Timeout: 500 * ms})
				begin := time.Now()
				x := run(t.Context(), p, Run{Plan: constantRate(10, 5*time.Second)})
				x.check(t, x.total.Errors[ErrConnect])
				if x.total.Errors[hangs.kind] != 1 || x.total.OK != 49 || !errors.Is(x.Examples[hangs.kind], errAbandoned) {
					t.Errorf("%+v, example %v; want one of kind %v and 49 OK", x.total, x.Examples[hangs.kind], hangs.kind)
				}
				if late := x.handed[0].Sub(begin); late > 2*time.Second || time.Since(begin) != 5*time.Second {
					t.Errorf("the first second was handed on after %v, want 2s at most; the run took %v, want 5s", late, time.Since(begin))
				}
				close(answer)
				synctest.Wait()
				if open := f.opened.Load() - f.closed.Load(); open != 1 {
					t.Errorf("%d clients are open, want 1", open)
				}
			})
		})
	}
}

// chaos is a target that does whatever can go wrong.
type chaos struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (c *chaos) draw(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *chaos) dial(ctx context.Context, _ int) error {
	switch c.draw(6) {
	case 0:
		return errors.New("refused")
	case 1:
		<-ctx.Done()
		return ctx.Err()
	}
	return pass(ctx, time.Duration(c.draw(20))*ms)
}

func (c *chaos) do(ctx context.Context, client *fakeClient) error {
	switch c.draw(40) {
	case 0:
		return &Error{Kind: Kind(c.draw(Kinds-1) + 1)} // any but ErrConnect
	case 1:
		<-ctx.Done()
		return ctx.Err()
	case 2:
		return pass(context.WithoutCancel(ctx), time.Duration(c.draw(3000))*ms) // deaf
	case 3:
		client.dead = true
	case 4:
		return errors.New("of no kind")
	}
	return pass(ctx, time.Duration(c.draw(50))*ms)
}

// plans of chaos: open loops and closed ones.
func (c *chaos) plan(seed uint64) Plan {
	if c.draw(2) == 0 {
		return Plan{Closed: &Closed{Users: 1 + c.draw(100), Think: time.Duration(c.draw(2)) * 50 * ms, Duration: 3 * time.Second}, Seed: seed}
	}
	drawn := Hold(float64(c.draw(2000)), 1500*ms)
	stages := []Stage{Hold(250, time.Second), drawn, Hold(0, 500*ms), Hold(300, time.Second)}
	return Plan{Arrivals: Poisson, Stages: stages, Seed: seed}
}

// planned counts the operations of an open loop that are due until the end.
func planned(p Plan, end time.Duration) (n int64) {
	s := NewSchedule(p, All)
	for due, ok := s.Next(); ok && due <= end; due, ok = s.Next() {
		n++
	}
	return n
}

// TestPoolChaos: whatever goes wrong, every operation that was due is in
// exactly one count, no client is used after it was closed or by two, none is
// forgotten, and the run ends in time.
func TestPoolChaos(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			c := &chaos{rng: rand.New(rand.NewPCG(seed, 1))}
			f := &fake{dial: c.dial, do: c.do}
			p := fakePool(t, f, PoolConfig{Clients: 1 + c.draw(30), Timeout: time.Duration(100+c.draw(1000)) * ms})
			for range 3 {
				plan, drain := c.plan(seed), time.Duration(c.draw(1500))*ms
				ctx, end := t.Context(), plan.Duration()+drain
				if c.draw(3) == 0 {
					end = time.Duration(1+c.draw(3000)) * ms
					ctx = stopAfter(t, end)
				}
				begin := time.Now()
				x := run(ctx, p, Run{Plan: plan, Drain: drain})
				if took := time.Since(begin); took > end+time.Second {
					t.Errorf("seed %d: a run to end after %v took %v", seed, end, took)
				}
				x.checkChaos(t, plan)
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
			_ = pass(context.Background(), time.Minute) // for the deaf
			if err := p.Close(); err != nil || f.opened.Load() != f.closed.Load() {
				t.Errorf("seed %d: Close() = %v, %d opened, %d closed", seed, err, f.opened.Load(), f.closed.Load())
			}
		})
	}
}

func (x *result) checkChaos(t *testing.T, plan Plan) {
	t.Helper()
	if x.total.Due != x.total.Settled() || slices.ContainsFunc(x.seconds, func(c Counts) bool { return c.Due != c.Settled() }) {
		t.Errorf("due %d, settled %d: %+v", x.total.Due, x.total.Settled(), x.seconds)
	}
	if sent := x.total.Due - x.total.Dropped - x.total.Errors[ErrConnect]; x.lag.TotalCount() != sent || x.latency.TotalCount() != x.total.OK {
		t.Errorf("%d lags, %d latencies of %+v", x.lag.TotalCount(), x.latency.TotalCount(), x.total)
	}
	if plan.Closed == nil {
		if want := planned(plan, x.Wall); x.total.Due != want {
			t.Errorf("%d operations were due, want the plan's %d until %v", x.total.Due, want, x.Wall)
		}
	}
}
