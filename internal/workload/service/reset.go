package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/procself"
)

// reset copies the loaded folder, and waits until the disk has all of it: what
// is written back later would be written while others measure.
func (r *running) reset(ctx context.Context) error {
	from := r.fill(r.Reset.From)
	to := filepath.Join(r.dir, r.Reset.to())
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reset: there is no folder %s on this node: load it first", from)
	case err != nil:
		return fmt.Errorf("reset: %w", err)
	case !info.IsDir():
		return fmt.Errorf("reset: %s is not a folder", from)
	}
	if from, err = r.original(from); err == nil {
		err = copyTree(ctx, from, to)
	}
	if err == nil {
		err = syncAll(to)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		free, size, _ := procself.Room(r.dir)
		return fmt.Errorf("reset: the disk is full: %s does not fit on the file system of %s, which has %s and %s left; free some, or put the service on a larger volume (volume: NAME)",
			from, r.dir, num.Bytes(size), num.Bytes(free))
	}
	return err
}

// original is the loaded folder itself where the path leads through links. The copy
// must not be in it: it would never end.
func (r *running) original(from string) (string, error) {
	from, err1 := filepath.EvalSymlinks(from)
	dir, err2 := filepath.EvalSymlinks(r.dir)
	rel, err3 := filepath.Rel(from, dir)
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("reset: %w", err)
	}
	if err3 == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("reset: %s contains the service's own folder %s: name the folder of the loaded data alone", from, dir)
	}
	return from, nil
}

// copyTree copies a folder with owners, modes, times and symbolic links. Where
// the file system can share blocks, it does. Links that leave the folder are
// refused: through the copy the service would write into the original, or into what
// all steps share.
func copyTree(ctx context.Context, from, to string) error {
	inside, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer inside.Close() //nolint:errcheck // only looked at
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	var folders []func() error // their times and modes, which what is put in changes
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := staysInside(inside, rel, info); err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := copyOne(ctx, inside, rel, target, info); err != nil {
			return fmt.Errorf("copying %s: %w", path, err)
		}
		if d.IsDir() {
			folders = append(folders, func() error { return imitate(target, info) })
			return nil
		}
		return imitate(target, info)
	})
	for _, f := range folders {
		err = errors.Join(err, f())
	}
	return err
}

// staysInside fails for a link that leads out of the folder. One that leads nowhere,
// or in a circle, leads to nothing that could be changed.
func staysInside(folder *os.Root, name string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	_, err := folder.Stat(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return nil
	}
	target, _ := folder.Readlink(name) // what can be told of it
	return fmt.Errorf("reset: the link %s leads to %s, out of the folder that is copied (%w): the service would change what is there for all steps; put that into the folder itself, or make the link relative where it is in it",
		filepath.Join(folder.Name(), name), target, err)
}

// copyOne copies a file, a link, or a folder without what is in it. Sockets and
// pipes, which a server has left that did not end well, are left out.
func copyOne(ctx context.Context, folder *os.Root, from, to string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := folder.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	return copyFile(ctx, folder, from, to)
}

// copyAtOnce is how much of a file is copied before it is looked whether there is time
// for more.
const copyAtOnce = 64 << 20

// copyFile copies a file; what was never written to stays a hole.
func copyFile(ctx context.Context, folder *os.Root, from, to string) error {
	in, err := openFile(folder, from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if !share(in, out) {
		err = copyData(ctx, in, out)
	}
	return errors.Join(err, out.Close())
}

// copyData copies one written part of a file after the other.
func copyData(ctx context.Context, in, out *os.File) error {
	info, err := in.Stat()
	if err == nil {
		err = out.Truncate(info.Size())
	}
	for at := int64(0); err == nil; {
		begin, end, more, seekErr := nextData(in, at)
		if err = seekErr; err != nil || !more {
			break
		}
		if _, err = in.Seek(begin, io.SeekStart); err == nil {
			_, err = out.Seek(begin, io.SeekStart)
		}
		for at = begin; err == nil && at < end; err = cmp.Or(err, ctx.Err()) {
			var n int64
			n, err = io.CopyN(out, in, min(end-at, copyAtOnce))
			if at += n; errors.Is(err, io.EOF) {
				return nil // it was cut meanwhile
			}
		}
	}
	return err
}

// imitate gives a copy owner, mode and times of the original. Only root can give
// things away; for others everything is their own.
func imitate(to string, info fs.FileInfo) error {
	if info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0 {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	return errors.Join(os.Chmod(to, info.Mode().Perm()|info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
