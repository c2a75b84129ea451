package http1

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestList holds a list against a slice.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l list
	var want []*conn
	for range 2000 {
		if len(want) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(want))
			l.remove(want[i])
			want = slices.Delete(want, i, i+1)
		} else {
			c := &conn{}
			l.push(c)
			want = append(want, c)
		}
		var forth, back []*conn
		for c := l.first; c != nil; c = c.next {
			forth = append(forth, c)
		}
		for c := l.last; c != nil; c = c.prev {
			back = append(back, c)
		}
		slices.Reverse(back)
		if !slices.Equal(forth, want) || !slices.Equal(back, want) {
			t.Fatalf("the list has %d and %d connections, want %d", len(forth), len(back), len(want))
		}
	}
}

// TestQueue holds a queue against a slice.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	q := queue{room: make([]operation, 7)}
	var want []operation
	for i := range 2000 {
		if len(want) > 0 && rng.IntN(2) == 0 {
			if first, x := q.first(), q.pop(); x.kind != want[0].kind || x.due != want[0].due || first.kind != x.kind {
				t.Fatalf("pop() = %v, first() = %v, want %v", x, first, want[0])
			}
			want = want[1:]
			continue
		}
		x := operation{kind: i, due: time.Duration(i)}
		if got := q.push(x); got != (len(want) < 7) {
			t.Fatalf("push() = %v with %d of 7", got, len(want))
		} else if got {
			want = append(want, x)
		}
	}
	none := queue{}
	if none.push(operation{}) {
		t.Error("a queue without room takes an operation")
	}
}

// TestOldest: the oldest operation without an end, and the next that takes too
// long, may be sent or waiting.
func TestOldest(t *testing.T) {
	o := &origin{waiting: queue{room: make([]operation, 2)}}
	if got := o.oldest(9); got != 9 || !o.rests() {
		t.Errorf("oldest() = %v with nothing to do", got)
	}
	o.outstanding.push(&conn{op: operation{due: 5}, sent: 7})
	o.outstanding.push(&conn{op: operation{due: 6}, sent: 8})
	if got, at := o.oldest(9), o.expires(1000, 10); got != 5 || at != 17 || o.rests() {
		t.Errorf("oldest() = %v, expires() = %v, want 5 and 17", got, at)
	}
	o.waiting.push(operation{due: 4})
	if got, at := o.oldest(9), o.expires(1000, 10); got != 4 || at != 14 || o.rests() {
		t.Errorf("oldest() = %v, expires() = %v, want 4 and 14", got, at)
	}
	if got := o.oldest(3); got != 3 {
		t.Errorf("oldest(3) = %v", got)
	}
}
