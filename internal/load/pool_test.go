package load

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

const ms = time.Millisecond

// TestPoolFollowsThePlan: each operation is sent when it is due, and every
// second is told of.
func TestPoolFollowsThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(2 * ms)}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 10}), Run{Plan: constantRate(100, 3*time.Second), Drain: time.Second})
		x.check(t, 0)
		want := Counts{Due: 300, OK: 300}
		if diff := cmp.Diff(want, x.total); diff != "" || x.err != nil {
			t.Errorf("error %v, total (-want +got):\n%s", x.err, diff)
		}
		if !slices.Equal(x.replies, []int64{100, 100, 100}) || x.Opened != 1 || x.Wall != 3*time.Second {
			t.Errorf("replies %v, want 100 a second; %d opened, want 1; %v, want 3s", x.replies, x.Opened, x.Wall)
		}
		if x.lag.Max() > finest || !x.latency.ValuesAreEquivalent(x.latency.Min(), int64(2*ms)) || !x.latency.ValuesAreEquivalent(x.latency.Max(), int64(2*ms)) {
			t.Errorf("lag up to %v, latency from %v to %v; want 0 and 2ms", time.Duration(x.lag.Max()), time.Duration(x.latency.Min()), time.Duration(x.latency.Max()))
		}
		if x.Busy != 0 {
			t.Errorf("busy %v, want 0: nothing takes time here", x.Busy)
		}
	})
}

// TestPoolStartsAtItsTime, with its share of the plan.
func TestPoolStartsAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var sent []time.Duration
		f := &fake{do: func(context.Context, *fakeClient) error {
			sent = append(sent, time.Since(begin))
			return nil
		}}
		p := fakePool(t, f, PoolConfig{Clients: 1})
		x := run(t.Context(), p, Run{Plan: constantRate(4, time.Second), Start: begin.Add(time.Second).Round(0), Share: Share{Index: 1, Of: 2}})
		x.check(t, 0)
		if !slices.Equal(sent, []time.Duration{1250 * ms, 1750 * ms}) || x.Wall != time.Second {
			t.Errorf("sent at %v in %v, want the second and fourth quarter after the start, in 1s", sent, x.Wall)
		}
	})
}

// TestPoolCountsFromWhenDue: a server that does 100/s and is asked for 200/s
// falls behind by 5 ms an operation, and all of that is latency.
func TestPoolCountsFromWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(10 * ms)}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 1, Timeout: time.Minute}),
			Run{Plan: constantRate(200, time.Second), Drain: 10 * time.Second})
		x.check(t, 0)
		if diff := cmp.Diff(Counts{Due: 200, OK: 200, Waited: 199}, x.total); diff != "" {
			t.Errorf("total (-want +got):\n%s", diff)
		}
		want := 10 + 5*199/2.0 // of 10 + 5k ms
		if got := x.latency.Mean() / 1e6; math.Abs(got/want-1) > .001 || x.Wall != 2*time.Second {
			t.Errorf("mean latency %v ms, want %v; %v in all, want 2s", got, want, x.Wall)
		}
		if got := x.service.Mean() / 1e6; math.Abs(got/10-1) > .001 || x.lag.Max() > finest {
			t.Errorf("mean service %v ms, want 10; lag up to %d ns, want 0", got, x.lag.Max())
		}
		if diff := cmp.Diff([]int64{99, 100, 1}, x.replies); diff != "" {
			t.Errorf("replies by second (-want +got):\n%s", diff)
		}
	})
}

// TestPoolDropsWhatWaitsTooLong: as many as arithmetic says, in the seconds in
// which they were due.
func TestPoolDropsWhatWaitsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 103 * ms
		f := &fake{do: taking(10 * ms)}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 1, Timeout: timeout}),
			Run{Plan: constantRate(400, 2*time.Second), Drain: time.Minute})
		x.check(t, 0)
		var want [2]Counts
		var free time.Duration
		for k := range 800 {
			due := time.Duration(k) * 2500 * time.Microsecond
			c := &want[due/time.Second]
			c.Due++
			if max(free, due) >= due+timeout {
				c.Dropped++
				continue
			}
			c.OK++
			if free > due {
				c.Waited++
			}
			free = max(free, due) + 10*ms
		}
		if diff := cmp.Diff(want[:], x.seconds[:2]); diff != "" {
			t.Errorf("counts by second (-want +got):\n%s", diff)
		}
	})
}

