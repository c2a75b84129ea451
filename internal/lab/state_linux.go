package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

const (
	manifestSuffix = ".json"
	// copyName is the file in a lab's directory that holds a copy of its
	// manifest. By it the directory is known for a lab's after the machine has
	// restarted, which takes the manifest away, but not what is on disk.
	copyName = "scalebench-lab.json"
)

func manifestPath(stateDir, id string) string {
	return filepath.Join(stateDir, id+manifestSuffix)
}

// claim writes a manifest under an id that is free.
func claim(m Manifest) error {
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o700); err != nil {
		return fmt.Errorf("keeping a list of labs: %w", err)
	}
	err := m.write(os.Link) // which, unlike a rename, fails when the name is taken
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("lab %s already exists: choose another id, or remove it", m.ID)
	}
	return err
}

// save replaces the manifest on disk.
func save(m Manifest) error { return m.write(os.Rename) }

// keepCopy writes the copy. Device names and inodes may be missing in it: they
// mean nothing after a restart.
func keepCopy(m Manifest) error {
	m.Path = filepath.Join(m.Dir, copyName)
	return save(m)
}

// write puts the manifest on disk, whole or not at all, and lets place give it its name. A
// crash may leave a file beside it, which forget or a sweep removes.
func (m Manifest) write(place func(tmp, path string) error) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = identity.PlacePrivate(m.Path, data, place)
	}
	if err != nil {
		return fmt.Errorf("writing lab manifest: %w", err)
	}
	return nil
}

// unplaced lists the files that writers of a manifest have left beside it: of any id for "*".
func unplaced(stateDir, id string) []string {
	files, _ := filepath.Glob(filepath.Join(stateDir, "."+id+manifestSuffix+".*"))
	return files
}

// removeFile removes a file, if there is one.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// forget removes a manifest when nothing that it lists is left.
func forget(m Manifest) error {
	if m.Path == "" {
		return nil // it was never on disk
	}
	var failed error
	for _, path := range append(unplaced(filepath.Dir(m.Path), m.ID), m.Path) {
		failed = errors.Join(failed, removeFile(path))
	}
	if failed != nil {
		return fmt.Errorf("removing lab manifest: %w", failed)
	}
	return nil
}

// sweepUnplaced removes manifests that were written and never got their name,
// because the process that wrote them was killed in between: nothing was made yet. A
// file in which the owner cannot be read may be one that is being written just now,
// and stays for a minute.
func sweepUnplaced(stateDir string) (failed error) {
	for _, tmp := range unplaced(stateDir, "*") {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(tmp), "."), manifestSuffix)
		info, err := os.Lstat(tmp)
		if err != nil || !info.Mode().IsRegular() || CheckID(id) != nil {
			continue
		}
		data, err := os.ReadFile(tmp)
		if err != nil {
			continue // it has its name, or is gone
		}
		m, err := ParseManifest(data)
		if err == nil && !m.LeftOver() || err != nil && time.Since(info.ModTime()) < time.Minute {
			continue
		}
		failed = errors.Join(failed, removeFile(tmp))
	}
	if failed != nil {
		return fmt.Errorf("removing unfinished lab manifests: %w", failed)
	}
	return nil
}

// List returns the manifests of all labs of this machine, by id: those of
// stateDir, and those that were lost when the machine restarted, from their
// directories in volumeDir. With a file that cannot be read it returns the others and
// an error. Empty directories are DefaultStateDir and DefaultVolumeDir.
func List(stateDir, volumeDir string) ([]Manifest, error) {
	dirs := Config{StateDir: stateDir, VolumeDir: volumeDir}.withDefaults()
	entries, err := os.ReadDir(dirs.StateDir)
	if errors.Is(err, fs.ErrPermission) {
		return nil, errNotRoot(err)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var ids []string
	var all []Manifest
	var failed error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), manifestSuffix)
		if !ok || CheckID(id) != nil {
			continue
		}
		ids = append(ids, id)
		m, err := load(dirs.StateDir, id)
		if err == nil {
			all = append(all, m)
		} else if !errors.Is(err, model.ErrNotFound) { // removed just now
			failed = errors.Join(failed, err)
		}
	}
	old, err := lost(dirs.VolumeDir, ids)
	all = append(all, old...)
	slices.SortFunc(all, func(a, b Manifest) int { return strings.Compare(a.ID, b.ID) })
	return all, errors.Join(failed, err)
}

