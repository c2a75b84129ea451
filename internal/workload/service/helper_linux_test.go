package service

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// throttled is in how many periods the limit of a group has held it back.
func throttled(t *testing.T, g *group) int {
	t.Helper()
	for line := range strings.Lines(readGroup(g.file("cpu", "cpu.stat", "cpu.stat"))) {
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