// TestPoolTimesOut: an operation without an answer ends with its time, and its
// client is replaced.
func TestPoolTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: func(ctx context.Context, _ *fakeClient) error {
			<-ctx.Done()
			return &Error{Kind: ErrClosed, Err: ctx.Err()} // what a library makes of it
		}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 3, Timeout: 50 * ms}), Run{Plan: constantRate(10, time.Second), Drain: time.Second})
		x.check(t, 0)
		want := Counts{Due: 10}
		want.Errors[ErrTimeout] = 10
		if diff := cmp.Diff(want, x.total); diff != "" || x.Opened != 10 || f.closed.Load() != 10 {
			t.Errorf("%d opened, %d closed, want 10; total (-want +got):\n%s", x.Opened, f.closed.Load(), diff)
		}
		if err := x.Examples[ErrTimeout]; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("example of a timeout: %v, want the client's error", err)
		}
	})
}

// TestPoolCountsLateAnswersAsTimeouts: also from a client that does not look
// at its context; it can be used again.
func TestPoolCountsLateAnswersAsTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: func(ctx context.Context, _ *fakeClient) error { return pass(context.WithoutCancel(ctx), 60*ms) }}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 3, Timeout: 50 * ms}), Run{Plan: constantRate(10, time.Second), Drain: time.Second})
		x.check(t, 0)
		if x.total.Errors[ErrTimeout] != 10 || x.Opened != 1 || x.Examples[ErrTimeout] == nil {
			t.Errorf("%+v, %d opened, example %v; want 10 timeouts, 1 opened", x.total, x.Opened, x.Examples[ErrTimeout])
		}
	})
}

// TestPoolKeepsClientsByKind: only some kinds of failures end a client.
func TestPoolKeepsClientsByKind(t *testing.T) {
	for kind, opened := range map[Kind]int64{
		ErrConnect: 10, ErrTimeout: 10, ErrClosed: 10, ErrProtocol: 10, ErrStatus: 1, ErrWrong: 1,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{do: func(context.Context, *fakeClient) error { return &Error{Kind: kind} }}
				x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 3}), Run{Plan: constantRate(10, time.Second)})
				x.check(t, 0)
				if x.total.Errors[kind] != 10 || x.Opened != opened || KindOf(x.Examples[kind]) != kind {
					t.Errorf("%+v, %d opened; want 10 failures, %d opened", x.total, x.Opened, opened)
				}
			})
		})
	}
}

// TestPoolReplacesTheDead: a client that says that its connection has ended is
// not used again, and nothing fails.
func TestPoolReplacesTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: func(_ context.Context, c *fakeClient) error {
			c.dead = true
			return nil
		}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 3}), Run{Plan: constantRate(10, time.Second)})
		x.check(t, 0)
		if x.total.OK != 10 || x.Opened != 10 || f.closed.Load() != 9 {
			t.Errorf("%+v, %d opened, %d closed; want 10 OK and as many opened", x.total, x.Opened, f.closed.Load())
		}
	})
}

// TestPoolServerAway: while nothing can be opened, what is due fails as it
// should, tries are few, and all is well soon after the server is back.
func TestPoolServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var tries atomic.Int64
		refused := errors.New("refused")
		f := &fake{do: taking(ms / 2), dial: func(context.Context, int) error {
			tries.Add(1)
			if time.Since(begin) < time.Second {
				return refused
			}
			return nil
		}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 100}), Run{Plan: constantRate(1000, 2*time.Second), Drain: time.Second})
		failed := x.total.Errors[ErrConnect]
		x.check(t, failed)
		if x.total.OK+failed != 2000 || failed < 1000 || failed > 1000+int64(longestPause/ms) {
			t.Errorf("%+v, want 2000 operations, from 1000 to 1100 without a connection", x.total)
		}
		// 5+10+20+40+80 ms, then tenths of a second.
		if n := tries.Load(); n > 17 || n < 10 {
			t.Errorf("%d tries in a second, want about 14", n)
		}
		if !errors.Is(x.Examples[ErrConnect], refused) {
			t.Errorf("example of a failure: %v, want %v", x.Examples[ErrConnect], refused)
		}
	})
}

// TestPoolUsersWaitForTheServer: users who do not think do not run in circles
// when there is nothing to talk to.
func TestPoolUsersWaitForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 10
		var tries atomic.Int64
		f := &fake{do: taking(ms), dial: func(context.Context, int) error {
			tries.Add(1)
			return errors.New("refused")
		}}
		plan := Plan{Closed: &Closed{Users: users, Duration: 2 * time.Second}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: users, Timeout: time.Second}), Run{Plan: plan, Drain: time.Second})
		x.check(t, x.total.Errors[ErrConnect])
		if n := tries.Load(); x.total.Errors[ErrConnect] != n || n > users*26 || n < 20 {
			t.Errorf("%d tries and %+v, want some 20 times of up to %d tries, each a failure", n, x.total, users)
		}
	})
}

