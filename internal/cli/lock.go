package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errLocked: another server works on this data directory.
var errLocked = errors.New("another scalebench server uses this data directory")

// lockFile takes an exclusive lock that ends with this process, however it
// ends. Where nothing can be written a file that is there is locked all the
// same: its server may run where it can.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	return func() { _ = f.Close() }, nil
}
