package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
)

const (
	// spare is what a lab leaves free on the disk that its volumes are on.
	spare = 64 * unit.MiB
	// pageSize is what sizes are rounded up to; direct I/O needs it.
	pageSize = 4096
	mkfs     = "mkfs.ext4"
)

func (v Volume) bytes() int64 {
	size := cmp.Or(v.Size, DefaultVolume)
	return (size.Bytes() + pageSize - 1) / pageSize * pageSize
}

// planVolumes says which volumes are to be made, and where. Raw devices are
// only known once they are attached.
func planVolumes(m *Manifest, spec Spec) {
	for _, v := range spec.Volumes {
		v.Type = cmp.Or(v.Type, Ext4)
		var users []string
		for _, h := range m.Hosts {
			if slices.Contains(h.Use, v.Name) {
				users = append(users, string(h.Name))
			}
		}
		if v.Shared && len(users) > 0 {
			m.addVolume(v, v.Name, users...)
			continue
		}
		for _, u := range users {
			// No name has a dot, so this is never another volume's.
			m.addVolume(v, v.Name+"."+u, u)
		}
	}
}

// addVolume plans one volume under a name that is unique in the lab.
func (m *Manifest) addVolume(v Volume, unique string, hosts ...string) {
	r := VolumeRecord{Volume: v, Hosts: hosts, Backing: filepath.Join(m.Dir, "backing", unique+".img")}
	switch v.Type {
	case Folder:
		r.Folder, r.Backing = filepath.Join(m.Dir, "folder", unique), ""
	case Ext4:
		r.Mount = filepath.Join(m.Dir, "mount", unique)
	}
	m.Volumes = append(m.Volumes, r)
}

// path is what a workload is given: exactly one of these is set, except that an
// ext4 volume has both a mount point and a device.
func (r VolumeRecord) path() string { return cmp.Or(r.Folder, r.Mount, r.Device) }

// checkRoom makes sure that the volumes fit on the disk, before anything is
// made.
func checkRoom(dir string, volumes []VolumeRecord) error {
	var need int64
	for _, v := range volumes {
		if v.Backing != "" {
			need += v.bytes()
		}
	}
	if need == 0 {
		return nil
	}
	free, _, err := procself.Room(dir)
	if err != nil {
		return fmt.Errorf("checking the free space for volumes: %s: %w", dir, err)
	}
	if need+spare.Bytes() > free {
		return fmt.Errorf("%w: the volumes need %s, but %s has only %s free: use smaller or fewer volumes, or another directory",
			model.ErrUnavailable, num.Bytes(need), dir, num.Bytes(free))
	}
	return nil
}

// checkTools makes sure that ext4 file systems can be made, if any are wanted.
func checkTools(volumes []VolumeRecord) error {
	for _, v := range volumes {
		if _, err := exec.LookPath(mkfs); err != nil && v.Type == Ext4 {
			return fmt.Errorf("%w: volume %s: %s is not installed: install e2fsprogs, or use type: raw or type: folder", model.ErrUnavailable, v.Name, mkfs)
		}
	}
	return nil
}

func makeVolume(ctx context.Context, r *VolumeRecord) error {
	if r.Folder != "" {
		return os.MkdirAll(r.Folder, 0o755)
	}
	err := layOut(ctx, r.Backing, r.bytes())
	if err == nil {
		r.Device, err = attach(ctx, r.Backing)
	}
	if err != nil || r.Type != Ext4 {
		return err
	}
	// All of the file system now: what ext4 leaves for later by default would
	// be written in the background of the measurement.
	out, err := exec.CommandContext(ctx, mkfs, "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", r.Device).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", mkfs, r.Device, err, strings.TrimSpace(string(out)))
	}
	if err := os.MkdirAll(r.Mount, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(r.Device, r.Mount, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", r.Device, r.Mount, err)
	}
	return nil
}

// layOut writes a file full. Space that is only reserved would be written
// twice over when it is first used: the data, and the note that it is data
// now. Direct, so that the machine's memory is not filled with zeros.
func layOut(ctx context.Context, path string, size int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_DIRECT, 0o600)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: the file system of %s does not support direct I/O, so limits of volumes on it would not be exact: choose another directory for volumes", model.ErrUnavailable, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// Reserved first, so that it is in one piece where the disk has one.
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("reserving %s for %s: %w", num.Bytes(size), path, err)
	}
	if err := writeZeros(ctx, f, size); err != nil {
		return fmt.Errorf("laying out %s: %w", path, err)
	}
	return f.Sync()
}

