package lab

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/skip"
)

// number runs a helper on a host and returns the number that it printed.
func number(t *testing.T, l *Lab, host model.NodeID, p Process) float64 {
	t.Helper()
	text := output(t, l, host, p)
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		t.Fatalf("%v printed %q, want a number", p.Args, text)
	}
	return v
}

// writes is the number of writes that a device has done.
func writes(t *testing.T, device string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sysBlock, filepath.Base(device), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(text))[4])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// memoryDir is a directory for volumes that no other work of the machine slows
// down: in memory, where the kernel can do direct I/O there.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "scalebench") //nolint:usetesting // t.TempDir is on disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	f, err := os.OpenFile(dir+"/probe", os.O_CREATE|os.O_WRONLY|unix.O_DIRECT, 0o600)
	_ = os.Remove(dir + "/probe")
	if err != nil {
		return t.TempDir()
	}
	_ = f.Close()
	return dir
}

func TestLimits(t *testing.T) {
	skip.IfShort(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	t.Parallel() // it mostly waits
	l := up(t, Config{ID: "limits", StateDir: t.TempDir(), VolumeDir: memoryDir(t), Spec: Spec{
		Nodes:  2,
		Limits: Limits{CPU: 0.2, Memory: 64 * unit.MiB},
		Volumes: []Volume{
			{Name: "ext4", Size: 32 * unit.MiB, IOPS: 300},
			{Name: "raw", Type: Raw, Size: 32 * unit.MiB, Bandwidth: unit.Rate{Value: 1 << 20, Base: unit.Bytes}},
			{Name: "shared", Type: Raw, Shared: true, Size: 32 * unit.MiB, IOPS: 300},
		},
	}})
	one, two := l.Volumes("lab-1"), l.Volumes("lab-2")

	t.Run("cpu", func(t *testing.T) {
		attempts(t, "cores", 0.2, 0.05, 0.05, func() float64 {
			return number(t, l, "lab-1", helper(t, "spin"))
		})
	})
	t.Run("ext4", func(t *testing.T) {
		attempts(t, "writes per second", 300, 0.01, 0.01, func() float64 {
			return number(t, l, "lab-1", helper(t, "write", one["ext4"]+"/file"))
		})
	})
	t.Run("bandwidth", func(t *testing.T) {
		attempts(t, "writes per second", (1<<20)/pageSize, 0.01, 0.01, func() float64 {
			return number(t, l, "lab-1", helper(t, "write", one["raw"]))
		})
	})
	t.Run("shared", func(t *testing.T) {
		if one["shared"] != two["shared"] || one["raw"] == two["raw"] {
			t.Fatalf("volumes are %v and %v, want one that is shared and one for each", one, two)
		}
		// The kernel lets a tenth of a second's writes through at once, so two
		// seconds have 5 % more or less. Unshared it would be 600.
		attempts(t, "writes per second of both", 300, 0.06, 0.06, func() float64 {
			var both sync.WaitGroup
			defer both.Wait()
			both.Go(func() { number(t, l, "lab-1", helper(t, "write", one["shared"])) })
			both.Go(func() { number(t, l, "lab-2", helper(t, "write", two["shared"])) })
			<-time.After(500 * time.Millisecond) // what the limit saved up
			began, before := time.Now(), writes(t, one["shared"])
			<-time.After(2 * time.Second)
			return float64(writes(t, one["shared"])-before) / time.Since(began).Seconds()
		})
	})
	t.Run("memory", func(t *testing.T) {
		cmd, err := l.Start(t.Context(), "lab-1", helper(t, "allocate"))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("allocating 128MiB of 64MiB = %v, want killed", err)
		}
	})
}

