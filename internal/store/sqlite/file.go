package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/store"
)

// prepareFile makes the file and its directory where they are missing, open to
// their owner only: runs hold what commands printed. SQLite gives its -wal and
// -shm files the mode of the main one. It returns the absolute path.
func prepareFile(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", model.Unavailablef("%w", err)
	}
	if readOnly(abs) {
		return abs, nil
	}
	dir := filepath.Dir(abs)
	existing := dir // the first directory above that was there already
	for existing != filepath.Dir(existing) {
		if _, err := os.Stat(existing); err == nil {
			break
		}
		existing = filepath.Dir(existing)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fileError(err)
	}
	f, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return abs, nil
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = syncDirs(dir, existing)
	}
	return abs, fileError(err)
}

// readOnly reports whether the file is there and it, or the directory in which
// SQLite makes files beside it, cannot be written to.
func readOnly(path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	return unix.Access(path, unix.W_OK) != nil || unix.Access(filepath.Dir(path), unix.W_OK) != nil
}

// room is what the file system has left, and what deleted runs have left in the
// file, which is used again before it grows.
func room(ctx context.Context, db *sql.DB, dir string) (r store.Room, err error) {
	var pages, free, size int64
	err = db.QueryRowContext(ctx, `SELECT page_count, freelist_count, page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&pages, &free, &size)
	if err != nil {
		return r, err
	}
	left, disk, err := procself.Room(dir)
	if err != nil {
		return r, fileError(err)
	}
	return store.Room{Used: (pages - free) * size, Free: left + free*size, Disk: disk}, nil
}

// syncDirs makes the names from dir up to top durable: a result is not safe
// while a loss of power can take the whole file's name.
func syncDirs(dir, top string) error {
	for ; ; dir = filepath.Dir(dir) {
		d, err := os.Open(dir)
		if err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
		if err != nil || dir == top || dir == filepath.Dir(dir) {
			return err
		}
	}
}

// lockDir takes the lock of a directory, waiting for its holder for a while. It
// is not on the database file itself: closing a descriptor of that would end
// the locks that SQLite has on it in this process.
func lockDir(ctx context.Context, dir string, wait time.Duration) (unlock func() error, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fileError(err)
	}
	held := func(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
	err = retryBusy(ctx, wait, held, func() error { return syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if err != nil {
		return nil, errors.Join(fileError(err), d.Close())
	}
	return d.Close, nil
}

// retryPause is between two tries for a lock that another process holds; the
// release gives no event.
const retryPause = 5 * time.Millisecond

// retryBusy tries until the error is not that another process holds what is
// wanted, or until so long has passed or ctx is done.
func retryBusy(ctx context.Context, wait time.Duration, busy func(error) bool, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(retryPause)
	defer tick.Stop()
	for {
		err := try()
		if err == nil || !busy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-tick.C:
		}
	}
}

func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w; choose another place or change the permissions", model.ErrDenied, err)
	}
	return model.Unavailablef("%w", err)
}
