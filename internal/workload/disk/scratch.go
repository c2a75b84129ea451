package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// scratchPrefix begins the names of the folders that tasks make on volumes.
const scratchPrefix = "scalebench-disk-"

// scratch is a task's folder on a volume. It is locked for as long as the task
// lives, so that the next one can tell what a killed task left behind, which
// may be as large as the volume, from what another node is working with.
type scratch struct {
	dir  string
	lock *os.File // the open folder; nil after remove
}

// newScratch removes what killed tasks left in the folder, and makes a folder
// of this task's own.
func newScratch(folder string) (*scratch, error) {
	sweep(folder)
	// Made under another name, and renamed when locked: otherwise a task that
	// sweeps just now could take it for an abandoned one.
	made, err := os.MkdirTemp(folder, "new-"+scratchPrefix)
	if err != nil {
		return nil, err
	}
	s := &scratch{dir: filepath.Join(folder, strings.TrimPrefix(filepath.Base(made), "new-"))}
	if s.lock, err = os.Open(made); err != nil {
		return nil, errors.Join(err, os.Remove(made))
	}
	// Where there are no locks, as on some network file systems, nobody can
	// sweep either.
	_ = lockFile(s.lock)
	if err := os.Rename(made, s.dir); err != nil {
		return nil, errors.Join(err, s.lock.Close(), os.Remove(made))
	}
	return s, nil
}

// file is where the task's file goes.
func (s *scratch) file() string { return filepath.Join(s.dir, "data") }

func (s *scratch) remove() error {
	if s.lock == nil {
		return nil
	}
	err := os.Remove(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("removing the task's folder: %w", err)
	}
	err = errors.Join(err, s.lock.Close())
	s.lock = nil
	return err
}

// sweep removes the folders of tasks that are no more. It does what it can:
// another task may sweep at the same time.
func sweep(folder string) {
	left, err := filepath.Glob(filepath.Join(escapeGlob(folder), scratchPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		if lockFile(f) == nil {
			// Nothing but the file that a task makes: a folder that holds
			// anything else stays.
			_ = os.Remove(filepath.Join(dir, "data"))
			_ = os.Remove(dir)
		}
		_ = f.Close() // was only read
	}
}

// escapeGlob makes a path match itself.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
