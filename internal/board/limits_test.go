package board_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/board"
	"github.com/scalebench/scalebench/internal/procself"
)

// demandOfWork: the processor time that the application takes for a request is its
// work, and that of a request without work. It is read from the kernel, of a
// process of its own. What else runs on the machine only adds to it (a cache that
// is cold, a core that is shared), so that the least of some rounds counts.
func demandOfWork(t *testing.T, b postgres) {
	work := board.Work{"web": time.Millisecond, "app": 3 * time.Millisecond, "app:BrowseCategories": 5 * time.Millisecond}
	idle := newUser(t, startChild(t, board.Config{Role: board.All, DB: []string{b.url}}))
	u := newUser(t, startChild(t, board.Config{Role: board.All, DB: []string{b.url}, Work: work}))
	for path, want := range map[string]time.Duration{"/ViewStory?story=150": 4 * time.Millisecond, "/BrowseCategories": 6 * time.Millisecond} {
		var got, overhead []time.Duration
		for range 6 {
			cpu, _ := demand(idle, path)
			overhead = append(overhead, cpu)
			cpu, worked := demand(u, path)
			got = append(got, cpu)
			if miss := float64(worked-want) / float64(want); miss < 0 || miss > .01 {
				t.Errorf("%s: the threads have worked %v a request, want %v", path, worked, want)
			}
		}
		d := slices.Min(got) - slices.Min(overhead)
		t.Logf("%s: %v a request, without work %v", path, got, overhead)
		// Without work caches stay warm: beside work the same page costs up to twice
		// as much, and that is as much as in the dearest of the rounds without work.
		if d < want || d-want > want/20+slices.Max(overhead) {
			t.Errorf("%s: the work is %v of processor time, want %v", path, d, want)
		}
	}
}

// demand is the processor time that a child takes for a request, and the part of
// it that was work.
func demand(u *user, path string) (cpu, work time.Duration) {
	const requests = 40
	u.page("GET", path, nil)
	before := u.status()
	for range requests {
		u.page("GET", path, nil)
	}
	after := u.status()
	each := func(from, to float64) time.Duration {
		return time.Duration((to - from) / requests * float64(time.Second))
	}
	return each(before.CPU, after.CPU), each(before.Work, after.Work)
}

// databaseDemand: after calibration the database's processor time for a request is
// its work, and that of a request without work. A unit costs more while other
// programs share the cores, so that one round of some must be undisturbed.
func databaseDemand(t *testing.T, b base) {
	if os.Getenv("NTIER_PROOF") == "" {
		t.Skip("needs the machine for itself; `make ntier-proof` runs it")
	}
	const want, path = 4 * time.Millisecond, "/ViewStory?story=150"
	idle := newUser(t, start(t, board.Config{Role: board.All, DB: []string{b.url}}).Address())
	var missed []string
	for range 8 {
		c, err := board.Calibrate(t.Context(), b.url, true)
		if err != nil {
			t.Fatal(err)
		}
		if c.Process == "" || c.Low > c.Unit || c.High < c.Unit {
			t.Fatalf("Calibrate = %+v, want processor time", c)
		}
		busy := newUser(t, start(t, board.Config{Role: board.All, DB: []string{b.url}, Work: board.Work{"db": want}}).Address())
		d := b.demand(t, busy, path) - b.demand(t, idle, path)
		if miss := float64(d-want) / float64(want); math.Abs(miss) <= .05 {
			t.Logf("the work is %v of processor time, a unit %.0f ns (%.0f to %.0f)", d, c.Unit*1e9, c.Low*1e9, c.High*1e9)
			return
		}
		missed = append(missed, fmt.Sprintf("%v with %.0f ns a unit (%.0f to %.0f)", d, c.Unit*1e9, c.Low*1e9, c.High*1e9))
	}
	t.Errorf("the work is never %v of processor time, but %s", want, strings.Join(missed, "; "))
}

// demand is the processor time that the database takes for a request.
func (b base) demand(t *testing.T, u *user, path string) time.Duration {
	const requests = 100
	u.page("GET", path, nil)
	before := b.cpu(t)
	for range requests {
		u.page("GET", path, nil)
	}
	return (b.cpu(t) - before) / requests
}

// meteredDemand: with --meter-db the database's processor time for a request is its
// work, and that of a request without work, whatever shares its core: here the statements
// of other requests.
func meteredDemand(t *testing.T, b base) {
	const want, path = 10 * time.Millisecond, "/ViewStory?story=150"
	config := board.Config{Role: board.All, DB: []string{b.url}, Pool: 10, DBUnit: time.Microsecond, MeterDB: true}
	page := b.demand(t, newUser(t, start(t, config).Address()), path)
	config.Work = board.Work{"db": want}
	u := newUser(t, start(t, config).Address())
	const users, each = 4, 25
	u.page("GET", path, nil)
	before := b.cpu(t)
	atOnce(users, func(int) {
		for range each {
			u.page("GET", path, nil)
		}
	})
	got := (b.cpu(t) - before) / (users * each)
	t.Logf("%v a request, without work %v", got, page)
	if miss := float64(got-page-want) / float64(want); math.Abs(miss) > .05 {
		t.Errorf("the work is %v of processor time, want %v", got-page, want)
	}
}

// waits: a connection is kept for as long as is said, without work of the database.
func waits(t *testing.T, b base) {
	const wait, requests = 20 * time.Millisecond, 10
	u := newUser(t, start(t, board.Config{Role: board.All, DB: []string{b.url}, DBWait: wait}).Address())
	u.page("GET", "/Browse", nil) // which has no queries
	began, before := time.Now(), b.cpu(t)
	for range requests {
		u.page("GET", "/Browse", nil)
	}
	if took, used := time.Since(began), b.cpu(t)-before; took < requests*wait || used > requests*wait/4 {
		t.Errorf("%d requests took %v and %v of the database's processor, want %v and next to nothing", requests, took, used, requests*wait)
	}
}

// meteredElsewhere: a database of which the threads are not seen, as in a container of
// its own, is refused.
func meteredElsewhere(t *testing.T, b base) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a PID namespace")
	}
	text, err := json.Marshal(board.Config{Role: board.All, Listen: "127.0.0.1:0", DB: []string{b.url}, Pool: 1, Work: board.Work{"db": time.Millisecond}, MeterDB: true})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	if _, err := cmd.StdinPipe(); err != nil { // at the end of which it would end
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "leave out --meter-db") {
		t.Errorf("the application says %v, %s; want that the threads are not seen", err, out)
	}
}

// cpu is the processor time of the server, and of all that it has started.
func (b base) cpu(t testing.TB) time.Duration {
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
	// One that has a connection already may not have been woken yet, and counts as waiting.
	if waiting, busy := most(); waiting < users-1 || waiting > users || busy != users {
		t.Errorf("at most %d requests waited for the pool and %d were worked on, want %d or one more, and %d", waiting, busy, users-1, users)
	}
	// The work is a number of steps, counted when it was calibrated: where another
	// processor shared the core then, and does not now, they take half as long.
	if elapsed < users*each*work/2 {
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