// TestShapeVolumes: the limits of a volume change in a lab that is up, of all hosts that
// have it and of no other volume; with nothing to change all are as they were made. The
// kernel tells what is, also where something else has changed it.
func TestShapeVolumes(t *testing.T) {
	t.Parallel() // it mostly waits
	l := up(t, Config{ID: "volumes", StateDir: t.TempDir(), VolumeDir: memoryDir(t), Spec: Spec{
		Nodes: 2,
		Volumes: []Volume{
			{Name: "data", Type: Raw, Size: 16 * unit.MiB, IOPS: 300},
			{Name: "log", Type: Raw, Size: 16 * unit.MiB, Shared: true, Bandwidth: unit.Rate{Value: 1 << 20, Base: unit.Bytes}},
			{Name: "free", Type: Raw, Size: 16 * unit.MiB, Shared: true}, {Name: "plain", Type: Folder},
		},
	}})
	log, raised := model.VolumeLevel{Bandwidth: 1 << 20}, model.VolumeLevel{IOPS: 1800, Bandwidth: 60 << 20}
	for _, c := range []struct {
		name string
		want map[string]model.VolumeLevel
		is   model.VolumeLevel
	}{
		{"as made", nil, model.VolumeLevel{IOPS: 300}},
		{"raised", map[string]model.VolumeLevel{"data": raised}, raised},
		{"put back", map[string]model.VolumeLevel{"log": log}, model.VolumeLevel{IOPS: 300}},
	} {
		shape, err := l.Shape(model.Shape{Volumes: c.want})
		want := map[string]model.VolumeLevel{
			"reads of volume data of lab-1": c.is, "writes of volume data of lab-1": c.is,
			"reads of volume data of lab-2": c.is, "writes of volume data of lab-2": c.is,
			"reads of volume log of lab-1, lab-2": log, "writes of volume log of lab-1, lab-2": log,
		}
		if diff := cmp.Diff(want, shape.Volumes); err != nil || diff != "" {
			t.Fatalf("%s: %v, volumes (-want +got):\n%s", c.name, err, diff)
		}
		if testing.Short() || c.want == nil {
			continue // what follows measures; TestLimits measures what is as made
		}
		attempts(t, c.name+": writes per second", float64(c.is.IOPS), .02, .02, func() float64 {
			return number(t, l, "lab-2", helper(t, "write", l.Volumes("lab-2")["data"]))
		})
	}
	for _, bad := range []string{"free", "plain", "other"} {
		_, err := l.Shape(model.Shape{Volumes: map[string]model.VolumeLevel{bad: {IOPS: 1}}})
		if err == nil || !strings.Contains(err.Error(), `"`+bad+`" has no limits in this lab`) {
			t.Errorf("Shape of %s = %v, want it refused", bad, err)
		}
	}
	g, err1 := findGroups(l.ID())
	device, err2 := l.manifest.Volumes[1].loop()
	if err := errors.Join(err1, err2, g.limitDevice(device.number, model.VolumeLevel{IOPS: 100})); err != nil {
		t.Fatal(err)
	}
	is, err := l.Shaped()
	if err != nil || is.Volumes["writes of volume data of lab-2"] != (model.VolumeLevel{IOPS: 100}) {
		t.Errorf("Shaped = %v, %v, want the volume of lab-2 slower", is.Volumes, err)
	}
}

func TestStartIsInsideFromTheFirstInstruction(t *testing.T) {
	l := up(t, Config{ID: "inside", Spec: Spec{Nodes: 2, Limits: Limits{Link: bits(1e9)}}})
	text := output(t, l, "lab-2", Process{Args: []string{"cat", "/proc/self/cgroup", "/proc/net/fib_trie"}})
	if !strings.Contains(text, "10.213.0.2") || strings.Contains(text, "10.213.0.1\n") {
		t.Errorf("lab-2 has addresses\n%s\nwant 10.213.0.2", text)
	}
	if !strings.Contains(text, "/scalebench/inside/lab-2") {
		t.Errorf("a process on lab-2 has cgroups\n%s\nwant /scalebench/inside/lab-2", text)
	}
	if own, _ := os.ReadFile("/proc/self/cgroup"); strings.Contains(string(own), "scalebench/inside") {
		t.Errorf("the process that started it has cgroups\n%s\nwant its own", own)
	}
	if pids := processesOf(l.manifest); len(pids) > 0 {
		t.Errorf("processes of the lab = %v, want none", pids)
	}
	if _, err := l.Start(t.Context(), "lab-2", Process{Args: []string{"/no/such/program"}}); err == nil {
		t.Error("starting a program that is not there succeeded")
	}
}

// TestLimitsOfGroups shows for each version of cgroups that the machine has with
// the controllers, that the kernel keeps the limits as they are written. Most
// machines have one of the two; a controller is never in both.
func TestLimitsOfGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	needLab(t)
	g, err := findGroups("kernel")
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]groups{
		"v1": {cgroup.Group{V1: g.V1}, g.id},
		"v2": {cgroup.Group{V2: g.V2}, g.id},
	} {
		t.Run(name, func(t *testing.T) {
			if g.V2 == "" && len(g.V1) == 0 {
				// In CI too: no installation gives a kernel what it was
				// started without.
				t.Skipf("this kernel does not have the controllers cpu, memory and io in cgroup %s, so its limits are not measured here", name)
			}
			limitsOfGroups(t, g)
		})
	}
}

// apart returns groups below one of their own, where no labs of others are.
func apart(t *testing.T, g groups) groups {
	own := g.Below("scalebench-apart")
	for _, dir := range own.Dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		})
	}
	return groups{own, g.id}
}