// writeZeros writes size bytes, a multiple of a page.
func writeZeros(ctx context.Context, f *os.File, size int64) error {
	const chunk = 4 << 20
	// Mapped memory begins at a page, which direct I/O asks for.
	zeros, err := unix.Mmap(-1, 0, chunk, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(zeros) }() // cannot fail for what was mapped
	for at := int64(0); at < size; at += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := f.WriteAt(zeros[:min(chunk, size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// freeLoop asks for the number of a loop device that is free, without taking it.
func freeLoop() (int, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer control.Close() //nolint:errcheck // only asked
	return unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
}

// attach makes a block device of a file. Direct: otherwise the machine's
// memory would hold what is written, and the device would be as fast as that.
func attach(ctx context.Context, backing string) (string, error) {
	f, err := os.OpenFile(backing, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()      //nolint:errcheck // the device holds it from here on
	const attempts = 100 // others take devices too
	for range attempts {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := freeLoop()
		if err != nil {
			return "", fmt.Errorf("looking for a loop device: %w", err)
		}
		device := fmt.Sprintf("/dev/loop%d", n)
		if err = configure(device, f); errors.Is(err, unix.EBUSY) {
			continue
		}
		return device, err
	}
	return "", fmt.Errorf("%w: no free loop device in %d attempts", model.ErrUnavailable, attempts)
}

// configure attaches the file to a loop device and makes sure that its I/O is
// direct.
func configure(device string, backing *os.File) error {
	d, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening loop device: %w", err)
	}
	defer d.Close() //nolint:errcheck // the kernel keeps what was configured
	cfg := unix.LoopConfig{Fd: uint32(backing.Fd())}
	cfg.Info.Flags = unix.LO_FLAGS_DIRECT_IO
	copy(cfg.Info.File_name[:len(cfg.Info.File_name)-1], backing.Name())
	if err := unix.IoctlLoopConfigure(int(d.Fd()), &cfg); err != nil {
		return fmt.Errorf("attaching %s to %s: %w", backing.Name(), device, err)
	}
	if procself.ReadText(filepath.Join(sysBlock, filepath.Base(device), "loop/dio")) == "0" {
		return fmt.Errorf("%w: %s on %s does not support direct I/O: choose another directory for volumes", model.ErrUnavailable, device, backing.Name())
	}
	return nil
}

// loop is the device of a volume.
func (r VolumeRecord) loop() (loop, error) {
	for _, l := range loops() {
		if l.backing == r.Backing {
			return l, nil
		}
	}
	return loop{}, fmt.Errorf("its device %s is no longer attached to %s", r.Device, r.Backing)
}

// shapeVolumes gives volumes these limits, by name, and all others those with which they
// were made, and returns what all have then.
func (l *Lab) shapeVolumes(want map[string]model.VolumeLevel) (map[string]model.VolumeLevel, error) {
	for name := range want {
		limited := func(r VolumeRecord) bool { return r.Name == name && r.Level() != (model.VolumeLevel{}) }
		if !slices.ContainsFunc(l.manifest.Volumes, limited) {
			problem := fmt.Sprintf("the volume %q has no limits in this lab", name)
			return nil, &model.InputError{Problem: problem, Allowed: "give it iops or bandwidth"}
		}
	}
	return l.limits(func(r VolumeRecord) model.VolumeLevel {
		if level, ok := want[r.Name]; ok {
			return level
		}
		return r.Level()
	})
}

// limits sets the limits of volumes that have some to those that want returns, with nil
// none, and returns those that reads and writes of each have then.
func (l *Lab) limits(want func(VolumeRecord) model.VolumeLevel) (map[string]model.VolumeLevel, error) {
	out := make(map[string]model.VolumeLevel)
	g, err := findGroups(l.ID())
	if err != nil {
		return nil, err
	}
	for _, r := range l.manifest.Volumes {
		if r.Level() == (model.VolumeLevel{}) {
			continue
		}
		dev, err := r.loop()
		if err == nil && want != nil {
			err = g.limitDevice(dev.number, want(r))
		}
		for _, way := range []string{"read", "write"} {
			is := g.limitsOf(dev.number, way)
			if err == nil && want != nil && is != want(r) {
				err = fmt.Errorf("%ss have %d operations and %.0f bytes a second, and not %d and %.0f, to which they were set",
					way, is.IOPS, is.Bandwidth, want(r).IOPS, want(r).Bandwidth)
			}
			out[fmt.Sprintf("%ss of volume %s of %s", way, r.Name, strings.Join(r.Hosts, ", "))] = is
		}
		if err != nil {
			return nil, fmt.Errorf("volume %s of %s: %w", r.Name, strings.Join(r.Hosts, ", "), err)
		}
	}
	return out, nil
}

const sysBlock = "/sys/block"

type loop struct {
	device  string // /dev/loopN
	number  string // major:minor
	backing string
}

// splitKiB is the size at which a limited volume counts an operation once more, as EBS
// does: the kernel splits there, and limits of operations count the parts. Unset, a
// loop device splits reads at 512 KiB and writes at 1,280.
const splitKiB = 256

// split sets the size at which the kernel splits operations; 0: its own choice. The
// kernel keeps it when the device gets another file.
func (l loop) split(kib int) error {
	file := filepath.Join(sysBlock, filepath.Base(l.device), "queue/max_sectors_kb")
	if err := os.WriteFile(file, []byte(strconv.Itoa(kib)), 0o200); err != nil {
		return fmt.Errorf("setting the size at which %s splits operations: %w", l.device, err)
	}
	return nil
}

// loops lists the loop devices with a backing file.
func loops() (all []loop) {
	dirs, _ := filepath.Glob(sysBlock + "/loop*") // it fails for other patterns only
	for _, dir := range dirs {
		backing, number := procself.ReadText(dir+"/loop/backing_file"), procself.ReadText(dir+"/dev")
		if backing != "" && number != "" { // else not attached, or detached just now
			all = append(all, loop{"/dev/" + filepath.Base(dir), number, strings.TrimSuffix(backing, " (deleted)")})
		}
	}
	return all
}

// detach frees the loop device if it still belongs to the backing file. While
// the device is open it cannot be given to another file, so what was verified
// holds until the end.
func (l loop) detach() error {
	d, err := os.OpenFile(l.device, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("detaching %s: %w", l.device, err)
	}
	defer d.Close() //nolint:errcheck // this is when the kernel detaches
	if slices.Contains(loops(), l) {
		_ = l.split(0) // old kernels refuse it, and the next user has what this one had
		err = unix.IoctlSetInt(int(d.Fd()), unix.LOOP_CLR_FD, 0)
	}
	if err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detaching %s: %w", l.device, err)
	}
	return nil
}
