package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/workload"
)

// directIO is the flag of open(2) for direct I/O.
const directIO = unix.O_DIRECT

// deviceSize is the size of a block device in bytes.
func deviceSize(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("opening the device: %w: run the agent as a user who may use it", err)
	}
	defer func() { _ = f.Close() }() // was only read
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, fmt.Errorf("asking for the size of %s: %w", path, err)
	}
	return size, nil
}

// newMount mounts a device where nobody else sees it: below the folder that is the
// file. The kernel ends the mount when the last file on it is closed, so that a task
// that was killed leaves none.
func newMount(device, kind string) (*os.File, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(context) }() // the mount stays
	if err = unix.FsconfigSetString(context, "source", device); err == nil {
		err = unix.FsconfigCreate(context)
	}
	if err != nil {
		return nil, err
	}
	fd, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), device), nil
}

// deviceOf is the number of a block device, or of the one that a file is on.
func deviceOf(info fs.FileInfo) uint64 {
	switch st, ok := info.Sys().(*syscall.Stat_t); {
	case !ok:
		return 0
	case isDevice(info):
		return st.Rdev
	default:
		return st.Dev
	}
}

const (
	claimTries = 20
	claimPause = 100 * time.Millisecond
)

// unclaimed refuses a block device that the system uses: a mounted file
// system in whatever mount namespace, swap, a part of a RAID or LVM group, or
// any of these on one of its partitions. The kernel lets only one of them
// claim a device, and opening it exclusively asks for the claim. Another task
// that asks at the same moment is gone at once, so that it is tried again.
func unclaimed(ctx context.Context, path string) error {
	for try := 1; ; try++ {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_EXCL, 0)
		switch {
		case err == nil:
			return f.Close()
		case errors.Is(err, unix.EBUSY) && try < claimTries:
			if err := workload.Pause(ctx, claimPause); err != nil {
				return err
			}
		case errors.Is(err, unix.EBUSY):
			return fmt.Errorf("%s is in use by this system (a mounted file system, swap, RAID or LVM, on it or on a partition of it) and will not be overwritten: unmount it, or choose another device", path)
		case errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
			return fmt.Errorf("%s is read-only (%w): choose another device, or operation: read with layout: false", path, err)
		default:
			return fmt.Errorf("opening the device: %w: run the agent as a user who may write to it", err)
		}
	}
}
