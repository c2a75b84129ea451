package identity

import (
	"fmt"
	"os"
	"path/filepath"
)

// privateDir makes dir with mode 0700 if there is none, and refuses one in
// which others could replace our files. Others may list it: the files
// themselves are 0600.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making its directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("directory %s can be changed by others (mode %04o): run `chmod 700 %s`", dir, mode, dir)
	}
	return nil
}

// readPrivate reads a file that holds a secret, and refuses one that others
// can read: its secret must be taken as known.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("others can read or change it (mode %04o): run `chmod 600 %s` if you trust everybody who could, or else remove it to get a new identity", mode, path)
	}
	return os.ReadFile(path)
}

// WritePrivate replaces a file with mode 0600, whole or not at all, and has it
// on the disk when it returns.
func WritePrivate(path string, data []byte) error {
	tmp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp) // the first error matters
		return err
	}
	return syncDir(filepath.Dir(path))
}

// writeTemp writes data to a new file of mode 0600 beside path.
func writeTemp(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error matters
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return f.Name(), err
}

// syncDir makes a rename or a link in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // opened for reading
	return d.Sync()
}
