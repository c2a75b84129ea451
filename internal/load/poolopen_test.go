package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPoolOpen: clients that were opened before are used, and no operation waits
// for another; those that cannot be had are left to the run.
func TestPoolOpen(t *testing.T) {
	errFull := errors.New("too many clients")
	for _, c := range []struct {
		name       string
		clients, n int
		allowed    int // by the target
		opened     int64
		further    bool // the run opens some, too
		fails      bool
	}{
		{"all", 20, 20, 100, 20, false, false},
		{"no more than the pool may have", 4, 20, 100, 4, false, false},
		{"some, the others when they are needed", 20, 5, 100, 5, true, false},
		{"as many as the target allows", 20, 20, 10, 10, false, false},
		{"none", 20, 20, 0, 0, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{do: taking(95 * time.Millisecond)}
				f.dial = func(ctx context.Context, i int) error {
					if err := pass(ctx, 50*time.Millisecond); err != nil {
						return err
					}
					if i >= c.allowed {
						return errFull
					}
					return nil
				}
				p := fakePool(t, f, PoolConfig{Clients: c.clients})
				err := p.Open(t.Context(), c.n)
				if c.fails != (err != nil) || c.fails && !errors.Is(err, errFull) {
					t.Errorf("Open = %v, want failure %v", err, c.fails)
				}
				if got := f.opened.Load(); got != c.opened {
					t.Errorf("%d clients were opened, want %d", got, c.opened)
				}
				if c.fails {
					return
				}
				// 10 clients are busy at a time.
				r := run(t.Context(), p, Run{Plan: Plan{Arrivals: Constant, Stages: []Stage{Hold(100, time.Second)}}, Share: All, Drain: 5 * time.Second})
				if r.Opened > 0 != c.further || r.err != nil {
					t.Errorf("the run opened %d clients, %v, want any: %v", r.Opened, r.err, c.further)
				}
				if waits := r.latency.Max() > int64(100*time.Millisecond); waits != (c.further || c.clients < 10) {
					t.Errorf("latency up to %v", time.Duration(r.latency.Max()))
				}
			})
		})
	}
}

// TestPoolOpenEnds: it ends with its context.
func TestPoolOpenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(time.Millisecond), dial: func(ctx context.Context, _ int) error { return pass(ctx, time.Hour) }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fakePool(t, f, PoolConfig{Clients: 3}).Open(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Open = %v, want the context's end", err)
		}
	})
}
