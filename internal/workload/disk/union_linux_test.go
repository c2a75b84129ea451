package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// written is how many bytes a device has written since it is there.
func written(t *testing.T, dev string) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(dev), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	sectors, err := strconv.ParseInt(strings.Fields(string(text))[6], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return sectors * sector
}

// volumes are devices as the volumes of a node.
func volumes(t *testing.T, env *workload.Env, n int, size int64) (devices []string) {
	t.Helper()
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		workloadtest.Need(t, err)
	}
	if err := mayMount(fileSystem); err != nil {
		workloadtest.Need(t, fmt.Errorf("mounting: %w", err))
	}
	image := mount(t, "none", "tmpfs", 0, fmt.Sprintf("size=%d", int64(n+1)*size))
	env.Volumes = make(map[string]string)
	for i := range n {
		folder := filepath.Join(image, strconv.Itoa(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		devices = append(devices, loopIn(t, folder, size))
		env.Volumes["d"+strconv.Itoa(i)] = devices[i]
	}
	return devices
}

// without leaves a folder of programs on the PATH that has just these.
func without(t *testing.T, env *workload.Env, programs ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, p := range programs {
		path, err := exec.LookPath(p)
		if err != nil {
			workloadtest.Need(t, err)
		}
		if err := os.Symlink(path, filepath.Join(folder, p)); err != nil {
			t.Fatal(err)
		}
	}
	env.Environ = []string{"PATH=" + folder}
	return folder
}

// TestInTurn: where there is no RAID0, one thread writes as much to each volume, with
// ext4 on it, through to the device, and says so. Nothing stays mounted.
func TestInTurn(t *testing.T) {
	needFio(t)
	for range 3 {
		n, blocks := 1+rand.IntN(4), 40+rand.Int64N(80) //nolint:gosec // a truth of the test's own
		env, r, said := environment(t, t.TempDir())
		devices := volumes(t, env, n, 64*mib)
		without(t, env, "fio", "mkfs.ext4")
		share := blocks * 256 << 10
		size := share*int64(n) + rand.Int64N(256<<10) //nolint:gosec // not whole blocks
		p := params(t, fmt.Sprintf(`{"preset": "paper", "size": "%dB"}`, size))
		prepare(t, p, env)
		var before []int64
		for _, d := range devices {
			before = append(before, written(t, d))
		}
		if err := p.Run(t.Context(), env); err != nil {
			t.Fatalf("Run() = %v; fio said %s", err, said)
		}
		for i, d := range devices {
			if got := written(t, d) - before[i]; got < share || got > share+4*mib {
				t.Errorf("device %d of %d has written %d bytes, want %d and what ext4 keeps beside", i, n, got, share)
			}
		}
		want := map[string]string{"filesystem": "ext4"}
		if n > 1 {
			want["volumes"] = "in turn"
		}
		got := r.Find("disk_size")
		if got.Value != float64(share*int64(n)) || fmt.Sprint(got.Labels) != fmt.Sprint(want) ||
			r.Find("disk_write_throughput").Value <= 0 {
			t.Errorf("%d volumes: %+v, want %d bytes with %v", n, got, share*int64(n), want)
		}
		if told := strings.Contains(said.String(), "are not a RAID0 (no mdadm"); told != (n > 1) ||
			strings.Contains(said.String(), "the paper measured ext4") {
			t.Errorf("%d volumes: the task said %s", n, said)
		}
		if err := p.Cleanup(t.Context(), env); err != nil {
			t.Errorf("Cleanup() = %v", err)
		}
		for _, d := range devices {
			if err := unclaimed(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRAID: devices become one by mdadm, here a stand-in that gives the array's name to
// another device; its place is ext4, and the array is stopped at the end.
func TestRAID(t *testing.T) {
	needFio(t)
	env, r, said := environment(t, t.TempDir())
	devices := volumes(t, env, 3, 64*mib)
	array := devices[2]
	delete(env.Volumes, "d2")
	folder := without(t, env, "fio", "mkfs.ext4", "cp", "rm")
	calls := filepath.Join(folder, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\ncase $1 in --build) cp -a %s $2;; --stop) rm $2;; esac\n",
		calls, array)
	if err := os.WriteFile(filepath.Join(folder, "mdadm"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	p := params(t, `{"preset": "paper", "size": "16MiB", "volumes": ["d1", "d0"]}`)
	prepare(t, p, env)
	name := p.union.array
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatalf("Run() = %v; fio said %s", err, said)
	}
	if got := r.Find("disk_size").Labels; got["volumes"] != "RAID0" || got["filesystem"] != "ext4" ||
		strings.Contains(said.String(), "RAID0") {
		t.Errorf("labels %v; the task said %s", got, said)
	}
	if got := written(t, array); got < 16*mib {
		t.Errorf("the array has written %d bytes, want the file", got)
	}
	if err := p.Cleanup(t.Context(), env); err != nil {
		t.Fatalf("Cleanup() = %v", err)
	}
	want := fmt.Sprintf("--build %s --level=0 --chunk=512 --raid-devices=2 %s %s\n--stop %[1]s\n", name, devices[1],
		devices[0])
	got, err := os.ReadFile(calls)
	if err != nil || string(got) != want {
		t.Errorf("mdadm was called with %q, %v, want %q", got, err, want)
	}
	if _, err := os.Lstat(name); err == nil {
		t.Errorf("%s is still there", name)
	}
}

// TestLeftArray: only an array without metadata that has just these devices is one that
// a task has left.
func TestLeftArray(t *testing.T) {
	for _, tt := range []struct {
		members, metadata, want string
	}{
		{"sdb sdc", "none", "md100"}, {"sdb sdc", "1.2", ""}, {"sdb sdc sdd", "none", ""}, {"sdb", "none", ""},
	} {
		sys := t.TempDir()
		place := func(parts ...string) {
			if err := os.MkdirAll(filepath.Join(append([]string{sys}, parts...)...), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range strings.Fields(tt.members) {
			place(m, "holders", "md100")
			place("md100", "slaves", m)
		}
		place("md100", "md")
		if err := os.WriteFile(filepath.Join(sys, "md100/md/metadata_version"), []byte(tt.metadata+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := leftArray(sys, []string{"sdc", "sdb"}); got != tt.want {
			t.Errorf("leftArray with %+v = %q", tt, got)
		}
	}
}

// TestVolumesRefused: a mounted volume is never written to, and there must be such.
func TestVolumesRefused(t *testing.T) {
	needFio(t)
	env, _, _ := environment(t, t.TempDir())
	devices := volumes(t, env, 2, 16*mib)
	if out, err := exec.Command("mkfs.ext4", "-q", devices[1]).CombinedOutput(); err != nil {
		workloadtest.Need(t, fmt.Errorf("mkfs.ext4: %w: %s", err, out))
	}
	mount(t, devices[1], "ext4", 0, "")
	for text, want := range map[string]string{
		`{"preset": "paper", "size": "1MiB"}`:       "in use by this system",
		`{"volumes": ["d0", "d7"], "size": "1MiB"}`: `no volume "d7": it has d0, d1`,
	} {
		p := params(t, text)
		if err := p.Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Prepare(%s) = %v, want %q", text, err, want)
		}
		if err := p.Cleanup(t.Context(), env); err != nil {
			t.Errorf("Cleanup() = %v", err)
		}
	}
}
