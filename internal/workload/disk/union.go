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
	"strconv"

	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/workload"
)

// union makes one of several volumes, as in section 3.2 of the ScaleBench paper: block
// devices become a RAID0 with ext4 on it. What cannot be made so is used as it is, and
// blocks go to its parts in turn; notes say why.
type union struct {
	array  string     // the RAID0; empty: none
	mounts []*os.File // of file systems that this task has made
	notes  []string
}

// unites says whether the task takes volumes as one, and makes file systems on those
// that are devices.
func (p *Params) unites() bool {
	return len(p.Volumes) > 0 || p.Preset == Paper && p.Volume == "" && p.Path == ""
}

const fileSystem = "ext4"

// make returns the places to which blocks go in turn.
func (u *union) make(ctx context.Context, env *workload.Env, places []string) ([]string, error) {
	for _, place := range places {
		// The target says later what is missing.
		if info, _ := os.Stat(place); info == nil || !isDevice(info) {
			return u.inTurn(places, nil), nil
		}
	}
	if err := u.free(ctx, env, places); err != nil {
		return nil, err
	}
	mkfs, err := workload.LookPath("mkfs."+fileSystem, env.Environ)
	if err = cmp.Or(err, mayMount(fileSystem)); err != nil {
		u.note("the volumes are measured without a file system (%v): "+
			"run the agent as root, with e2fsprogs installed and a kernel of 5.2 or later", err)
		return u.inTurn(places, nil), nil
	}
	if err := u.raid(ctx, env, places); err == nil && u.array != "" {
		places = []string{u.array}
	} else {
		places = u.inTurn(places, err)
	}
	for i, device := range places {
		// All of the file system now, as the paper did: what ext4 leaves for later would
		// be written in the background of the measurement.
		if err := run(ctx, env, mkfs, "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device); err != nil {
			return nil, err
		}
		mount, err := newMount(device, fileSystem)
		if err != nil {
			return nil, fmt.Errorf("mounting %s: %w", device, err)
		}
		u.mounts = append(u.mounts, mount)
		places[i] = u.folders()[i]
	}
	return places, nil
}

// folders are the mounts, for programs that this process starts, too.
func (u *union) folders() (out []string) {
	for _, m := range u.mounts {
		out = append(out, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.Fd()))
	}
	return out
}

func (u *union) note(format string, args ...any) {
	u.notes = append(u.notes, fmt.Sprintf(format, args...))
}

// inTurn notes that blocks go to the places in turn, where there are several.
func (u *union) inTurn(places []string, why error) []string {
	if len(places) > 1 {
		reason := ""
		if why != nil {
			reason = fmt.Sprintf(" (%v)", why)
		}
		u.note("the %d volumes are not a RAID0%s: "+
			"blocks go to a file on each of them in turn, which is not what the paper measured", len(places), reason)
	}
	return slices.Clone(places)
}

// raid makes a RAID0 of several devices. It writes nothing onto them (--build), so that
// nobody assembles it again.
func (u *union) raid(ctx context.Context, env *workload.Env, devices []string) error {
	if len(devices) == 1 {
		return nil
	}
	mdadm, err := workload.LookPath("mdadm", env.Environ)
	if err != nil {
		return err
	}
	name, err := freeArray()
	if err != nil {
		return err
	}
	args := []string{"--build", name, "--level=0", "--chunk=512", "--raid-devices=" + strconv.Itoa(len(devices))}
	if err := run(ctx, env, mdadm, append(args, devices...)...); err != nil {
		return err
	}
	u.array = name
	return nil
}

// freeArray is a name for an array that none has.
func freeArray() (string, error) {
	for n := 100; n < 1000; n++ {
		name := "/dev/md" + strconv.Itoa(n)
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name, nil
		}
	}
	return "", errors.New("no name is free for an array")
}

// free makes sure that devices may be overwritten. An array that a killed task has left
// on just these is stopped first.
func (u *union) free(ctx context.Context, env *workload.Env, devices []string) error {
	var names []string
	for _, d := range devices {
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			return err
		}
		names = append(names, filepath.Base(real))
	}
	if left := leftArray("/sys/class/block", names); left != "" {
		old := union{array: "/dev/" + left}
		if err := old.release(ctx, env); err != nil {
			return err
		}
	}
	for _, d := range devices {
		if err := unclaimed(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// leftArray is the array without metadata that has just these devices; empty if there
// is none.
func leftArray(sys string, devices []string) string {
	holders, _ := filepath.Glob(filepath.Join(sys, devices[0], "holders", "md*")) // the pattern is good
	for _, h := range holders {
		array := filepath.Base(h)
		members, _ := filepath.Glob(filepath.Join(sys, array, "slaves", "*"))
		for i := range members {
			members[i] = filepath.Base(members[i])
		}
		same := slices.Equal(slices.Sorted(slices.Values(members)), slices.Sorted(slices.Values(devices)))
		if same && procself.ReadText(filepath.Join(sys, array, "md/metadata_version")) == "none" {
			return array
		}
	}
	return ""
}

// release ends the mounts and stops the array. It may be called at any state and again.
func (u *union) release(ctx context.Context, env *workload.Env) error {
	var errs []error
	for _, m := range u.mounts {
		errs = append(errs, m.Close())
	}
	u.mounts = nil
	if u.array != "" {
		mdadm, err := workload.LookPath("mdadm", env.Environ)
		if err == nil {
			err = unclaimed(ctx, u.array) // the kernel may still be ending the mount
		}
		if err == nil {
			err = run(ctx, env, mdadm, "--stop", u.array)
		}
		if err == nil {
			u.array = ""
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// labels say on what the size was used.
func (p *Params) labels() map[string]string {
	labels := map[string]string{"filesystem": cmp.Or(p.targets[0].filesystem, "unknown")}
	switch {
	case p.union.array != "":
		labels["volumes"] = "RAID0"
	case len(p.targets) > 1:
		labels["volumes"] = "in turn"
	}
	return labels
}

// run runs a program of the system to its end.
func run(ctx context.Context, env *workload.Env, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env.Environ
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, workload.LastLine(string(out)))
	}
	return nil
}