// TestPoolSlowToOpen: what a connection needs to come about is latency, and no
// fault of the generator; its time is limited.
func TestPoolSlowToOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(ms), dial: func(ctx context.Context, i int) error {
			if i == 1 {
				<-ctx.Done() // for ever
				return ctx.Err()
			}
			return pass(ctx, 30*ms)
		}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 2, Timeout: 100 * ms}), Run{Plan: constantRate(100, 50*ms), Drain: time.Second})
		x.check(t, x.total.Errors[ErrConnect])
		// The first opens a client in 30 ms, the second never; those at 20
		// and 30 ms wait for the first; the one at 40 ms finds it free.
		want := Counts{Due: 5, OK: 4, Waited: 3}
		want.Errors[ErrConnect] = 1
		if diff := cmp.Diff(want, x.total); diff != "" || x.lag.Max() > finest {
			t.Errorf("lag up to %d ns; total (-want +got):\n%s", x.lag.Max(), diff)
		}
		if !x.latency.ValuesAreEquivalent(x.latency.Max(), int64(31*ms)) {
			t.Errorf("longest latency %v, want 31ms", time.Duration(x.latency.Max()))
		}
	})
}

// TestPoolKeepsConnections from run to run, and closes them all in the end.
func TestPoolKeepsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(97 * ms)}
		p := fakePool(t, f, PoolConfig{Clients: 100})
		for i, want := range []struct{ rate, opened float64 }{{100, 10}, {50, 0}, {200, 10}} {
			x := run(t.Context(), p, Run{Plan: constantRate(want.rate, time.Second), Drain: time.Second})
			x.check(t, 0)
			if x.Opened != int64(want.opened) || x.total.OK != int64(want.rate) {
				t.Errorf("run %d: %d opened, want %v; %+v", i, x.Opened, want.opened, x.total)
			}
		}
		if err := p.Close(); err != nil || f.closed.Load() != 20 {
			t.Errorf("Close() = %v, %d closed, want 20", err, f.closed.Load())
		}
	})
}

// TestPoolDrains: answers are waited for so long after the end and no longer.
func TestPoolDrains(t *testing.T) {
	for name, c := range map[string]struct {
		drain, wall time.Duration
		want        Counts
	}{
		"not":      {0, 2 * time.Second, Counts{Due: 2, Unfinished: 2}},
		"for some": {1500 * ms, 3500 * ms, Counts{Due: 2, OK: 1, Unfinished: 1}},
		"for all":  {time.Minute, 4 * time.Second, Counts{Due: 2, OK: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{do: taking(3 * time.Second)}
				x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 10}), Run{Plan: constantRate(1, 2*time.Second), Drain: c.drain})
				x.check(t, 0)
				if diff := cmp.Diff(c.want, x.total); diff != "" || x.Wall != c.wall || x.err != nil {
					t.Errorf("error %v, wall %v, want %v; total (-want +got):\n%s", x.err, x.Wall, c.wall, diff)
				}
				if x.Loaded != 2*time.Second || x.Busy != 0 {
					t.Errorf("busy for %v of %v, want 0 of the plan's 2s", x.Busy, x.Loaded)
				}
			})
		})
	}
}

// TestPoolClosedLoop: users who do not think send as fast as answers come.
func TestPoolClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(50 * ms)}
		plan := Plan{Closed: &Closed{Users: 20, Duration: 10 * time.Second}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 20}), Run{Plan: plan, Drain: time.Second})
		x.check(t, 0)
		if x.total.Due != 20*200 || x.total.OK != 20*200 || x.Opened != 20 || x.lag.Max() > finest {
			t.Errorf("%+v, %d opened, lag up to %d ns; want 4000 OK, 20, 0", x.total, x.Opened, x.lag.Max())
		}
	})
}

// TestPoolCount: a closed loop ends after a number of operations, when the last
// of them does, however many users there are; one that also has a duration ends
// with whichever comes first.
func TestPoolCount(t *testing.T) {
	for name, c := range map[string]struct {
		users    int
		count    int64
		duration time.Duration
		want     int64
		wall     time.Duration
	}{
		"count":          {4, 41, 0, 41, 11 * 50 * ms},
		"many users":     {20, 3, 0, 3, 50 * ms},
		"count is first": {4, 41, time.Minute, 41, 11 * 50 * ms},
		"time is first":  {4, 1000, time.Second, 80, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := Plan{Closed: &Closed{Users: c.users, Duration: c.duration, Count: c.count}}
				f := &fake{do: taking(50 * ms)}
				x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: c.users}), Run{Plan: plan, Drain: time.Second})
				x.check(t, 0)
				if x.total.Due != c.want || x.total.OK != c.want || x.Wall != c.wall || x.err != nil {
					t.Errorf("%+v in %v, error %v; want %d OK in %v", x.total, x.Wall, x.err, c.want, c.wall)
				}
			})
		})
	}
}

