package loadserver

import (
	"cmp"
	"slices"
	"time"
)

// workers serve in the order of arrival. They are the times at which they
// become free (Kiefer and Wolfowitz, Transactions of the AMS 78, 1955: the
// vector of work loads of a queue with several servers), so that k of them
// cost no more than one. Calls come with times that do not go back.
type workers struct {
	free heap[time.Duration]
	// waiting are the times at which requests that were accepted begin, from
	// head on: in order, since who came first begins first.
	waiting []time.Duration
	head    int
}

func newWorkers() *workers {
	return &workers{free: heap[time.Duration]{before: cmp.Less[time.Duration]}}
}

// resize makes them n. New ones are free at once. Those that leave finish what
// they have: n of the old ones remain, and those that finish last, for until
// then as many as there were or more are at work.
func (w *workers) resize(n int) {
	slices.Sort(w.free.items) // a sorted slice is a heap
	if have := len(w.free.items); have > n {
		w.free.items = slices.Delete(w.free.items, 0, have-n)
	}
	for len(w.free.items) < n {
		w.free.push(0)
	}
}

// present counts the requests that wait or are served at a time.
func (w *workers) present(at time.Duration) int {
	w.forget(at)
	n := len(w.waiting) - w.head
	for _, free := range w.free.items {
		if free > at {
			n++
		}
	}
	return n
}

// serve gives a request that arrived to the worker that is free first. It
// returns when that begins, and when it ends according to ends.
func (w *workers) serve(at time.Duration, ends func(begin time.Duration) time.Duration) (begin, end time.Duration) {
	w.forget(at)
	begin = max(at, w.free.items[0])
	end = ends(begin)
	w.free.replace(end)
	if begin > at {
		w.waiting = append(w.waiting, begin)
	}
	return begin, end
}

// forget drops those that do not wait any more. The room of those dropped is
// used again when they are more than half: each is moved about once.
func (w *workers) forget(at time.Duration) {
	for w.head < len(w.waiting) && w.waiting[w.head] <= at {
		w.head++
	}
	if w.head > len(w.waiting)/2 {
		w.waiting = slices.Delete(w.waiting, 0, w.head)
		w.head = 0
	}
}
