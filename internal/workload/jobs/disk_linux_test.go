package jobs

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// TestFullDisk: what does not fit onto the disk of the node fails with clear words, what
// fits goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk takes root")
	}
	g := s3test.Start(t)
	g.Write(t, "in/large", strings.Repeat("x", 300_000))
	g.Write(t, "in/doubled", strings.Repeat("x", 150_000))
	g.Write(t, "in/small", "x")
	s := newServer(t)
	a := newTask(t, s, onGateway(g, `"items": {"prefix": "in/"}, "command": "cat {in} {in} > {out}",
			"put": {"keep": true}, "slots": 1, "tries": 2, "max_errors": 1`), 0, 1)
	a.env.Dir = t.TempDir()
	if err := syscall.Mount("small", a.env.Dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Unmount(a.env.Dir, 0); err != nil {
			t.Error(err)
		}
	}()
	ran(t, a)
	aside := s.records(jobs.SetAside)
	for name, says := range map[string]string{"in/large": "has no room for item",
		"in/doubled": "No space left on device"} {
		if r := aside[name]; !strings.Contains(r.Error, says) {
			t.Errorf("%s: %+v, want %q", name, r, says)
		}
	}
	if r := s.records(jobs.Done)["in/small"]; r.Out != 2 {
		t.Errorf("in/small: %+v", r)
	}
}
