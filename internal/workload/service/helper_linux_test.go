package service

import (
	"bytes"
	"os"
	"strconv"
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
