package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/workload"
)

const (
	// killTime is how long the processes of a lab may take to die.
	killTime = 30 * time.Second
	// settleTime is how long the kernel may take to let go of what no process
	// holds any more.
	settleTime = 15 * time.Second
	// lookTime is the time between two looks.
	lookTime = 10 * time.Millisecond
)

// Remove ends all processes of a lab and removes everything that its manifest
// lists, if it exists and belongs to the lab. It goes on after errors and
// returns all of them; the manifest stays until nothing is left. What is gone
// already is not an error.
func Remove(ctx context.Context, m Manifest) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("removing lab %s: %w", m.ID, err)
	}
	if m.Owner.earlierBoot() {
		m = m.onDisk()
	}
	devices := m.devices()
	if err := errors.Join(m.killAll(ctx, devices), m.unmount(ctx, devices), m.detach(ctx, devices),
		m.removeNamespaces(), m.removeCgroups(ctx), m.removeDir()); err != nil {
		return fmt.Errorf("removing lab %s: %w", m.ID, err)
	}
	return forget(m)
}

// devices lists the loop devices that are attached to the lab's own files.
func (m Manifest) devices() []loop {
	return slices.DeleteFunc(loops(), func(l loop) bool { return !below(m.Dir, l.backing) })
}

// killAll kills the processes in the lab's cgroups, by id, and waits for them.
func (m Manifest) killAll(ctx context.Context, devices []loop) error {
	var numbers []string
	for _, d := range devices {
		numbers = append(numbers, d.number)
	}
	for _, dir := range cgroup.Tree(m.Cgroups...) {
		cgroup.Unlimit(dir, numbers)
	}
	return until(ctx, killTime, func() error {
		pids, err := cgroup.Kill(m.Cgroups...)
		if err != nil || len(pids) == 0 {
			return err
		}
		return fmt.Errorf("processes %v do not end", pids)
	})
}

// removeCgroups removes the lab's groups, and the one that all labs share if
// this was the last.
func (m Manifest) removeCgroups(ctx context.Context) error {
	err := until(ctx, settleTime, func() error { return cgroup.Remove(m.Cgroups...) })
	for _, dir := range m.Cgroups {
		if parent := filepath.Dir(dir); filepath.Base(parent) == groupRoot {
			// Where others are still in it, the lab's weight is taken out of a hierarchy with processors.
			if os.Remove(parent) != nil && cgroup.Shares(parent) > 0 {
				_ = balance(parent) // if it fails, labs have some more than their part
			}
		}
	}
	return err
}

func (m Manifest) removeNamespaces() (err error) {
	for _, n := range m.namespaces() {
		err = errors.Join(err, n.remove())
	}
	return err
}

// unmount unmounts the lab's file systems: what is mounted below its directory
// from one of its devices.
func (m Manifest) unmount(ctx context.Context, devices []loop) error {
	mounts, err := procself.MountedIn(m.Dir)
	for _, mt := range slices.Backward(mounts) {
		if slices.ContainsFunc(devices, func(d loop) bool { return d.number == mt.Device }) {
			err = errors.Join(err, unmountOne(ctx, mt.Point))
		}
	}
	return err
}

// unmountOne unmounts a file system. One that another process still uses
// is taken out of sight, and ends when that does.
func unmountOne(ctx context.Context, point string) error {
	err := until(ctx, settleTime, func() error {
		err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
			return nil // not mounted any more
		}
		return err
	})
	if err == nil {
		return nil
	}
	return errors.Join(
		fmt.Errorf("%s is in use by a process outside the lab and stays until that process ends: %w", point, err),
		unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW))
}

func (m Manifest) detach(ctx context.Context, devices []loop) (err error) {
	for _, d := range devices {
		err = errors.Join(err, d.detach())
	}
	// The kernel detaches when the last one closes the device, which may be
	// a program that looks at every new device.
	return errors.Join(err, until(ctx, settleTime, func() error {
		if left := m.devices(); len(left) > 0 {
			return fmt.Errorf("%s is in use by a process outside the lab", left[0].device)
		}
		return nil
	}))
}

// removeDir removes the lab's directory, unless something is still mounted in
// it: that is not the lab's own, and must not be emptied. Symbolic links are
// removed, not followed.
func (m Manifest) removeDir() error {
	mounts, err := procself.MountedIn(m.Dir)
	switch n := len(mounts); {
	case err != nil:
		return err
	case n > 0:
		return fmt.Errorf("%s is mounted in the lab's directory: unmount it", mounts[n-1].Point)
	}
	err = m.emptyDir()
	if err == nil {
		err = os.RemoveAll(m.Dir)
	}
	if err != nil {
		return fmt.Errorf("removing the lab's directory: %w", err)
	}
	return nil
}

// emptyDir removes all but the copy of the manifest from the lab's directory,
// and that from the disk: if the machine fails before the end, the copy still
// says which lab the rest belongs to.
func (m Manifest) emptyDir() error {
	d, err := openDir(m.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errForeign):
		return fmt.Errorf("%s is %w: left alone", m.Dir, err)
	case err != nil:
		return err
	}
	defer d.Close() //nolint:errcheck // only looked at
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if name != copyName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(m.Dir, name)))
		}
	}
	return errors.Join(err, d.Sync())
}

// until calls try until it succeeds, but not for longer than limit nor after
// the end of ctx, and returns its last error.
func until(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if err := try(); err == nil || workload.Pause(ctx, lookTime) != nil {
			return err
		}
	}
}
