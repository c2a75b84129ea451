//go:build unix

package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/scalebench/scalebench/internal/model"
)

// lockDir makes the data directory if there is none and locks it for this
// process. Two servers on the same files would destroy them. The kernel frees
// the lock however the process ends.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "queue.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close() // the first error matters
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w: data directory %s is in use by another scalebench server; stop it, or choose another directory", model.ErrUnavailable, dir)
	}
	return nil, fmt.Errorf("locking data directory %s: %w", dir, err)
}
