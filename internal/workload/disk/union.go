package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/workload"
)

// union makes one of several volumes, as in section 3.2 of the ScaleBench paper: block
// devices become a RAID0 with ext4 on it. Without md, and of folders, blocks go to a
// file on each of them in turn; notes say so.
type union struct {
	arrays  arrays
	devices []string   // that the task takes as one
	isArray bool       // they are a RAID0
	mounts  []*os.File // of file systems that this task has made
	notes   []string
}

// unites says whether the task takes volumes as one on a node that has so many.
func (p *Params) unites(has int) bool {
	return len(p.Volumes) > 0 || p.Preset == Paper && p.Volume == "" && p.Path == "" && has > 1
}

const (
	fileSystem = "ext4"
	// fileSystemLabel tells the file systems that tasks make, and leave on devices,
	// from those that somebody needs.
	fileSystemLabel = "scalebench-task"
)

// make returns the places to which blocks go in turn. Of devices it takes only those
// that nobody uses and that hold nothing.
func (u *union) make(ctx context.Context, env *workload.Env, places []string) ([]string, error) {
	devices, err := countDevices(places)
	switch {
	case err != nil:
		return nil, err
	case devices == 0:
		u.noteInTurn(len(places), "they are not block devices")
		return places, nil
	case devices < len(places):
		return nil, errors.New("volumes that are one must all be block devices, or all folders: name them with volumes")
	}
	mkfs, err := workload.LookPath("mkfs."+fileSystem, env.Environ)
	if err != nil {
		return nil, fmt.Errorf("making a file system on the volumes: %w: "+
			"install e2fsprogs, or measure one with volume", err)
	}
	u.arrays = cmp.Or(u.arrays, systemArrays())
	// What a task that was killed has left.
	if err := u.arrays.stop(ctx, env.Environ, places); err != nil {
		return nil, err
	}
	for _, d := range places {
		if err := free(ctx, env.Environ, d); err != nil {
			return nil, err
		}
	}
	u.devices = slices.Clone(places)
	if len(places) > 1 {
		array, err := u.arrays.build(ctx, env.Environ, places)
		if u.isArray = err == nil; u.isArray {
			places = []string{array}
		} else {
			u.noteInTurn(len(places), err.Error())
		}
	}
	for i, device := range places {
		if !u.isArray { // the one before may have taken minutes
			if err := free(ctx, env.Environ, device); err != nil {
				return nil, err
			}
		}
		// All of the file system now, as the paper did: what ext4 leaves for later would
		// be written in the background of the measurement.
		if err := run(ctx, env.Environ, mkfs, "-q", "-F", "-L", fileSystemLabel,
			"-E", "lazy_itable_init=0,lazy_journal_init=0", device); err != nil {
			return nil, err
		}
		mount, err := newMount(device, fileSystem)
		if err != nil {
			return nil, fmt.Errorf("mounting %s: %w: this takes root and Linux 5.2; "+
				"measure one with volume", device, err)
		}
		u.mounts = append(u.mounts, mount)
		// For programs that this process starts, too.
		places[i] = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), mount.Fd())
	}
	return places, nil
}

// countDevices says how many places are block devices. It refuses two places on one
// device: what is written to them would not be what several devices take.
func countDevices(places []string) (n int, err error) {
	on := make(map[uint64]string)
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil {
			return 0, fmt.Errorf("looking at a volume: %w", err)
		}
		if isDevice(info) {
			n++
		}
		id := deviceOf(info)
		if other, ok := on[id]; ok {
			return 0, fmt.Errorf("%s and %s are on one device: name one of them with volume", other, place)
		}
		on[id] = place
	}
	return n, nil
}

// free refuses a device that the system uses, or on which libblkid finds anything: a file
// system, partitions, a part of a RAID or LVM group; except a file system of a task.
func free(ctx context.Context, environ []string, device string) error {
	if err := unclaimed(ctx, device); err != nil {
		return err
	}
	wipefs, err := workload.LookPath("wipefs", environ)
	if err != nil {
		return fmt.Errorf("looking for data on %s: %w: install util-linux", device, err)
	}
	cmd := exec.CommandContext(ctx, wipefs, "--no-act", "--noheadings", "--output", "TYPE,LABEL", device)
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("looking for data on %s: %w", device, err)
	}
	found := strings.Fields(string(out))
	if len(found) == 0 || slices.Equal(found, []string{fileSystem, fileSystemLabel}) {
		return nil
	}
	return fmt.Errorf("%s holds data (%s) and will not be overwritten: choose another device, "+
		"or remove what is on it with wipefs --all %s", device, strings.Join(found, " "), device)
}

// noteInTurn notes that blocks go to several places in turn.
func (u *union) noteInTurn(places int, why string) {
	if places > 1 {
		u.notes = append(u.notes, fmt.Sprintf("the %d volumes are not a RAID0 (%s): "+
			"blocks go to a file on each of them in turn, which is not what the paper measured", places, why))
	}
}

// release ends the mounts and stops the array. It may be called at any state and again.
func (u *union) release(ctx context.Context, environ []string) error {
	var errs []error
	for _, m := range u.mounts {
		errs = append(errs, m.Close())
	}
	u.mounts = nil
	if len(u.devices) > 0 {
		errs = append(errs, u.arrays.stop(ctx, environ, u.devices))
	}
	return errors.Join(errs...)
}

// filesystems are those of all targets.
func (p *Params) filesystems() string {
	var all []string
	for _, t := range p.targets {
		all = append(all, cmp.Or(t.filesystem, "unknown"))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// labels say on what the size was used.
func (p *Params) labels() map[string]string {
	labels := map[string]string{"filesystem": p.filesystems()}
	switch {
	case p.union.isArray:
		labels["volumes"] = "RAID0"
	case len(p.targets) > 1:
		labels["volumes"] = "in turn"
	}
	return labels
}

// run runs a program of the system to its end.
func run(ctx context.Context, environ []string, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, workload.LastLine(string(out)))
	}
	return nil
}
