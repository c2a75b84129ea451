package lab

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// copyName is the file in a lab's directory that holds a copy of its manifest.
// By it the directory is known for a lab's after the machine has restarted,
// which takes the manifest away, but not what is on disk.
const copyName = "scalebench-lab.json"

// keepCopy writes the copy. Device names and inodes may be missing in it: they
// mean nothing after a restart.
func keepCopy(m Manifest) error {
	m.Path = filepath.Join(m.Dir, copyName)
	return save(m)
}

// lost lists the labs of a directory for volumes that stood when the machine
// was restarted. Ids that are known have a manifest, and are left out. What
// has no copy of a manifest is somebody else's and not even mentioned.
func lost(volumeDir string, known []string) ([]Manifest, error) {
	dir, err := filepath.EvalSymlinks(volumeDir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var all []Manifest
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || CheckID(e.Name()) != nil || slices.Contains(known, e.Name()) {
			continue
		}
		m, err := loadCopy(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, errForeign):
		case err != nil:
			errs = append(errs, err)
		case m.Owner.earlierBoot():
			all = append(all, m)
		}
	}
	return all, errors.Join(errs...)
}

// errForeign says that a directory is not that of a lab.
var errForeign = errors.New("not the directory of a lab")

// loadCopy reads the copy in a lab's directory. It must describe the lab of
// this very directory: otherwise what it names is somewhere else.
func loadCopy(dir string) (Manifest, error) {
	path := filepath.Join(dir, copyName)
	data, err := readCopy(dir)
	if errors.Is(err, fs.ErrPermission) {
		return Manifest{}, errNotRoot(err)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	m, err := ParseManifest(data)
	if err == nil && m.Dir != dir {
		err = fmt.Errorf("it describes a lab in %s", m.Dir)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w; scalebench leaves %s alone: remove it if it is not needed", path, err, dir)
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
	defer func() { _ = d.Close() }() // only looked at
	// Not blocking: it might be a pipe.
	fd, err := unix.Openat(int(d.Fd()), copyName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) {
		return nil, errForeign
	}
	if err != nil {
		return nil, fmt.Errorf("reading lab manifest: %w", err)
	}
	f := os.NewFile(uintptr(fd), copyName)
	defer func() { _ = f.Close() }() // only read
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
