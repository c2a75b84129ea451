package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestDiskFull fills the disk under store and queue in mid-run.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must run this test as root: it mounts a small file system")
		}
		t.Skip("mounting a small file system needs root")
	}
	w := newWorld(t)
	disk := filepath.Join(w.dir, "server")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.stop()
		w.agents, w.server = nil, nil
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	w.args = []string{"-v"}
	w.startServer()
	for _, n := range []string{"n1", "n2", "n3"} {
		w.startAgent(n)
	}
	follower := w.start("run", w.write("chaos.yaml", chaosExperiment))
	d := w.awaitRun("latest", "begun", func(d model.RunData) bool { return len(d.Results) >= 2 })
	id := string(d.Run.ID)
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	w.server.await(t, "the store fails")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	<-follower.ended
	if w.data(id).Run.State != model.RunDone {
		// The queue may have given up first; that ends the run, not its data.
		_, _, _ = w.try("resume", id)
	}
	checkComplete(t, w.data(id))
}

// fill writes until there is no space left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the disk is full on purpose
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		block := []byte(strings.Repeat("x", size))
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
	}
}
