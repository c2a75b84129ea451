package loadserver

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHeapSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := heap[int]{before: cmp.Less[int]}
	var want, got []int
	for range 1000 {
		x := rng.IntN(100)
		h.push(x)
		want = append(want, x)
	}
	h.replace(h.items[0]) // changes nothing
	slices.Sort(want)
	for range want {
		got = append(got, h.pop())
	}
	if !slices.Equal(got, want) {
		t.Errorf("popped %v, want %v", got, want)
	}
}

// job is a request as the plain simulation sees it.
type job struct{ arrived, work, began, done time.Duration }

// simulate serves jobs the plain way: at every tick, each free worker takes the
// job that came first.
func simulate(jobs []job, k int) {
	left := make([]int, 0, k) // who is being served
	next := 0
	for now := time.Duration(0); next < len(jobs) || len(left) > 0; now++ {
		left = slices.DeleteFunc(left, func(i int) bool { return jobs[i].done == now })
		for next < len(jobs) && jobs[next].arrived <= now && len(left) < k {
			jobs[next].began, jobs[next].done = now, now+jobs[next].work
			left = append(left, next)
			next++
		}
	}
}

func someJobs(rng *rand.Rand, n int) []job {
	jobs := make([]job, n)
	now := time.Duration(0)
	for i := range jobs {
		now += time.Duration(rng.IntN(7))
		jobs[i] = job{arrived: now, work: time.Duration(1 + rng.IntN(15))}
	}
	return jobs
}

// TestWorkersServeInOrder: the computed result equals that of a simulation tick
// by tick, and the number present is right at each arrival.
func TestWorkersServeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		k := 1 + rng.IntN(5)
		jobs := someJobs(rng, 60)
		simulate(jobs, k)
		w := newWorkers()
		w.resize(k)
		for i, j := range jobs {
			want := 0
			for _, x := range jobs[:i] {
				if x.done > j.arrived {
					want++
				}
			}
			if got := w.present(j.arrived); got != want {
				t.Fatalf("%d workers: %d present at %d, want %d", k, got, j.arrived, want)
			}
			begin, end := w.serve(j.arrived, func(begin time.Duration) time.Duration { return begin + j.work })
			if begin != j.began || end != j.done {
				t.Fatalf("%d workers: request %d from %d to %d, want %d to %d", k, i, begin, end, j.began, j.done)
			}
		}
	}
}

// TestWorkersForget: those who waited once cost nothing for ever.
func TestWorkersForget(t *testing.T) {
	w := newWorkers()
	w.resize(1)
	for i := range time.Duration(100_000) {
		// Ten wait; then there is time to serve them all.
		w.serve(i/10*100, func(begin time.Duration) time.Duration { return begin + 9 })
	}
	if cap(w.waiting) > 100 {
		t.Errorf("room for %d who wait, though never more than ten do", cap(w.waiting))
	}
}

func TestWorkersResize(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to int
		want     []time.Duration // when five more begin, who come at 10 and take 100 each
	}{
		{"as many", 2, 2, []time.Duration{100, 101, 200, 201, 300}},
		{"more", 2, 4, []time.Duration{10, 10, 100, 101, 110}},
		{"fewer", 4, 2, []time.Duration{102, 103, 202, 203, 302}},
	} {
		w := newWorkers()
		w.resize(c.from)
		for i := range c.from { // until 100, 101, ...
			w.serve(time.Duration(i), func(b time.Duration) time.Duration { return b + 100 })
		}
		w.resize(c.to)
		var got []time.Duration
		for range c.want {
			begin, _ := w.serve(10, func(b time.Duration) time.Duration { return b + 100 })
			got = append(got, begin)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: begin at %v, want %v", c.name, got, c.want)
		}
	}
}
