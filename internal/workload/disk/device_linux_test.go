package disk

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// needRoot skips without the right to make devices and mounts.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		workloadtest.Need(t, errors.New("this test makes mounts and loop devices, which needs root"))
	}
}

// mount mounts a file system on a folder of the test's own until its end.
func mount(t *testing.T, source, kind string, flags uintptr, options string) string {
	t.Helper()
	needRoot(t)
	folder := t.TempDir()
	if err := unix.Mount(source, folder, kind, flags, options); err != nil {
		workloadtest.Need(t, fmt.Errorf("mounting %s: %w", kind, err))
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, 0); err != nil {
			t.Errorf("unmounting %s: %v", folder, err)
		}
	})
	return folder
}

// loop makes a block device until the end of the test.
func loop(t *testing.T, size int64, options ...string) string {
	t.Helper()
	return loopIn(t, t.TempDir(), size, options...)
}

// loopIn makes one of a file in a folder.
func loopIn(t *testing.T, folder string, size int64, options ...string) string {
	t.Helper()
	needRoot(t)
	file := filepath.Join(folder, "image")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", append(options, "--find", "--show", file)...).CombinedOutput()
	if err != nil {
		workloadtest.Need(t, fmt.Errorf("losetup: %w: %s", err, out))
	}
	dev := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", dev).CombinedOutput(); err != nil {
			t.Errorf("losetup --detach %s: %v: %s", dev, err, out)
		}
	})
	return dev
}

// TestNoRoom lets fio meet a full file system: Prepare would have refused.
func TestNoRoom(t *testing.T) {
	needFio(t)
	folder := mount(t, "none", "tmpfs", 0, "size=2m")
	env, r, _ := environment(t, folder)
	p := params(t, `{"size": "1MiB", "duration": "0s"}`)
	prepare(t, p, env)
	p.plan.size = 8 * mib
	err := p.Run(t.Context(), env)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "smaller size") || len(r.Samples) > 0 {
		t.Errorf("Run() = %v with samples %v, want what to do about a full volume", err, r.Samples)
	}
}

// TestNoDirect: ramfs knows no direct I/O.
func TestNoDirect(t *testing.T) {
	needFio(t)
	folder := mount(t, "none", "ramfs", 0, "")
	env, _, _ := environment(t, folder)
	// ramfs has no size, so that no space is free on it.
	made := &target{path: filepath.Join(folder, "x"), filesystem: filesystemOf(folder)}
	if err := os.WriteFile(made.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := params(t, `{"size": "1MiB", "duration": "0s"}`)
	const refused = "(ramfs) does not support direct I/O: set direct: false"
	if err := made.tryDirect(p.settings()); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("tryDirect on ramfs = %v, want what to do", err)
	}
	if err := made.tryDirect(settings{}); err != nil || made.direct {
		t.Errorf("tryDirect for buffered I/O = %v, direct %v; want nil, false", err, made.direct)
	}
	// What fio says of it is understood, too.
	p.plan, p.targets = p.settings(), []target{*made}
	p.fio = "fio"
	if path, err := workload.LookPath("fio", env.Environ); err == nil {
		p.fio = path
	}
	if err := p.Run(t.Context(), env); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "does not support direct I/O") {
		t.Errorf("Run() = %v, want what to do", err)
	}
}

