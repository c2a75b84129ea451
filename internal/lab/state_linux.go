package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	manifestSuffix = ".json"
	tempSuffix     = ".tmp" // of a manifest that is being written
)

// manifestPath is the file of the lab's manifest.
func manifestPath(stateDir, id string) string {
	return filepath.Join(stateDir, id+manifestSuffix)
}

// claim writes a manifest under an id that is free.
func claim(m Manifest) error {
	if err := makePrivate(filepath.Dir(m.Path)); err != nil {
		return fmt.Errorf("keeping a list of labs: %w", err)
	}
	tmp, err := writeTemp(m)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // the link keeps the file
	// A hard link, unlike a rename, fails when the name is taken.
	if err := os.Link(tmp, m.Path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("lab %s exists already: choose another id, or remove it", m.ID)
		}
		return fmt.Errorf("writing lab manifest: %w", err)
	}
	return syncDir(filepath.Dir(m.Path))
}

// makePrivate makes a directory for manifests that only its owner can look
// into: the commands and the environment of services are nobody else's
// business. One that is there already, and open to others, is closed to them if
// it is ours: of this user, and with nothing in it but manifests.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o777 == 0o700 || int(st.Uid) != os.Geteuid() {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), tempSuffix), manifestSuffix)
		if !ok || !idPattern.MatchString(id) {
			return nil
		}
	}
	return os.Chmod(dir, 0o700)
}

// save replaces the manifest on disk.
func save(m Manifest) error {
	tmp, err := writeTemp(m)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, m.Path); err != nil {
		_ = os.Remove(tmp) // the rename's error says more
		return fmt.Errorf("writing lab manifest: %w", err)
	}
	return syncDir(filepath.Dir(m.Path))
}

// writeTemp writes the manifest to a file beside its place, and to disk. The
// name is always the same for a lab, so a crash leaves at most one, which
// the next write or forget removes: it may have been readable for others.
func writeTemp(m Manifest) (string, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing lab manifest: %w", err)
	}
	path := m.Path + tempSuffix
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("writing lab manifest: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("writing lab manifest: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path) // the first error says more
		return "", fmt.Errorf("writing lab manifest: %w", err)
	}
	return path, nil
}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("writing lab manifest: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing lab manifest: %w", err)
	}
	return nil
}

// forget removes a manifest when nothing that it lists is left.
func forget(m Manifest) error {
	if m.Path == "" {
		return nil // it was never on disk
	}
	var errs []error
	for _, path := range []string{m.Path + tempSuffix, m.Path} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing lab manifest: %w", err))
		}
	}
	return errors.Join(errs...)
}

// List returns the manifests of all labs of this machine, by id: those of
// stateDir, and of directories in volumeDir whose labs were lost when the
// machine restarted. With a file that cannot be read it returns the others and
// an error. Empty directories are DefaultStateDir and DefaultVolumeDir.
func List(stateDir, volumeDir string) ([]Manifest, error) {
	dirs := Config{StateDir: stateDir, VolumeDir: volumeDir}.withDefaults()
	ids, err := listed(dirs.StateDir)
	if err != nil {
		return nil, err
	}
	var all []Manifest
	var errs []error
	for _, id := range ids {
		m, err := load(dirs.StateDir, id)
		if err == nil {
			all = append(all, m)
		} else if !errors.Is(err, model.ErrNotFound) { // removed just now
			errs = append(errs, err)
		}
	}
	old, err := lost(dirs.VolumeDir, ids)
	all = append(all, old...)
	slices.SortFunc(all, func(a, b Manifest) int { return strings.Compare(a.ID, b.ID) })
	return all, errors.Join(append(errs, err)...)
}

// listed returns the ids of the labs that have a manifest.
func listed(stateDir string) ([]string, error) {
	entries, err := os.ReadDir(stateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, errNotRoot(err)
	case err != nil:
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), manifestSuffix); ok && CheckID(id) == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// errNotRoot says who may list labs.
func errNotRoot(err error) error {
	return fmt.Errorf("%w: labs belong to root, who alone can list them: %w", model.ErrDenied, err)
}

// load reads the manifest of one lab.
func load(stateDir, id string) (Manifest, error) {
	path := manifestPath(stateDir, id)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("lab %s: %w: `scalebench lab list` shows the labs of this machine", id, model.ErrNotFound)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("reading lab manifest: %w", err)
	}
	m, err := ParseManifest(data)
	if err == nil && m.ID != id {
		err = fmt.Errorf("it describes lab %s", m.ID)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	m.Path = path
	return m, nil
}
