package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestFullDiskAtStart: an agent that was killed, and then finds its disk full, frees
// what the task has left, and waits for room rather than to give up.
func TestFullDiskAtStart(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		workloadtest.Need(t, fmt.Errorf("mounting a small file system: %w", err))
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	j := open(t, dir, noon)
	scratch, filler := filepath.Join(dir, scratchDir, "task"), filepath.Join(dir, "filler")
	err := errors.Join(j.put(sampleEntry(1)), os.MkdirAll(scratch, 0o700), os.WriteFile(filepath.Join(scratch, "x"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !noRoom(err) {
		t.Fatalf("filling the disk: %v", err)
	}
	a := &Agent{cfg: Config{StateDir: dir}, log: slog.New(slog.DiscardHandler), journal: j}
	ended := make(chan error, 1)
	go func() { ended <- a.endUnfinished(t.Context()) }()
	for a.trouble.Load() == nil {
		select {
		case err := <-ended:
			t.Fatalf("it ended with %v, want it to wait for room", err)
		case <-time.After(time.Millisecond):
		}
	}
	if _, err := os.Stat(scratch); err == nil {
		t.Error("what the task has left is there while the disk is full")
	}
	if err := errors.Join(os.Remove(filler), <-ended); err != nil {
		t.Fatal(err)
	}
	got, _, err := j.pending()
	if err != nil || len(got) != 1 || got[0].Result == nil || got[0].Result.Outcome != model.OutcomeLost {
		t.Errorf("the journal has %v, %v; want a lost result", got, err)
	}
}

// TestUnreadableArtifact: what cannot be read is told from what cannot be sent now,
// which is tried again.
func TestUnreadableArtifact(t *testing.T) {
	dir := t.TempDir()
	e := sampleEntry(1)
	e.Artifacts = map[string]string{"folder": dir, "missing": filepath.Join(dir, "x")}
	a := &Agent{log: slog.New(slog.DiscardHandler)}
	for name := range e.Artifacts {
		if err := a.sendArtifact(t.Context(), e, name, map[string]int64{}); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v, want it told as not readable", name, err)
		}
	}
}
