package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// scratchPrefix begins the names of the folders that tasks make on volumes.
// While a folder is being made, newPrefix stands before it.
const (
	scratchPrefix = "scalebench-disk-"
	newPrefix     = "new-"
)

// dataName is the task's file in its folder.
const dataName = "data"

// scratch is a task's folder on a volume. It is locked for as long as the task
// lives, so that the next one can tell what a killed task left behind, which
// may be as large as the volume, from what another node is working with.
//
// Others may be able to write into the folder around it. So what is removed is
// named relative to an open folder that is known to be a task's, never by a
// path in which another program may have put a link since.
type scratch struct {
	dir  string
	lock *os.File // the open folder; nil after remove
}

// newScratch removes what killed tasks left in the folder, and makes a folder
// of this task's own.
func newScratch(folder string) (*scratch, error) {
	sweep(folder, time.Now())
	// Made under another name, and renamed when locked: otherwise a task that
	// sweeps just now could take it for an abandoned one.
	made, err := os.MkdirTemp(folder, newPrefix+scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: filepath.Join(folder, strings.TrimPrefix(filepath.Base(made), newPrefix))}
	if s.lock, err = openFolder(unix.AT_FDCWD, made); err != nil {
		return nil, errors.Join(err, removeAt(unix.AT_FDCWD, made, unix.AT_REMOVEDIR))
	}
	// Where there are no locks, as on some network file systems, no task can
	// sweep either.
	_ = lockFile(s.lock)
	if err := os.Rename(made, s.dir); err != nil {
		return nil, errors.Join(err, s.lock.Close(), removeAt(unix.AT_FDCWD, made, unix.AT_REMOVEDIR))
	}
	return s, nil
}

// abandonedAfter is the age at which a folder that was never finished is one of
// a killed task: finishing takes milliseconds. The rest is for file systems
// with a clock of their own.
const abandonedAfter = time.Hour

// file is where the task's file goes.
func (s *scratch) file() string { return filepath.Join(s.dir, dataName) }

// removeFile removes the task's file, wherever the path leads by now.
func (s *scratch) removeFile() error {
	if s.lock == nil {
		return nil
	}
	return removeAt(int(s.lock.Fd()), dataName, 0)
}

// remove removes the empty folder. It may be called again.
func (s *scratch) remove() error {
	if s.lock == nil {
		return nil
	}
	err := removeAt(unix.AT_FDCWD, s.dir, unix.AT_REMOVEDIR)
	if err != nil {
		err = fmt.Errorf("removing the task's folder %s: %w", s.dir, err)
	}
	err = errors.Join(err, s.lock.Close())
	s.lock = nil
	return err
}

// sweep removes the folders of tasks that are no more. It does what it can:
// another task may sweep at the same time.
func sweep(folder string, now time.Time) {
	parent, err := os.Open(folder)
	if err != nil {
		return
	}
	defer func() { _ = parent.Close() }() // was only read
	names, err := parent.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, name := range names {
		if strings.HasPrefix(strings.TrimPrefix(name, newPrefix), scratchPrefix) {
			sweepOne(int(parent.Fd()), name, now)
		}
	}
}

// sweepOne removes the folder of this name, if it is one that a task made and
// no task uses.
func sweepOne(parent int, name string, now time.Time) {
	f, err := openOwn(parent, name)
	if err != nil {
		return // a link, another user's, or gone
	}
	defer func() { _ = f.Close() }() // was only read
	if lockFile(f) != nil {
		return
	}
	if strings.HasPrefix(name, newPrefix) {
		info, err := f.Stat()
		if err != nil || now.Sub(info.ModTime()) < abandonedAfter {
			return
		}
	}
	// Nothing but the file that a task makes: a folder that holds anything
	// else stays.
	_ = removeAt(int(f.Fd()), dataName, 0)
	_ = removeAt(parent, name, unix.AT_REMOVEDIR)
}

// lockFile takes an exclusive lock, which ends with the process, or fails at
// once.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// openOwn opens a folder that a task must have made: it is not a link, it
// belongs to this user, and no other user may write to it. If a file system
// gives new files to another user (NFS with root squashed), nothing is swept.
func openOwn(parent int, name string) (*os.File, error) {
	f, err := openFolder(parent, name)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0) {
		err = fmt.Errorf("%s: not a folder that a task of this user made", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openFolder opens a folder, and nothing else: no link, no file.
func openFolder(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// removeAt removes a file in an open folder, or with AT_REMOVEDIR an empty folder,
// and never the target of a link. A missing file is not an error.
func removeAt(parent int, name string, flags int) error {
	err := unix.Unlinkat(parent, name, flags)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: name, Err: err}
}
