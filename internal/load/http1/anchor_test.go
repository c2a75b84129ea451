package http1

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// clocks are a wall clock and the clock of a run, which runs on by itself.
type clocks struct {
	rng  *rand.Rand
	now  time.Duration
	wall int64 // less now
}

// compare lets the anchor compare them, with some time between the readings.
func (c *clocks) compare(a *anchor, longest time.Duration) {
	before := c.now
	c.now += time.Duration(c.rng.Int64N(int64(longest)))
	wall := c.stamp()
	c.now += time.Duration(c.rng.Int64N(int64(longest)))
	a.compare(before, wall, c.now)
}

// stamp is what the wall clock shows now.
func (c *clocks) stamp() int64 { return c.wall + int64(c.now) }

// TestAnchor: stamps become times of the run, to within the narrowest comparison;
// readings that were interrupted do no harm.
func TestAnchor(t *testing.T) {
	c := clocks{rng: rand.New(rand.NewPCG(1, 2)), wall: 1_795_000_000e9}
	a := unanchored()
	for i := range 1000 {
		c.compare(&a, 60*time.Nanosecond)
		c.compare(&a, 5*time.Millisecond)
		sent := c.now
		c.now += 50 * time.Microsecond
		stamp, want := c.stamp(), c.now
		c.now += time.Duration(c.rng.Int64N(int64(time.Second)))
		got, believed := a.convert(stamp, sent, c.now)
		if off := (got - want).Abs(); !believed || off > 60*time.Nanosecond {
			t.Fatalf("after %d comparisons: %v, %v; want %v", 2*i+2, got, believed, want)
		}
	}
}

// TestWallClockStep: what was under way when the wall clock was set is not
// believed, whether it was stamped before or after; what is sent later is.
func TestWallClockStep(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour, 30 * time.Microsecond, -30 * time.Microsecond, 1500 * time.Nanosecond} {
		c := clocks{rng: rand.New(rand.NewPCG(3, 4)), wall: 1_795_000_000e9}
		a := unanchored()
		for range 100 {
			c.compare(&a, 60*time.Nanosecond)
		}
		sent := c.now
		c.now += 100 * time.Microsecond
		early := c.stamp()
		c.wall += int64(step)
		late := c.stamp()
		c.now += 100 * time.Microsecond
		c.compare(&a, 60*time.Nanosecond)
		c.now += 100 * time.Microsecond
		for _, stamp := range []int64{early, late} {
			if at, believed := a.convert(stamp, sent, c.now); believed {
				t.Errorf("set by %v: a stamp of around then is believed to be of %v", step, at)
			}
		}
		sent = c.now
		c.now += 100 * time.Microsecond
		stamp, want := c.stamp(), c.now
		c.now += 100 * time.Microsecond
		c.compare(&a, 60*time.Nanosecond)
		if at, believed := a.convert(stamp, sent, c.now); !believed || (at-want).Abs() > 100*time.Nanosecond {
			t.Errorf("set by %v: later it is %v, %v; want %v", step, at, believed, want)
		}
	}
}

// TestClocksApart: what no clock was set for is followed, and believed.
func TestClocksApart(t *testing.T) {
	c := clocks{rng: rand.New(rand.NewPCG(5, 6))}
	a := unanchored()
	for range 1000 {
		c.wall += c.rng.Int64N(200) - 50 // processors differ
		c.compare(&a, 60*time.Nanosecond)
		sent := c.now
		c.now += time.Millisecond
		stamp, want := c.stamp(), c.now
		c.now += time.Millisecond
		if at, believed := a.convert(stamp, sent, c.now); !believed || (at-want).Abs() > slack {
			t.Fatalf("%v, %v; want %v", at, believed, want)
		}
	}
}

// TestImpossibleStamps: an answer does not come before its request, nor after it
// was read.
func TestImpossibleStamps(t *testing.T) {
	a := unanchored()
	a.compare(0, 1000, 0)
	for _, x := range []struct {
		stamp    int64
		believed bool
	}{{1099, false}, {1100, true}, {1200, true}, {1201, false}, {1, false}, {math.MinInt64 / 2, false}, {math.MaxInt64, false}} {
		if at, got := a.convert(x.stamp, 100, 200); got != x.believed {
			t.Errorf("a stamp of %v, with a request of 100 and now 200: believed is %v", at, got)
		}
	}
	wide := unanchored()
	wide.compare(0, 1e9, narrow+1)
	if at, believed := wide.convert(1e9+150e6, 0, time.Second); believed {
		t.Errorf("with a comparison that was interrupted %v is believed", at)
	}
	nothing := unanchored()
	if at, believed := nothing.convert(1150, 100, 200); believed {
		t.Errorf("without any comparison %v is believed", at)
	}
}
