package loadserver

import (
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// TestDeskQueues: each of several queues is a server of its own: it gets its
// part of the requests, and serves those as if there were no others (Lindley's
// recursion).
func TestDeskQueues(t *testing.T) {
	const n, queues, service = 100_000, 8, time.Millisecond
	b := Behaviour{Workers: 1, Queues: queues, Service: service, Seed: 3}
	if got := b.Capacity(); got != 8000 {
		t.Errorf("the capacity is %v, want 8000", got)
	}
	var free [queues]time.Duration
	var count [queues]int
	for i, r := range offer(b, load.Poisson, 6000, n) {
		if want := max(r.Arrived, free[r.Queue]); r.Began != want || r.Due != want+service {
			t.Fatalf("request %d, in queue %d, began at %v and was due at %v, want %v and a millisecond later", i, r.Queue, r.Began, r.Due, want)
		}
		free[r.Queue] = r.Due
		count[r.Queue]++
	}
	for i, got := range count {
		if want := n / queues; got < want*97/100 || got > want*103/100 { // 3.2 standard deviations
			t.Errorf("queue %d has %d requests, want about %d", i, got, want)
		}
	}
}

// TestDeskQueuesSet: the queues that remain keep what they have.
func TestDeskQueuesSet(t *testing.T) {
	d := newDesk(Behaviour{Workers: 1, Queues: 2, Service: time.Second}, 0)
	for range 10 {
		d.receive(0)
	}
	d.set(Behaviour{Workers: 1, Service: time.Second}, 0)
	left := d.queues[0].free.items[0]
	if r := d.receive(0); r.Queue != 0 || r.Began != left || left == 0 {
		t.Errorf("after one queue was left: %+v, want it to begin at %v", r, left)
	}
	d.set(Behaviour{Workers: 1, Queues: 3, Service: time.Second}, 0)
	if n := len(d.queues); n != 3 || d.queues[2].free.items[0] != 0 {
		t.Errorf("%d queues, want 3, the last of them empty", n)
	}
}
