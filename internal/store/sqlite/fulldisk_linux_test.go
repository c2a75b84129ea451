package sqlite_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/storetest"
)

// smallDisk mounts a file system of this size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("a small file system needs root")
		}
		t.Skip("a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
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
	dir := smallDisk(t, "16m")
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
