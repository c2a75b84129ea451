package service

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// share lets two files have the same blocks, until one of them changes; most file
// systems cannot.
func share(from, to *os.File) bool { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil }

// nextData finds the next part of a file that was written, at an offset or behind it; more:
// there is one.
func nextData(f *os.File, from int64) (begin, end int64, more bool, err error) {
	begin, err = unix.Seek(int(f.Fd()), from, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return 0, 0, false, nil
	}
	if err == nil {
		end, err = unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
	}
	return begin, end, err == nil, err
}

// syncAll writes back what the file system of a path still has in memory.
func syncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only looked at
	return unix.Syncfs(int(f.Fd()))
}
