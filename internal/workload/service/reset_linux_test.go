package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
