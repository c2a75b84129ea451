package kv

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
)

// TestInserts: what is known has no gaps, in whatever order inserts end, and
// although some fail.
func TestInserts(t *testing.T) {
	c := newInserts(10, load.All)
	a, _ := c.take()
	b, _ := c.take()
	if a != 10 || b != 11 {
		t.Fatalf("take = %d, %d, want 10, 11", a, b)
	}
	c.stored(b)
	expectKnown(t, c, 10) // a is not there yet
	c.failed(a)
	expectKnown(t, c, 10)
	place, again := c.take()
	if place != a || !again {
		t.Fatalf("take after a failure = %d, %v, want %d again", place, again, a)
	}
	c.stored(place)
	expectKnown(t, c, 12)
	if place, again := c.take(); place != 12 || again {
		t.Errorf("take = %d, %v, want 12 for the first time", place, again)
	}
	if len(c.ahead) != 0 {
		t.Errorf("%v is still remembered", c.ahead)
	}
}

func expectKnown(t *testing.T, c *inserts, want int64) {
	t.Helper()
	if got := c.known.Load(); got != want {
		t.Errorf("known = %d, want %d", got, want)
	}
}

// TestInsertsOfShares: several generators share the numbers of records out
// among them, and all of them read those that were loaded.
func TestInsertsOfShares(t *testing.T) {
	const loaded, of, each = 10, 3, 100
	seen := map[int64]bool{}
	for i := range of {
		c := newInserts(loaded, load.Share{Index: i, Of: of})
		for p := range int64(loaded) {
			if r := c.record(p); r != p {
				t.Errorf("record(%d) = %d", p, r)
			}
		}
		for range each {
			p, _ := c.take()
			seen[c.record(p)] = true
		}
	}
	for r := int64(loaded); r < loaded+of*each; r++ {
		if !seen[r] {
			t.Errorf("no share has record %d", r)
		}
	}
	if len(seen) != of*each {
		t.Errorf("%d records, want %d", len(seen), of*each)
	}
}

// TestInsertsConcurrently: many clients; one in four of their inserts fails.
func TestInsertsConcurrently(t *testing.T) {
	const clients, each = 8, 500
	c := newInserts(0, load.All)
	var mu sync.Mutex
	stored := map[int64]bool{}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for done := 0; done < each; {
				place, _ := c.take()
				if rng.IntN(4) == 0 {
					c.failed(place)
					continue
				}
				mu.Lock()
				stored[place] = true
				mu.Unlock()
				c.stored(place)
				done++
				if k := c.known.Load(); k > 0 {
					mu.Lock()
					if p := rng.Int64N(k); !stored[p] {
						t.Errorf("%d is known and was not stored", p)
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	// Those that failed last may be left over.
	want := int64(clients * each)
	if got := c.known.Load() + int64(len(c.ahead)); got != want {
		t.Errorf("%d places stored, want %d", got, want)
	}
}
