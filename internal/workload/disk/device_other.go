//go:build !linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// errNoDirect: the file system does not know direct I/O.
var errNoDirect = errors.New("no direct I/O")

// openDirect never succeeds: O_DIRECT is of Linux.
func openDirect(path string, write bool) error {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return err
	}
	return errors.Join(errNoDirect, f.Close())
}

// freeBytes is the room for users on the file system that holds a path.
func freeBytes(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// deviceSize always fails.
func deviceSize(path string) (int64, error) {
	return 0, fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}

// unclaimed always fails.
func unclaimed(_ context.Context, path string) error {
	return fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}

// lockFile takes an exclusive lock, which ends with the process, or fails at
// once.
func lockFile(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