func TestDeviceRefused(t *testing.T) {
	needFio(t)
	dev := loop(t, 16*mib)
	tests := []struct{ name, params, want string }{
		{"not ours", `{"path": "DEV"}`, "destroy: true"},
		{"too small", `{"path": "DEV", "destroy": true, "size": "32MiB"}`, "smaller size"},
	}
	for _, tt := range tests {
		env, _, _ := environment(t, t.TempDir())
		err := params(t, strings.Replace(tt.params, "DEV", dev, 1)).Prepare(t.Context(), env)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Prepare() = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestMountedDevice: not even destroy: true overwrites a mounted file system.
func TestMountedDevice(t *testing.T) {
	needFio(t)
	dev := loop(t, 16*mib)
	if out, err := exec.Command("mkfs.ext4", "-q", dev).CombinedOutput(); err != nil {
		workloadtest.Need(t, fmt.Errorf("mkfs.ext4: %w: %s", err, out))
	}
	folder := mount(t, dev, "ext4", unix.MS_RDONLY, "noload") // or it would write by itself
	before, err := os.ReadFile(dev)
	if err != nil {
		t.Fatal(err)
	}
	env, _, _ := environment(t, t.TempDir())
	err = params(t, `{"path": "`+dev+`", "destroy": true, "size": "8MiB"}`).Prepare(t.Context(), env)
	if err == nil || !strings.Contains(err.Error(), "in use by this system") {
		t.Errorf("Prepare() on a mounted device = %v, want a refusal", err)
	}
	after, err := os.ReadFile(dev)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the device has changed (%v)", err)
	}
	if got := filesystemOf(folder); got != "ext4" {
		t.Errorf("filesystemOf(%s) = %q, want ext4", folder, got)
	}
	// To read it is harmless, and nothing is laid out.
	if err := unclaimedUnlessRead(t, dev); err != nil {
		t.Errorf("Prepare() to read a mounted device = %v, want nil", err)
	}
}

func unclaimedUnlessRead(t *testing.T, dev string) error {
	t.Helper()
	env, _, words := environment(t, t.TempDir())
	err := params(t, `{"path": "`+dev+`", "operation": "read", "size": "8MiB"}`).Prepare(t.Context(), env)
	if !strings.Contains(words.String(), "was not laid out") {
		t.Errorf("words %q, want a warning that nothing was laid out", words)
	}
	return err
}

func TestReadOnlyDevice(t *testing.T) {
	needFio(t)
	dev := loop(t, 16*mib, "--read-only")
	env, _, _ := environment(t, t.TempDir())
	err := params(t, `{"path": "`+dev+`", "destroy": true, "size": "8MiB"}`).Prepare(t.Context(), env)
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("Prepare() on a read-only device = %v, want it to say so", err)
	}
}

// TestTruth measures devices with known limits: 300 operations and 60 MiB per
// second, for each direction. The rate is the lower of 300 op/s and 60 MiB/s
// divided by the size of an operation.
//
// The kernel lets operations pass in portions of 100 ms, 30 at a time: a window
// of 12 s that begins and ends anywhere may be off by one, .8 %. A machine that
// is busy with other things may not reach the limit, which is then tried again;
// more than the limit is wrong at once. Each device has its own limits, so the
// cases wait side by side.
func TestTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for half a minute")
	}
	needFio(t)
	tests := []struct {
		name, params string
		way          way
		iops         float64
	}{
		{"small writes", `{"pattern": "random", "block_size": "4KiB", "size": "64MiB", "ramp": "1s", "duration": "12s"}`, directions[1], 300},
		{"large writes", `{"pattern": "random", "block_size": "256KiB", "size": "64MiB", "ramp": "1s", "duration": "12s"}`, directions[1], 240},
		{"large reads, several at once", `{"pattern": "random", "operation": "read", "block_size": "256KiB", "size": "64MiB", "depth": 4, "jobs": 2, "ramp": "1s", "duration": "12s"}`, directions[0], 240},
	}
	var devices []string
	for range tests {
		image := mount(t, "none", "tmpfs", 0, "size=80m") // no disk that others use
		devices = append(devices, loopIn(t, image, 64*mib))
	}
	throttle(t, devices, 300, 60*mib)
	var all sync.WaitGroup
	for i, tt := range tests {
		all.Go(func() {
			t.Run(tt.name, func(t *testing.T) { checkTruth(t, devices[i], tt.params, tt.way, tt.iops) })
		})
	}
	all.Wait()
}

// checkTruth measures up to three times, until the limit was reached.
func checkTruth(t *testing.T, dev, text string, w way, iops float64) {
	t.Helper()
	for try := 1; ; try++ {
		sample, progress := measure(t, dev, text, w)
		t.Logf("%.2f op/s, by progress %.2f, want %v", sample, progress, iops)
		if sample < 0.99*iops && try < 3 {
			continue
		}
		for what, got := range map[string]float64{"sample": sample, "progress": progress} {
			if math.Abs(got/iops-1) > 0.01 {
				t.Errorf("%s = %.2f op/s, want %v within 1 %%", what, got, iops)
			}
		}
		return
	}
}

// measure returns the operations a second of one task on a device, by its
// sample and by its progress.
func measure(t *testing.T, dev, text string, w way) (sample, progress float64) {
	t.Helper()
	env, r, words := environment(t, dev)
	p := params(t, text)
	prepare(t, p, env)
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatalf("Run() = %v; fio said %s", err, words)
	}
	sample = r.Find(w.iops()).Value
	if got, want := r.Find(w.throughput()).Value, sample*float64(p.plan.block); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%s: throughput = %v byte/s, want %v", text, got, want)
	}
	return sample, rate(r, w.iops())
}
