package disk

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// makeFolder makes a folder that holds what a task puts there, and returns the
// file.
func makeFolder(t *testing.T, dir string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, dataName)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

func mustStay(t *testing.T, what, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("%s: %v, want it to stay", what, err)
	}
}

// TestSweepPlanted has another user plant, in a folder that all may write to,
// what looks as if a task had left it.
func TestSweepPlanted(t *testing.T) {
	folder, home := t.TempDir(), t.TempDir()
	mine := makeFolder(t, filepath.Join(home, "u"), 0o700)
	for _, name := range []string{scratchPrefix + "x", newPrefix + scratchPrefix + "x"} {
		if err := os.Symlink(filepath.Dir(mine), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	open := makeFolder(t, filepath.Join(folder, scratchPrefix+"open"), 0o777)
	theirs := makeFolder(t, filepath.Join(folder, scratchPrefix+"theirs"), 0o700)
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Dir(theirs), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		mustStayAfter(t, folder, theirs)
	}
	mustStayAfter(t, folder, mine)
	mustStayAfter(t, folder, open)
	mustStay(t, "the link", filepath.Join(folder, scratchPrefix+"x"))
}

// mustStayAfter checks that a sweep, at whatever time, leaves the file.
func mustStayAfter(t *testing.T, folder, file string) {
	t.Helper()
	sweep(folder, time.Now().Add(24*time.Hour))
	mustStay(t, "after a sweep", file)
}

// TestSweepUnfinished removes folders that were never finished when they are
// old, and not while a task may still be making them.
func TestSweepUnfinished(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"old", "young"} {
		if err := os.Mkdir(filepath.Join(folder, newPrefix+scratchPrefix+name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(filepath.Join(folder, newPrefix+scratchPrefix+"old"), past, past); err != nil {
		t.Fatal(err)
	}
	sweep(folder, time.Now())
	if diff := cmp.Diff([]string{newPrefix + scratchPrefix + "young"}, left(t, folder)); diff != "" {
		t.Errorf("what is in the folder (-want +got):\n%s", diff)
	}
}

// TestRemoveSwapped has another program replace a task's folder with a link while
// the task runs: its clean-up removes its own file, and nothing behind the link.
func TestRemoveSwapped(t *testing.T) {
	folder := t.TempDir()
	mine := makeFolder(t, filepath.Join(t.TempDir(), "u"), 0o700)
	s, err := newScratch(folder)
	if err != nil {
		t.Fatal(err)
	}
	makeFolder(t, s.dir, 0o700)
	moved := filepath.Join(folder, "moved")
	if err := os.Rename(s.dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(mine), s.dir); err != nil {
		t.Fatal(err)
	}
	target := target{path: s.file(), created: true, scratch: s}
	if err := target.remove(); err == nil {
		t.Error("remove() = nil, want that the folder is not what it was")
	}
	mustStay(t, "the file behind the link", mine)
	if got := left(t, moved); slices.Contains(got, dataName) {
		t.Errorf("the task's folder holds %q, want nothing", got)
	}
}
