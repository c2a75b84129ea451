package service

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/procself"
)

// safeBuffer is a buffer that several write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func procCPU(t *testing.T, pid int) time.Duration {
	t.Helper()
	p, err := procself.ReadProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p.CPU
}

// inGroup are the living processes of a process group.
func inGroup(t *testing.T, group int) (out []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, err := procself.ReadProcess(pid); err == nil && p.Group == group && !p.Zombie {
				out = append(out, pid)
			}
		}
	}
	return out
}

// usage is what a service has used, in seconds of processor time, read between two times,
// and in how many periods it was held back by then.
type usage struct {
	from, to time.Time
	used     float64
	held     int
}

func (g *group) usage(t *testing.T, pid int) usage {
	t.Helper()
	u := usage{from: time.Now()}
	u.used, u.held = procCPU(t, pid).Seconds(), throttled(t, g)
	u.to = time.Now()
	return u
}

// follow reads what a service uses until its limit is another one, or a time has passed,
// and returns the last reading before.
func (g *group) follow(t *testing.T, pid int, last usage, cores float64, most time.Duration) usage {
	t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		u := g.usage(t, pid)
		if g.quota() != cores {
			break
		}
		last = u
	}
	return last
}

// quota is the limit that the kernel has now; above the group there is none.
func (g *group) quota() float64 {
	cores, _ := g.Allowed()
	return cores
}

// bounded fails if more was used up to a later reading than a limit allows: what it
// allows for all periods that may lie in that time, and two ticks of the clock.
func (u usage) bounded(t *testing.T, later usage, cores float64) {
	t.Helper()
	seconds := later.to.Sub(u.from).Seconds()
	if got, most := later.used-u.used, cores*(seconds+0.2)+0.02; got > most {
		t.Errorf("it used %.3f s in %.3f s with a limit of %v cores, which allows %.3f", got, seconds, cores, most)
	}
}

// throttled is in how many periods the limit of a group has held it back.
func throttled(t *testing.T, g *group) int {
	t.Helper()
	for line := range strings.Lines(cgroup.Read(g.Dir("cpu"), "cpu.stat")) {
		if n, ok := strings.CutPrefix(line, "nr_throttled "); ok {
			periods, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				t.Fatal(err)
			}
			return periods
		}
	}
	t.Fatal("the group does not tell how often it was held back")
	return 0
}
