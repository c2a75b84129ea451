package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// netnsDir is where named network namespaces are, by the convention of
// iproute2, so that `ip netns exec NAME` works.
const netnsDir = "/run/netns"

// newNamespace makes a network namespace without a name. It lives as long as
// the file is open.
func newNamespace() (ns *os.File, err error) {
	err = procself.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		ns, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return ns, err
}

func inode(f *os.File) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, fmt.Errorf("identifying %s: %w", f.Name(), err)
	}
	return st.Ino, nil
}

// setName gives a namespace its name, under which it lives on.
func setName(ns *os.File, name string) error {
	path := filepath.Join(netnsDir, name)
	err := os.MkdirAll(netnsDir, 0o755)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	}
	if err == nil {
		_ = f.Close() // nothing was written
		if err = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", ns.Fd()), path, "", unix.MS_BIND, ""); err != nil {
			_ = os.Remove(path) // otherwise the sweep would
		}
	}
	if err != nil {
		return fmt.Errorf("naming network namespace %s: %w", name, err)
	}
	return nil
}

// open opens the namespace, and makes sure that it is the recorded one.
func (n Namespace) open() (*os.File, error) {
	f, err := os.Open(filepath.Join(netnsDir, n.Name))
	if err != nil {
		return nil, fmt.Errorf("entering network namespace: %w", err)
	}
	if got, err := inode(f); err != nil || got != n.Inode {
		_ = f.Close() // only looked at
		return nil, errors.Join(fmt.Errorf("network namespace %s was not made by the lab", n.Name), err)
	}
	return f, nil
}

func (n Namespace) inside(f func() error) error {
	ns, err := n.open()
	if err != nil {
		return err
	}
	defer ns.Close() //nolint:errcheck // only looked at
	return procself.OnThread(func() error {
		if err := enter(ns); err != nil {
			return err
		}
		return f()
	})
}

func enter(ns *os.File) error {
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering network namespace %s: %w", ns.Name(), err)
	}
	return nil
}

// remove takes the name away; the namespace ends with the last process in it.
// Where the name stands for something else, or nothing was made yet, only an
// empty file of ours is removed.
func (n Namespace) remove() error {
	path := filepath.Join(netnsDir, n.Name)
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case err != nil:
	case n.Inode != 0 && st.Ino == n.Inode:
		// A process inside may still hold it; the name goes at once.
		err = unix.Unmount(path, unix.MNT_DETACH)
	case st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 && !isNamespace(path):
		// The process ended between making the file and mounting on it.
	default:
		return fmt.Errorf("network namespace %s was not made by the lab: left alone; `ip netns delete %s` removes it", n.Name, n.Name)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing network namespace %s: %w", n.Name, err)
	}
	return nil
}

// isNamespace reports whether something of the kernel's file system of
// namespaces is mounted there.
func isNamespace(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC
}
