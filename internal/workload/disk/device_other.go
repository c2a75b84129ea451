//go:build !linux

package disk

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// directIO: O_DIRECT is of Linux.
const directIO = 0

// freeBytes is the room for users on the file system that holds a path.
func freeBytes(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

func deviceSize(path string) (int64, error) {
	return 0, fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}

func unclaimed(_ context.Context, path string) error {
	return fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}
