package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestRoom: something is left to others, whatever the limit is.
func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		r          Room
		generators int
		want       int
	}{
		"as PostgreSQL is delivered": {Room{Limit: 97}, 1, 93},
		"ten, of which two are kept": {Room{Limit: 8}, 1, 7},
		"two generators":             {Room{Limit: 97, Others: 13}, 2, 40},
		"one":                        {Room{Limit: 1}, 1, 1},
		"one is held":                {Room{Limit: 1, Others: 1}, 1, 0},
		"the last one":               {Room{Limit: 8, Others: 7}, 1, 0},
		"fewer than generators":      {Room{Limit: 8, Others: 4}, 4, 0},
		"none is left":               {Room{Limit: 10, Others: 10}, 1, -1},
	} {
		if got := c.r.Free(c.generators); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	tight, wide := Room{Limit: 5, Setting: "user"}, Room{Limit: 97, Setting: "server"}
	for _, r := range []Room{tight.Tighter(wide), wide.Tighter(tight), Room{}.Tighter(tight), tight.Tighter(Room{})} {
		if r != tight {
			t.Errorf("the tighter one is %+v", r)
		}
	}
}

// samples keeps what is published.
type samples []model.Sample

func (s *samples) Sample(x model.Sample)    { *s = append(*s, x) }
func (*samples) Histogram(model.Histogram)  {}
func (*samples) Recording(model.HostSeries) {}

// TestConnectionUseReported: what is published is read again.
func TestConnectionUseReported(t *testing.T) {
	for _, want := range []ConnectionUse{
		{},
		{Asked: 64, Allowed: 64, Open: 3},
		{Room: Room{Limit: 8, Others: 2, Setting: "max_connections"}, Asked: 64, Allowed: 5, Open: 5, Refused: 12, Answer: "FATAL: sorry"},
	} {
		var published samples
		want.report(&published)
		var got ConnectionUse
		for _, x := range published {
			got.take(x)
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestPoolRefused: a target that allows few clients is asked for another one about once
// a second, whether before the run or in it. Operations wait for those that there are.
func TestPoolRefused(t *testing.T) {
	for _, before := range []int{0, 64} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{do: taking(100 * time.Millisecond)}
			tries := int64(0)
			f.dial = func(context.Context, int) error {
				if f.opened.Load() >= 8 {
					atomic.AddInt64(&tries, 1)
					return &Error{Kind: ErrConnect, Full: "sorry", Err: errors.New("sorry, as a library words it")}
				}
				return nil
			}
			p := fakePool(t, f, PoolConfig{Clients: 64, Timeout: 20 * time.Second})
			if before > 0 {
				if err := p.Open(t.Context(), before); err != nil {
					t.Fatal(err)
				}
			}
			x := run(t.Context(), p, Run{Plan: constantRate(100, 10*time.Second), Drain: 10 * time.Second})
			if x.err != nil {
				t.Fatal(x.err)
			}
			c := x.Connections
			if c.Open != 8 || c.Answer != "sorry" || tries < c.Refused || c.Refused < 5 || c.Refused > 25 {
				t.Errorf("%d opened before: %+v after %d tries", before, c, tries)
			}
			if failed := x.total.Errors[ErrConnect]; failed > c.Refused || x.total.OK+failed != 1000 || x.total.Waited == 0 {
				t.Errorf("%d opened before: %+v", before, x.total)
			}
		})
	}
}

// TestPoolCountsClients: those that were closed do not count as open.
func TestPoolCountsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		f := &fake{do: func(ctx context.Context, _ *fakeClient) error {
			if n++; n%3 == 0 {
				return &Error{Kind: ErrClosed}
			}
			return pass(ctx, 25*time.Millisecond)
		}}
		x := run(t.Context(), fakePool(t, f, PoolConfig{Clients: 50}), Run{Plan: constantRate(100, 10*time.Second), Drain: time.Second})
		if most := x.Connections.Open; x.Opened < 100 || most < 2 || most > 4 || x.err != nil {
			t.Errorf("%d at a time of %d opened, %v; want about 3", most, x.Opened, x.err)
		}
	})
}
