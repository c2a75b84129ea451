package disk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/workload"
)

// arrays is where a system has its RAIDs.
type arrays struct {
	sys string // what the kernel tells of block devices
	dev string
}

func systemArrays() arrays { return arrays{sys: "/sys/class/block", dev: "/dev"} }

// build makes a RAID0 of devices and returns its path. It writes nothing onto them
// (--build), so that nobody assembles it again.
func (x arrays) build(ctx context.Context, environ, devices []string) (string, error) {
	mdadm, err := workload.LookPath("mdadm", environ)
	if err != nil {
		return "", err
	}
	for n := 100; n < 1000; n++ {
		name := "md" + strconv.Itoa(n)
		path := filepath.Join(x.dev, name)
		if exists(path) || exists(filepath.Join(x.sys, name)) {
			continue
		}
		args := []string{"--build", path, "--level=0", "--chunk=512", "--raid-devices=" + strconv.Itoa(len(devices))}
		return path, run(ctx, environ, mdadm, append(args, devices...)...)
	}
	return "", errors.New("no name is free for an array")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// sweepTime bounds the removal of what killed tasks have left.
const sweepTime = 30 * time.Second

// sweepVolumes implements workload.Kind.Sweep. If it fails, the next task says why.
func sweepVolumes(volumes map[string]string) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	var devices []string
	for _, v := range volumes {
		devices = append(devices, v)
	}
	_ = systemArrays().stop(ctx, os.Environ(), devices)
}

// stop stops arrays that tasks have made of devices: those without metadata that have no
// other member, that nobody uses, and that hold nothing but what a task has written.
func (x arrays) stop(ctx context.Context, environ, devices []string) error {
	var names []string
	for _, d := range devices {
		if device, err := filepath.EvalSymlinks(d); err == nil { // else it is in no array
			names = append(names, filepath.Base(device))
		}
	}
	strange := func(member string) bool { return !slices.Contains(names, filepath.Base(member)) }
	candidates, _ := filepath.Glob(filepath.Join(x.sys, "md*")) // the patterns are good
	var errs []error
	for _, a := range candidates {
		members, _ := filepath.Glob(filepath.Join(a, "slaves", "*"))
		if len(members) == 0 || slices.ContainsFunc(members, strange) ||
			procself.ReadText(filepath.Join(a, "md/metadata_version")) != "none" {
			continue
		}
		path := filepath.Join(x.dev, filepath.Base(a))
		err := free(ctx, environ, path)
		var mdadm string
		if err == nil {
			mdadm, err = workload.LookPath("mdadm", environ)
		}
		if err == nil {
			err = run(ctx, environ, mdadm, "--stop", path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