// TestPoolLive: seconds are handed on as they end although an operation of the
// first is under way, and the sums over all are exact.
func TestPoolLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := &fake{do: func(ctx context.Context, _ *fakeClient) error { return pass(ctx, 30*time.Second) }}
		plan := Plan{Closed: &Closed{Users: 3, Duration: 10 * time.Second}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 3, Timeout: time.Minute, Live: true}), Run{Plan: plan, Drain: time.Minute})
		if want := (Counts{Due: 3, OK: 3}); x.total != want || x.latency.TotalCount() != 3 || x.latency.Min() < int64(29*time.Second) {
			t.Errorf("%+v with %d latencies from %d ns, want %+v from 30 s", x.total, x.latency.TotalCount(), x.latency.Min(), want)
		}
		if late := x.handed[5].Sub(begin); late > 7*time.Second {
			t.Errorf("second 5 was handed on after %v", late)
		}
	})
}

// TestPoolThinkingUsers: N users who wait R and think Z send N/(R+Z) a second.
func TestPoolThinkingUsers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{do: taking(100 * ms)}
		plan := Plan{Closed: &Closed{Users: 50, Think: 400 * ms, Duration: 200 * time.Second}, Seed: 1}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 50}), Run{Plan: plan, Drain: time.Second})
		x.check(t, 0)
		if got, want := float64(x.total.OK), 50/.5*200; math.Abs(got/want-1) > .02 || x.lag.Max() > finest {
			t.Errorf("%v operations, want %v; lag up to %d ns, want 0", got, want, x.lag.Max())
		}
	})
}

// TestPoolMixesOperations: kinds come in their order, and in the proportion of
// their weights.
func TestPoolMixesOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{mix: []Weight{{"a", 1}, {"b", 0}, {"c", 3}}, do: func(_ context.Context, c *fakeClient) error {
			if c.op == 2 {
				return &Error{Kind: ErrWrong}
			}
			return nil
		}}
		p := fakePool(t, f, PoolConfig{Clients: 10})
		x := run(t.Context(), p, Run{Plan: constantRate(1000, 10*time.Second)})
		x.check(t, 0)
		if !slices.Equal(p.Ops(), []string{"a", "b", "c"}) || x.ops[1].Due != 0 || x.ops[0].OK != x.ops[0].Due || x.ops[2].Errors[ErrWrong] != x.ops[2].Due {
			t.Errorf("%v: %+v, want no b, all a OK, all c wrong", p.Ops(), x.ops)
		}
		if got := float64(x.ops[0].Due); math.Abs(got-2500) > 4*math.Sqrt(10_000*.25*.75) {
			t.Errorf("%v of 10000 operations are a, want a quarter", got)
		}
	})
}

func TestPoolRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		target *fake
		config PoolConfig
	}{
		"no clients":       {&fake{}, PoolConfig{}},
		"negative timeout": {&fake{}, PoolConfig{Clients: 1, Timeout: -1}},
		"no operations":    {&fake{mix: []Weight{}}, PoolConfig{Clients: 1}},
	} {
		if _, err := NewPool(c.target, c.config); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: NewPool = %v, want model.ErrUsage", name, err)
		}
	}
	p := fakePool(t, &fake{}, PoolConfig{Clients: 1})
	if x := run(t.Context(), p, Run{}); !errors.Is(x.err, model.ErrUsage) {
		t.Errorf("Run of no plan = %v, want model.ErrUsage", x.err)
	}
	p.newAlarm = func() (alarm, error) { return nil, model.ErrUnavailable }
	if x := run(t.Context(), p, Run{Plan: constantRate(1, time.Second)}); !errors.Is(x.err, model.ErrUnavailable) {
		t.Errorf("Run without an alarm = %v, want model.ErrUnavailable", x.err)
	}
}

// TestPoolRunsOnePlan at a time.
func TestPoolRunsOnePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := Run{Plan: constantRate(1, 2*time.Second)}
		var p *Pool
		var second error
		f := &fake{do: func(ctx context.Context, _ *fakeClient) error {
			second = run(ctx, p, plan).err
			return nil
		}}
		p = fakePool(t, f, PoolConfig{Clients: 1})
		if x := run(t.Context(), p, plan); x.err != nil || x.total.OK != 2 || !errors.Is(second, model.ErrUsage) {
			t.Errorf("first run: %v, %+v; second, meanwhile: %v, want model.ErrUsage", x.err, x.total, second)
		}
	})
}