func errNotRoot(err error) error {
	return fmt.Errorf("%w: only root can list labs: %w", model.ErrDenied, err)
}

func load(stateDir, id string) (m Manifest, err error) {
	path := manifestPath(stateDir, id)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("lab %s: %w: `scalebench lab list` shows the labs of this machine", id, model.ErrNotFound)
	case err != nil:
		return m, fmt.Errorf("reading lab manifest: %w", err)
	}
	if m, err = ParseManifest(data); err == nil && m.ID != id {
		err = fmt.Errorf("it describes lab %s", m.ID)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	m.Path = path
	return m, nil
}

// lost lists the labs of a directory for volumes that stood when the machine
// was restarted. Ids that are known have a manifest, and are left out. What
// has no copy of a manifest belongs to others and is not even mentioned.
func lost(volumeDir string, known []string) (all []Manifest, failed error) {
	dir, err := filepath.EvalSymlinks(volumeDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || CheckID(e.Name()) != nil || slices.Contains(known, e.Name()) {
			continue
		}
		m, err := loadCopy(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, errForeign):
		case err != nil:
			failed = errors.Join(failed, err)
		case m.Owner.earlierBoot():
			all = append(all, m)
		}
	}
	return all, failed
}

var errForeign = errors.New("not the directory of a lab")

// loadCopy reads the copy in a lab's directory. It must describe the lab of
// this very directory: otherwise what it names is somewhere else.
func loadCopy(dir string) (m Manifest, err error) {
	path := filepath.Join(dir, copyName)
	data, err := readCopy(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return m, errNotRoot(err)
	case err != nil:
		return m, fmt.Errorf("%s: %w", path, err)
	}
	if m, err = ParseManifest(data); err == nil && m.Dir != dir {
		err = fmt.Errorf("it describes a lab in %s", m.Dir)
	}
	if err != nil {
		return m, fmt.Errorf("%s: %w; scalebench leaves %s alone: remove it if it is not needed", path, err, dir)
	}
	m.Path = path
	return m, nil
}

// readCopy reads a file that this user's labs alone have written: no link is
// followed to it, and it and its directory are this user's own.
func readCopy(dir string) (data []byte, err error) {
	d, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only looked at
	// Not blocking: it might be a pipe.
	fd, err := unix.Openat(int(d.Fd()), copyName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) {
		return nil, errForeign
	}
	if err != nil {
		return nil, fmt.Errorf("reading lab manifest: %w", err)
	}
	f := os.NewFile(uintptr(fd), copyName)
	defer f.Close() //nolint:errcheck // only read
	if !mine(d, unix.S_IFDIR) || !mine(f, unix.S_IFREG) {
		return nil, errForeign
	}
	return io.ReadAll(f)
}

// openDir opens a directory, but not one behind a symbolic link.
func openDir(dir string) (*os.File, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, errForeign
	}
	return d, err
}

// mine reports whether a file is of this user and of a kind: S_IFREG.
func mine(f *os.File, kind uint32) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && int(st.Uid) == os.Geteuid() && st.Mode&unix.S_IFMT == kind
}

// onDisk returns the part of a manifest that outlives a restart of the machine.
// Whatever has the names of the rest now, others have made since; only names of
// namespaces may be there still, as empty files.
func (m Manifest) onDisk() Manifest {
	m.Cgroups, m.Hosts = nil, slices.Clone(m.Hosts)
	m.Switch.Inode = 0
	for i := range m.Hosts {
		m.Hosts[i].Groups, m.Hosts[i].Namespace.Inode = nil, 0
	}
	return m
}
