package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/test/workloadtest"
)

// loadedFolder is a folder with the file d/f, and a link.
func loadedFolder(t *testing.T, link, target string) string {
	t.Helper()
	from := filepath.Join(t.TempDir(), "loaded")
	err := errors.Join(os.MkdirAll(filepath.Join(from, "d"), 0o755), os.WriteFile(filepath.Join(from, "d", "f"), []byte("loaded"), 0o600))
	if link != "" {
		err = errors.Join(err, os.Symlink(strings.ReplaceAll(target, "FROM", from), filepath.Join(from, link)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return from
}

// TestResetLinks: through a link out of the loaded folder the service would change
// what the next step begins with.
func TestResetLinks(t *testing.T) {
	for target, refused := range map[string]bool{
		"d/f": false, "d/../d": false, "nothing": false, "l": false,
		"FROM/d/f": true, "../loaded/d": true, "/var": true, "../nothing": true,
	} {
		from := loadedFolder(t, "l", target)
		err := copyTree(t.Context(), from, filepath.Join(t.TempDir(), "copy"))
		if (err != nil) != refused {
			t.Errorf("a link to %s: %v, want refused %t", target, err, refused)
		}
		if refused && (err == nil || !strings.Contains(err.Error(), filepath.Join(from, "l")+" leads to "+strings.ReplaceAll(target, "FROM", from))) {
			t.Errorf("a link to %s: %v, want link and target", target, err)
		}
	}
}

// TestResetOriginal: a path that is a link itself stands for the folder, not for the
// link; and one that contains the copy would never be copied to its end.
func TestResetOriginal(t *testing.T) {
	from, link := loadedFolder(t, "", ""), filepath.Join(t.TempDir(), "link")
	r := &running{Instance: &Instance{Settings: Settings{Reset: &Reset{From: link}}}, dir: t.TempDir()}
	r.env = newTask(t).env
	if err := errors.Join(os.Symlink(from, link), r.reset(t.Context())); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(filepath.Join(r.dir, "data")); err != nil || !info.IsDir() {
		t.Errorf("the copy is %v, %v; want a folder", info, err)
	}
	r.Reset = &Reset{From: filepath.Dir(r.dir)}
	if err := r.reset(t.Context()); err == nil || !strings.Contains(err.Error(), "contains the service's own folder "+r.dir) {
		t.Errorf("reset = %v, want it refused", err)
	}
}

// TestWriteFilesInside: a link that the service's data has leads no file out of its
// folder.
func TestWriteFilesInside(t *testing.T) {
	outside, dir := filepath.Join(t.TempDir(), "x"), t.TempDir()
	if err := errors.Join(os.WriteFile(outside, []byte("old"), 0o600), os.Symlink(outside, filepath.Join(dir, "l"))); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, map[string][]byte{"a/b/c": []byte("new"), "plain": nil}); err != nil {
		t.Error(err)
	}
	err := writeFiles(dir, map[string][]byte{"l": []byte("new")})
	if text, _ := os.ReadFile(outside); err == nil || string(text) != "old" {
		t.Errorf("writeFiles = %v, and outside is now %q", err, text)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a", "b", "c")); string(text) != "new" {
		t.Errorf("a/b/c is %q, %v", text, err)
	}
}

// TestMountStays: what a service has mounted in its folder is not emptied with it.
func TestMountStays(t *testing.T) {
	x := newTask(t, Instance{Name: "db", Command: "exec sleep 60"})
	x.prepare(t)
	outside, at := loadedFolder(t, "", ""), filepath.Join(x.running[0].dir, "m")
	if err := errors.Join(os.Mkdir(at, 0o755), syscall.Mount(outside, at, "", syscall.MS_BIND, "")); err != nil {
		workloadtest.Need(t, fmt.Errorf("mounting a folder: %w", err))
	}
	x.end(x.env, true)
	if text, err := os.ReadFile(filepath.Join(outside, "d", "f")); string(text) != "loaded" {
		t.Errorf("what was mounted is %q, %v", text, err)
	}
	if !strings.Contains(x.out.String(), at+" is mounted in it") {
		t.Errorf("stderr is %q, want the mount", x.out.String())
	}
	if err := syscall.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
	if err := removeFolder(filepath.Dir(x.running[0].dir)); err != nil {
		t.Error(err)
	}
	x.checkNothing(t, x.running[0].dir)
}

// TestCopySparse: what was never written is not written by a copy either.
func TestCopySparse(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	f, err := os.Create(filepath.Join(from, "big"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("middle"), 20<<30)
	if err := errors.Join(err, f.Truncate(50<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, "big"))
	if err != nil || info.Size() != 50<<30 || info.Sys().(*syscall.Stat_t).Blocks > 1<<12 {
		t.Fatalf("the copy is %+v, %v; want 50 GiB with next to no blocks", info, err)
	}
	copied, err := os.Open(filepath.Join(to, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = copied.Close() }()
	text := make([]byte, 6)
	if _, err := copied.ReadAt(text, 20<<30); err != nil || string(text) != "middle" {
		t.Errorf("in the middle there is %q, %v", text, err)
	}
}
