package board_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/procself"
)

// demandOfWork: the processor time that the application takes for a request is its
// work, and that of a request without work. It is read from the kernel, of a
// process of its own.
func demandOfWork(t *testing.T, b postgres) {
	const requests = 200
	work := board.Work{"web": time.Millisecond, "app": 3 * time.Millisecond, "app:BrowseCategories": 5 * time.Millisecond}
	idle := newUser(t, startChild(t, board.Config{Role: board.All, DB: []string{b.url}}))
	u := newUser(t, startChild(t, board.Config{Role: board.All, DB: []string{b.url}, Work: work}))
	for path, want := range map[string]time.Duration{"/ViewStory?story=150": 4 * time.Millisecond, "/BrowseCategories": 6 * time.Millisecond} {
		overhead := demand(idle, path, requests)
		d := demand(u, path, requests)
		if miss := float64(d-overhead-want) / float64(want); math.Abs(miss) > .05 {
			t.Errorf("%s takes %v a request, %v of it without work: the work is %v, want %v", path, d, overhead, d-overhead, want)
		}
		if overhead > 2*time.Millisecond {
			t.Errorf("%s takes %v without any work", path, overhead)
		}
	}
}

// demand is the processor time that a child takes for a request.
func demand(u *user, path string, requests int) time.Duration {
	u.page("GET", path, nil)
	before := u.status()
	for range requests {
		u.page("GET", path, nil)
	}
	after := u.status()
	return time.Duration((after.CPU - before.CPU) / float64(requests) * float64(time.Second))
}

// databaseDemand: after calibration the database's processor time for a request is
// its work, and that of a request without work.
func databaseDemand(t *testing.T, b base) {
	c, err := board.Calibrate(t.Context(), b.url, true)
	if err != nil {
		t.Fatal(err)
	}
	if c.Process == "" || c.Low > c.Unit || c.High < c.Unit || c.High > 1.5*c.Low {
		t.Fatalf("Calibrate = %+v, want processor time, of nearly the same in all rounds", c)
	}
	const requests, want = 150, 4 * time.Millisecond
	idle := start(t, board.Config{Role: board.All, DB: []string{b.url}})
	busy := start(t, board.Config{Role: board.All, DB: []string{b.url}, Work: board.Work{"db": want}})
	path := "/ViewStory?story=150"
	overhead := b.demand(t, newUser(t, idle.Address()), path, requests)
	d := b.demand(t, newUser(t, busy.Address()), path, requests)
	if miss := float64(d-overhead-want) / float64(want); math.Abs(miss) > .05 {
		t.Errorf("a request takes %v of the database, %v of it without work: the work is %v, want %v", d, overhead, d-overhead, want)
	}
}

// demand is the processor time that the database takes for a request.
func (b base) demand(t *testing.T, u *user, path string, requests int) time.Duration {
	u.page("GET", path, nil)
	before := b.cpu(t)
	for range requests {
		u.page("GET", path, nil)
	}
	return (b.cpu(t) - before) / time.Duration(requests)
}

// cpu is the processor time of the server, and of all that it has started.
func (b base) cpu(t *testing.T) time.Duration {
	t.Helper()
	pids, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", b.pid, b.pid))
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, text := range append(strings.Fields(string(pids)), strconv.Itoa(b.pid)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := procself.ReadProcess(pid); err == nil { // one may have ended
			sum += p.CPU
		}
	}
	return sum
}

// threads: with one worker thread requests are worked on one after another,
// the others wait, and all the time that they take together is that of as many
// as there are (Little's law).
func threads(t *testing.T, b postgres) {
	const work, users, each = 4 * time.Millisecond, 4, 25
	s := start(t, board.Config{Role: board.All, DB: []string{b.url}, Threads: 1, Work: board.Work{"app": work}})
	u := newUser(t, s.Address())
	most := watch(s, func(st board.Status) int64 { return st.Threads.Queue })
	started := time.Now()
	atOnce(users, func(int) {
		for range each {
			u.page("GET", "/Browse", nil)
		}
	})
	elapsed := time.Since(started)
	if queue, busy := most(); queue != users-1 || busy != 1 {
		t.Errorf("at most %d requests waited while %d were worked on, want %d and 1", queue, busy, users-1)
	}
	if elapsed < users*each*work {
		t.Errorf("%d requests of %v took %v", users*each, work, elapsed)
	}
	// N = X·R, where users ask again at once: R is nearly all of their time.
	st := s.Status().Interactions["Browse"]
	if n := st.Response / elapsed.Seconds(); n > users || n < users*.7 {
		t.Errorf("X·R = %.2f, want nearly %d", n, users)
	}
}

// pool: the same of a pool of one connection, while there are threads enough.
func pool(t *testing.T, b postgres) {
	if _, err := board.Calibrate(t.Context(), b.url, true); err != nil {
		t.Fatal(err)
	}
	const work, users, each = 4 * time.Millisecond, 4, 25
	s := start(t, board.Config{Role: board.All, DB: []string{b.url}, Pool: 1, Work: board.Work{"db": work}})
	u := newUser(t, s.Address())
	most := watch(s, func(st board.Status) int64 { return st.Pool.Waiting })
	started := time.Now()
	atOnce(users, func(int) {
		for range each {
			u.page("GET", "/Browse", nil)
		}
	})
	elapsed := time.Since(started)
	if waiting, busy := most(); waiting != users-1 || busy != users {
		t.Errorf("at most %d requests waited for the pool and %d were worked on, want %d and %d", waiting, busy, users-1, users)
	}
	// The processor time of the work is known to a few percent.
	if elapsed < users*each*work*95/100 {
		t.Errorf("%d requests of %v took %v", users*each, work, elapsed)
	}
	pool := s.Status().Pool
	if pool.Active != 0 || pool.Waits < users*each/2 || pool.Wait < .5*elapsed.Seconds() {
		t.Errorf("pool after %v: %+v", elapsed, pool)
	}
}

// watch reads the status until it is asked for the most that a value and the
// busy threads have been.
func watch(s *board.Server, value func(board.Status) int64) (most func() (int64, int64)) {
	end, ended := make(chan struct{}), make(chan struct{})
	var top, busy int64
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			st := s.Status()
			top, busy = max(top, value(st)), max(busy, st.Threads.Busy)
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	}()
	return func() (int64, int64) {
		close(end)
		<-ended
		return top, busy
	}
}
