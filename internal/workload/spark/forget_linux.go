package spark

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// forget has the page cache forget a file that is on the disk, so that it is read from
// there.
func forget(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
}
