package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// anotherBoot is what no machine has as its boot id.
const anotherBoot = "00000000-0000-0000-0000-000000000000"

// restarted builds a lab and takes away what a restart of the machine takes away: all
// but its directory on disk. The boot id in the copy of the manifest becomes
// another one, as it is then.
func restarted(t *testing.T, cfg Config, boot string) {
	t.Helper()
	l, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := l.Manifest()
	devices := m.devices()
	ctx := context.Background()
	if err = errors.Join(m.killAll(ctx, devices), m.unmount(ctx, devices), m.detach(ctx, devices),
		m.removeNamespaces(), m.removeCgroups(ctx), forget(m)); err != nil {
		t.Fatal(err)
	}
	l.fall()
	l.services.Wait()
	if boot == "" {
		return
	}
	old, err := loadCopy(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	old.Owner.Boot = boot
	if err := save(old); err != nil {
		t.Fatal(err)
	}
}

func TestLostAtRestart(t *testing.T) {
	needLab(t)
	for _, keep := range []bool{false, true} {
		cfg := smallLab("lost", t.TempDir())
		cfg.Keep = keep
		restarted(t, cfg, anotherBoot)
		// What the lab's folder points to, outside, must stay.
		outside := filepath.Join(t.TempDir(), "precious")
		plantFile(t, outside)
		folder, _ := filepath.Glob(cfg.VolumeDir + "/lost/folder/*")
		if len(folder) == 0 {
			t.Fatal("the lab has no folder on disk, so this shows nothing")
		}
		if err := os.Symlink(filepath.Dir(outside), folder[0]+"/link"); err != nil {
			t.Fatal(err)
		}
		all, err := List(cfg.StateDir, cfg.VolumeDir)
		if err != nil || len(all) != 1 || all[0].ID != "lost" || !all[0].LeftOver() || all[0].Keep != keep {
			t.Fatalf("List, kept %v, after a restart = %+v, %v, want the lab, left over", keep, all, err)
		}
		if _, err := Up(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("Up with the id of what is left = %v, want it refused", err)
		}
		if _, err := os.Stat(all[0].Path); err != nil {
			t.Errorf("after Up was refused: %v, want what was there untouched", err)
		}
		var log bytes.Buffer
		if err := Sweep(t.Context(), cfg.StateDir, cfg.VolumeDir, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
			t.Errorf("Sweep = %v", err)
		}
		if !strings.Contains(log.String(), "removed a leftover lab") {
			t.Errorf("Sweep logs %q, want that it was removed", log.String())
		}
		checkGone(t, cfg)
		if _, err := os.Stat(outside); err != nil {
			t.Errorf("Sweep followed a symbolic link: %v", err)
		}
	}
}

// plantFile writes a file that must not be removed.
func plantFile(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeCopy writes what looks like a lab of an earlier boot into a directory.
func writeCopy(t *testing.T, dir string, edit func(*Manifest)) {
	t.Helper()
	m := Manifest{Version: manifestVersion, ID: filepath.Base(dir), Owner: Owner{PID: 1, Boot: anotherBoot}, Dir: dir}
	m.Switch.Name = m.netns("")
	edit(&m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, copyName), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSweepLeavesDirectoriesAlone(t *testing.T) {
	boot, err := procself.BootID()
	if err != nil {
		t.Fatal(err)
	}
	same := func(*Manifest) {}
	for _, tt := range []struct {
		name  string
		plant func(t *testing.T, dir, elsewhere string)
		fails string // what Sweep says; empty: nothing
	}{
		{"without our file", func(*testing.T, string, string) {}, ""},
		{"of this boot", func(t *testing.T, dir, _ string) {
			writeCopy(t, dir, func(m *Manifest) { m.Owner.Boot = boot })
		}, ""},
		{"of an unknown boot", func(t *testing.T, dir, _ string) {
			writeCopy(t, dir, func(m *Manifest) { m.Owner.Boot = "" })
		}, ""},
		{"of another user", func(t *testing.T, dir, _ string) {
			writeCopy(t, dir, same)
			if err := os.Chown(filepath.Join(dir, copyName), 65534, 65534); err != nil {
				t.Skip(err)
			}
		}, ""},
		{"with a link as its file", func(t *testing.T, dir, elsewhere string) {
			writeCopy(t, elsewhere, func(m *Manifest) { m.ID, m.Dir = "lab", dir; m.Switch.Name = m.netns("") })
			if err := os.Symlink(filepath.Join(elsewhere, copyName), filepath.Join(dir, copyName)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"with a pipe as its file", func(t *testing.T, dir, _ string) {
			if err := unix.Mkfifo(filepath.Join(dir, copyName), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"that is a link", func(t *testing.T, dir, elsewhere string) {
			writeCopy(t, elsewhere, func(m *Manifest) { m.ID, m.Dir = "lab", dir; m.Switch.Name = m.netns("") })
			plantFile(t, filepath.Join(elsewhere, "file"))
			if err := errors.Join(os.RemoveAll(dir), os.Symlink(elsewhere, dir)); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"that was copied", func(t *testing.T, dir, _ string) {
			writeCopy(t, dir, func(m *Manifest) { m.Dir = "/somewhere/lab" })
		}, "it describes a lab in /somewhere/lab"},
		{"with a damaged file", func(t *testing.T, dir, _ string) {
			plantFile(t, filepath.Join(dir, copyName))
		}, "reading lab manifest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			volumes, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "lab")
			dir := filepath.Join(volumes, "lab")
			plantFile(t, filepath.Join(dir, "file"))
			tt.plant(t, dir, elsewhere)
			err := Sweep(t.Context(), t.TempDir(), volumes, nil)
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("Sweep = %v, want %q", err, tt.fails)
			}
			if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
				t.Errorf("Sweep removed a directory %s: %v", tt.name, err)
			}
		})
	}
}

// TestRemoveKnowsAnotherBoot: whatever has the names of a lab that was lost at
// the machine's restart now is not of that lab.
func TestRemoveKnowsAnotherBoot(t *testing.T) {
	l := up(t, Config{ID: "boot", Spec: Spec{Nodes: 1}})
	old := l.Manifest()
	old.Path, old.Owner.Boot, old.Dir = "", anotherBoot, filepath.Join(t.TempDir(), "boot")
	if err := Remove(t.Context(), old); err == nil || !strings.Contains(err.Error(), "left alone") {
		t.Errorf("Remove = %v, want the namespace left alone", err)
	}
	for _, path := range append(old.Cgroups, netnsDir+"/"+old.Switch.Name) {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("Remove of an earlier boot's lab took from this one's: %v", err)
		}
	}
}

// TestLogSaysWhatIsLeft: the log does not report a lab as removed when it is not.
func TestLogSaysWhatIsLeft(t *testing.T) {
	state, volumes := t.TempDir(), t.TempDir()
	dir := filepath.Join(volumes, "stays")
	writeCopy(t, dir, func(*Manifest) {})
	plantFile(t, dir+"/mount/file")
	if err := unix.Mount(volumes, dir+"/mount", "", unix.MS_BIND, ""); err != nil {
		t.Skip(err) // without rights nothing can be made to stay
	}
	unmount := func() { _ = unix.Unmount(dir+"/mount", unix.MNT_DETACH) } // the second time it is not there
	t.Cleanup(unmount)
	var log bytes.Buffer
	out := slog.New(slog.NewTextHandler(&log, nil))
	if err := Sweep(t.Context(), state, volumes, out); err == nil {
		t.Error("Sweep succeeded, want an error about what is mounted")
	}
	got := log.String()
	if !strings.Contains(got, "level=WARN") || !strings.Contains(got, notRemoved) || strings.Contains(got, "removed a leftover lab") {
		t.Errorf("Sweep logs %q, want a warning and not that it is removed", got)
	}
	unmount()
	l := newLab(Manifest{ID: "stays", Dir: "/elsewhere"}, Config{Log: out}.withDefaults())
	log.Reset()
	if err := l.Down(t.Context()); err == nil || !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "lab removed") {
		t.Errorf("Down = %v, logs %q, want an error and a warning", err, log.String())
	}
}

// TestManifestIsPrivate: nobody else can read the file and its copy.
func TestManifestIsPrivate(t *testing.T) {
	mode := func(path string) os.FileMode {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	old := unix.Umask(0)
	t.Cleanup(func() { unix.Umask(old) })
	m := Manifest{ID: "x7", Path: filepath.Join(t.TempDir(), "state", "x7.json"), Dir: filepath.Join(t.TempDir(), "x7")}
	if err := errors.Join(os.Mkdir(filepath.Dir(m.Path), 0o700), os.Mkdir(m.Dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(claim(m), keepCopy(m)); err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{filepath.Dir(m.Path): 0o700, m.Path: 0o600, filepath.Join(m.Dir, copyName): 0o600, m.Dir: 0o755}
	check := func() {
		t.Helper()
		for path, mod := range want {
			if got := mode(path); got != mod {
				t.Errorf("%s has mode %o, want %o", path, got, mod)
			}
		}
	}
	check()
	if err := save(m); err != nil {
		t.Fatal(err)
	}
	check()
}
