//go:build !linux

package disk

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// directIO: O_DIRECT is of Linux.
const directIO = 0

func deviceSize(path string) (int64, error) {
	return 0, fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}

func unclaimed(_ context.Context, path string) error {
	return fmt.Errorf("%s: block devices can be measured on Linux only: give a folder", path)
}

func newMount(device, _ string) (*os.File, error) {
	return nil, fmt.Errorf("%s: block devices can be mounted on Linux only", device)
}

// deviceOf tells files apart.
func deviceOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
