package sqlite_test

import (
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/storetest"
)

// smallDisk mounts a file system of 16 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("a small file system needs root")
		}
		t.Skip("a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatalf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// TestFullDisk fills the disk in the middle of a delivery. The callers are
// told, readers see all that was acknowledged, and when there is space again
// the same store takes the rest.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	dir := smallDisk(t)
	ballast := filepath.Join(dir, "ballast")
	s, f := start(t, filepath.Join(dir, "store.db"), 20, 10)
	if err := os.WriteFile(ballast, make([]byte, 14<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	results := f.Results()
	noise := rand.NewChaCha8([32]byte{})
	for i := range results {
		text := make([]byte, 16<<10)
		_, _ = noise.Read(text) // cannot fail
		results[i].Stdout = model.Output{Text: string(text), Total: int64(len(text))}
	}

	var mu sync.Mutex
	var acked []model.Result
	var full sync.Once
	wait := func() {
		full.Do(func() {
			mu.Lock()
			sofar := append([]model.Result(nil), acked...)
			mu.Unlock()
			storetest.CheckStored(t, s, f, sofar, true)
			if err := os.Remove(ballast); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := storetest.Deliver(ctx, s, results, 4, wait, func(r model.Result) {
		mu.Lock()
		defer mu.Unlock()
		acked = append(acked, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ballast); !errors.Is(err, os.ErrNotExist) {
		t.Error("the disk never was full: the test proves nothing")
	}
	storetest.CheckStored(t, s, f, results, false)
	if err := s.AddEvents(context.Background(), model.Event{Kind: model.EventRetry}); err != nil {
		t.Error(err)
	}
}

// TestReadOnly reads a store on a file system that cannot be written to: one
// that was closed, and one with results that are only in the log, because its
// process was killed.
func TestReadOnly(t *testing.T) {
	for name, closed := range map[string]bool{"closed": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t)
			path := filepath.Join(dir, "store.db")
			s, f := start(t, path, 5, 2)
			for _, r := range f.Results() {
				if _, err := s.PutResult(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			if closed {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				dir = copyOf(t, dir)
				path = filepath.Join(dir, "store.db")
			}
			if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			r := mustOpen(t, path)
			storetest.CheckStored(t, r, f, f.Results(), true)
			if err := r.SetRunState(t.Context(), f.Run.ID, model.RunDone, "", time.Now()); !errors.Is(err, model.ErrUnavailable) {
				t.Errorf("writing: %v, want model.ErrUnavailable", err)
			}
		})
	}
}

// TestReadOnlyWithoutIndex: a copy without the file that tells where things are
// in the log is refused with what is missing, and not read without the log.
func TestReadOnlyWithoutIndex(t *testing.T) {
	dir := smallDisk(t)
	start(t, filepath.Join(dir, "store.db"), 1, 1)
	dir = copyOf(t, dir)
	if err := os.Remove(filepath.Join(dir, "store.db-shm")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), filepath.Join(dir, "store.db"))
	if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), "store.db-shm") {
		t.Errorf("Open() = %v, want %v that names the file", err, model.ErrUnavailable)
	}
}

// copyOf copies the files of a folder, as they are at this moment, to a file
// system of its own.
func copyOf(t *testing.T, from string) string {
	t.Helper()
	to := smallDisk(t)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestRoom: what is stored takes room, and what is deleted gives it back.
func TestRoom(t *testing.T) {
	dir := smallDisk(t)
	s, f := start(t, filepath.Join(dir, "store.db"), 20, 10)
	before, err := s.Room(t.Context())
	if err != nil || before.Disk != 16<<20 {
		t.Fatalf("Room() = %+v, %v, want a disk of 16 MiB", before, err)
	}
	for _, r := range f.Results() {
		r.Stdout = model.Output{Text: randomText(4 << 10), Total: 4 << 10}
		if _, err := s.PutResult(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Room(t.Context())
	const least = 400 << 10 // half of the texts: base64 packs well
	if err != nil || after.Used < before.Used+least || after.Free > before.Free-least {
		t.Errorf("Room() after %d results = %+v, %v; before %+v", len(f.Results()), after, err, before)
	}
	if err := s.DeleteRun(t.Context(), f.Run.ID); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Room(t.Context()); err != nil || last.Used > before.Used+least || last.Free < after.Free+least {
		t.Errorf("Room() after the deletion = %+v, %v; before the results %+v, with them %+v", last, err, before, after)
	}
}

func randomText(n int) string {
	text := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(text) // cannot fail
	return base64.StdEncoding.EncodeToString(text)[:n]
}
