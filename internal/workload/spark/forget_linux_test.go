package spark

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestForget: a file that was just written is in memory, and is not any more; where
// memory is all that holds it, all of it is said to be there.
func TestForget(t *testing.T) {
	for _, folder := range []string{t.TempDir(), "/dev/shm"} {
		var at unix.Statfs_t
		if err := unix.Statfs(folder, &at); err != nil {
			t.Skip(err)
		}
		size := 1 + rand.IntN(8<<20) //nolint:gosec // a truth of the test's own
		f, err := os.CreateTemp(folder, "forget")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = f.Close(), os.Remove(f.Name()) })
		if _, err := f.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
		if in, err := resident(f); err != nil || in != int64(size) {
			t.Errorf("%s: of %d bytes %d are in memory, %v, want all", folder, size, in, err)
		}
		left, err := forget(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if all := at.Type == unix.TMPFS_MAGIC; all && left != int64(size) || !all && left > int64(size)/10 {
			t.Errorf("%s: of %d bytes %d are still in memory; is it a tmpfs: %v", folder, size, left, all)
		}
	}
	if _, err := forget(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is missing was forgotten")
	}
}