// weightsOfLabs: the group of all labs has the weights of those that are there.
func weightsOfLabs(t *testing.T, g groups) {
	g = apart(t, g)
	common := filepath.Dir(g.lab().Dir("cpu"))
	up := func(id string, cores float64) Manifest {
		g := groups{g.Group, id}
		h := HostRecord{Host: Host{Name: "h", Limits: Limits{CPU: cores}}, Groups: g.host("h")}
		m := Manifest{ID: id, Hosts: []HostRecord{h}, Cgroups: g.all([]HostRecord{h}), Unified: g.V2 != ""}
		if err := errors.Join(g.make(m.Cgroups), g.weigh(m.Hosts, 8)); err != nil {
			t.Error(err)
		}
		return m
	}
	want := func(when string, cores float64) {
		if got := cgroup.Shares(common) / cgroup.SharesPerCore; math.Abs(got-cores) > .01 {
			t.Errorf("%s all labs have the weight of %v cores, want %v", when, got, cores)
		}
	}
	a := up("a", 2)
	want("with one,", 2)
	b := up("b", 5)
	want("with two,", 7)
	err := a.removeCgroups(t.Context())
	want("when one is gone,", 5)
	if err = errors.Join(err, b.removeCgroups(t.Context())); err != nil {
		t.Error(err)
	}
}

// limitsOfGroups measures the limits of a host without anything else of a lab.
func limitsOfGroups(t *testing.T, g groups) {
	h := HostRecord{Host: Host{Name: "h", Limits: Limits{CPU: 0.2, Memory: 64 * unit.MiB}}, Groups: g.host("h")}
	m := Manifest{ID: g.id, Hosts: []HostRecord{h}, Cgroups: g.all([]HostRecord{h}), Unified: g.V2 != ""}
	t.Cleanup(func() {
		if err := errors.Join(m.killAll(context.Background(), nil), m.removeCgroups(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(g.make(m.Cgroups), g.limit(h.Host)); err != nil {
		t.Fatal(err)
	}
	if err := g.weigh([]HostRecord{h, {}}, 3); err != nil {
		t.Fatal(err)
	}
	// A host of 0.2 cores, and one of the three that there are.
	lab := g.lab().Dir("cpu")
	if own, all := cgroup.Shares(lab), cgroup.Shares(filepath.Dir(lab)); math.Abs(own/cgroup.SharesPerCore-3.2) > .01 || all < own {
		t.Errorf("the lab has %v shares and all labs %v, want 3.2 cores", own, all)
	}
	if host := cgroup.Shares(filepath.Join(lab, "h")); math.Abs(host/cgroup.SharesPerCore-.2) > .01 {
		t.Errorf("the host has %v shares, want 0.2 cores", host)
	}
	weightsOfLabs(t, g)
	run := func(name string) (string, error) {
		var out strings.Builder
		p := helper(t, name)
		p.Stdout = &out
		cmd := p.command(t.Context())
		if err := procself.OnThread(func() error { return cgroup.Start(h.Groups, cmd) }); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait() // and with it all that is printed
		return out.String(), err
	}
	attempts(t, "cores", 0.2, 0.05, 0.05, func() float64 {
		text, err := run("spin")
		cores, parseErr := strconv.ParseFloat(text, 64)
		if err := errors.Join(err, parseErr); err != nil {
			t.Fatal(err)
		}
		return cores
	})
	if _, err := run("allocate"); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("allocating 128MiB of 64MiB = %v, want killed", err)
	}
}

// TestStartV2 starts a process in a group of v2. It needs no controllers, so
// it also tests on a machine with its controllers in v1.
func TestStartV2(t *testing.T) {
	needLab(t)
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	top := ""
	for m := range procself.Mounts(string(text)) {
		if m.Unified() {
			top = m.Point
		}
	}
	if top == "" {
		t.Skip("cgroup v2 is not mounted") // a machine with v1 only has nothing to show
	}
	g := groups{cgroup.Group{V2: top}, "start2"}
	dir := g.host("h")[0]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := Manifest{ID: g.id, Cgroups: []string{filepath.Dir(dir), dir}, Unified: true}
	t.Cleanup(func() {
		if err := m.removeCgroups(context.Background()); err != nil {
			t.Error(err)
		}
	})
	cmd := Process{Args: []string{"sleep", "60"}}.command(t.Context())
	if err := procself.OnThread(func() error { return cgroup.Start([]string{dir}, cmd) }); err != nil {
		t.Fatal(err)
	}
	in, err := cgroup.Members(dir)
	if err != nil || len(in) != 1 || in[0] != cmd.Process.Pid {
		t.Errorf("Members(%s) = %v, %v, want [%d]", dir, in, err, cmd.Process.Pid)
	}
	waited := make(chan error)
	go func() { waited <- cmd.Wait() }()
	if err := m.killAll(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := <-waited; err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("after killAll, Wait = %v, want killed", err)
	}
}
