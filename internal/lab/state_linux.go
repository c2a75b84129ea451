package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// manifestPath is the file of the lab's manifest.
func manifestPath(stateDir, id string) string {
	return filepath.Join(stateDir, id+".json")
}

// claim writes a manifest under an id that is free.
func claim(m Manifest) error {
	// The commands and the environment of services are nobody else's business.
	if err := os.MkdirAll(filepath.Dir(m.Path), 0o700); err != nil {
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
// forget removes.
func writeTemp(m Manifest) (string, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing lab manifest: %w", err)
	}
	path := m.Path + ".tmp"
	f, err := os.Create(path)
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
	for _, path := range []string{m.Path + ".tmp", m.Path} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("removing lab manifest: %w", err))
		}
	}
	return errors.Join(errs...)
}

// List returns the manifests of all labs of this machine, by id. With a file
// that cannot be read it returns the others and an error. An empty stateDir is
// DefaultStateDir.
func List(stateDir string) ([]Manifest, error) {
	if stateDir == "" {
		stateDir = DefaultStateDir
	}
	entries, err := os.ReadDir(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: labs belong to root, who alone can list them: %w", model.ErrDenied, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var all []Manifest
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || CheckID(id) != nil {
			continue
		}
		m, err := load(stateDir, id)
		if err == nil {
			all = append(all, m)
		} else if !errors.Is(err, model.ErrNotFound) { // removed just now
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
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
