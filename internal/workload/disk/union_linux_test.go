package disk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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
// ext4 on it, through to the device, and says so. Nothing stays mounted, and the next
// task takes the devices again.
func TestInTurn(t *testing.T) {
	needFio(t)
	for range 2 {
		n, blocks := 1+rand.IntN(4), 40+rand.Int64N(80) //nolint:gosec // a truth of the test's own
		env, r, said := environment(t, t.TempDir())
		devices := volumes(t, env, n, 64*mib)
		without(t, env, "fio", "mkfs.ext4", "wipefs")
		names := slices.Sorted(maps.Keys(env.Volumes))
		share := blocks * 256 << 10
		size := share*int64(n) + rand.Int64N(256<<10) //nolint:gosec // not whole blocks
		text := fmt.Sprintf(`{"preset": "paper", "size": "%dB", "volumes": ["%s"]}`,
			size, strings.Join(names, `", "`))
		p := params(t, text)
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
		next := params(t, text)
		for _, task := range []*Params{p, next} {
			if err := task.Cleanup(t.Context(), env); err != nil {
				t.Errorf("Cleanup() = %v", err)
			}
			for _, d := range devices {
				if err := unclaimed(t.Context(), d); err != nil {
					t.Error(err)
				}
			}
			if task == p {
				prepare(t, next, env)
			}
		}
	}
}

// standIn is a program mdadm that gives an array's name to another device, and writes
// down how it is called; and where its arrays are.
func standIn(t *testing.T, folder, device string) (x arrays, calls string) {
	t.Helper()
	x = arrays{sys: t.TempDir(), dev: t.TempDir()}
	calls = filepath.Join(folder, "calls")
	script := fmt.Sprintf(`#!/bin/sh
echo "$*" >>%s
array=$2
sys=%s/${2##*/}
case $1 in
--build)
	shift 5
	mkdir -p $sys/md
	echo none >$sys/md/metadata_version
	for d; do mkdir -p $sys/slaves/${d##*/}; done
	ln -s %s $array;;
--stop) rm -r $array $sys;;
esac
`, calls, x.sys, device)
	if err := os.WriteFile(filepath.Join(folder, "mdadm"), []byte(script), 0o700); err != nil { //nolint:gosec // run
		t.Fatal(err)
	}
	return x, calls
}

// TestRAID: devices become one; its place is ext4, and the array is stopped at the end.
// What a killed task has left is stopped by the next one.
func TestRAID(t *testing.T) {
	needFio(t)
	env, r, said := environment(t, t.TempDir())
	devices := volumes(t, env, 3, 64*mib)
	device := devices[2]
	delete(env.Volumes, "d2")
	x, calls := standIn(t, without(t, env, "fio", "mkfs.ext4", "wipefs", "mkdir", "ln", "rm"), device)
	if _, err := x.build(t.Context(), env.Environ, devices[:2]); err != nil {
		t.Fatal(err)
	}
	p := params(t, `{"preset": "paper", "size": "16MiB", "volumes": ["d1", "d0"]}`)
	p.union.arrays = x
	prepare(t, p, env)
	if err := x.stop(t.Context(), env.Environ, devices); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("stop() = %v, want the array of a living task to stay", err)
	}
	if err := p.Run(t.Context(), env); err != nil {
		t.Fatalf("Run() = %v; fio said %s", err, said)
	}
	if got := r.Find("disk_size").Labels; got["volumes"] != "RAID0" || got["filesystem"] != "ext4" ||
		strings.Contains(said.String(), "RAID0") {
		t.Errorf("labels %v; the task said %s", got, said)
	}
	if got := written(t, device); got < 16*mib {
		t.Errorf("the array has written %d bytes, want the file", got)
	}
	for range 2 {
		if err := p.Cleanup(t.Context(), env); err != nil {
			t.Fatalf("Cleanup() = %v", err)
		}
	}
	const each = "--build %s --level=0 --chunk=512 --raid-devices=2 %s %s\n--stop %[1]s\n"
	name := filepath.Join(x.dev, "md100")
	want := fmt.Sprintf(each, name, devices[0], devices[1]) + fmt.Sprintf(each, name, devices[1], devices[0])
	got, err := os.ReadFile(calls)
	if err != nil || string(got) != want {
		t.Errorf("mdadm was called with %q, %v, want %q", got, err, want)
	}
}

// TestStop: just arrays are stopped that a task can have made of the devices: without
// metadata or another member, and with nothing on them that somebody needs.
func TestStop(t *testing.T) {
	env, _, _ := environment(t, t.TempDir())
	devices := volumes(t, env, 1, 16*mib)
	given := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	for _, g := range given {
		if err := os.WriteFile(g, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, members, metadata, on string
		stopped                     bool
	}{
		{"of a task", "a b", "none", fileSystemLabel, true},
		{"of one with fewer volumes", "b", "none", fileSystemLabel, true},
		{"with a file system of somebody", "a b", "none", "precious", false},
		{"with metadata", "a b", "1.2", fileSystemLabel, false},
		{"of another device, too", "a b sdx", "none", fileSystemLabel, false},
		{"of other devices", "sdx", "none", fileSystemLabel, false},
		{"stopped by another", "", "none", fileSystemLabel, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, _ := standIn(t, without(t, env, "wipefs", "mkdir", "ln", "rm"), devices[0])
			command(t, "mkfs.ext4", "-q", "-F", "-L", tt.on, devices[0])
			path, err := x.build(t.Context(), env.Environ, strings.Fields(tt.members))
			if err != nil {
				t.Fatal(err)
			}
			version := filepath.Join(x.sys, filepath.Base(path), "md/metadata_version")
			if err := os.WriteFile(version, []byte(tt.metadata+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			err = x.stop(t.Context(), env.Environ, append(given, "/none"))
			if got := !exists(path); got != tt.stopped || (err != nil) != (tt.on == "precious") {
				t.Errorf("stopped: %v, want %v (%v)", got, tt.stopped, err)
			}
		})
	}
}

// TestVolumesRefused: volumes that are in use or hold anything stay as they are.
func TestVolumesRefused(t *testing.T) {
	needFio(t)
	inUse := func(t *testing.T, device string) {
		command(t, "mkfs.ext4", "-q", "-L", fileSystemLabel, device)
		mount(t, device, "ext4", unix.MS_RDONLY, "") // or it writes by itself
	}
	for _, tt := range []struct {
		name string
		put  func(t *testing.T, device string)
		want string // of the error; empty: none
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"of a task", func(t *testing.T, d string) { command(t, "mkfs.ext4", "-q", "-L", fileSystemLabel, d) }, ""},
		{"mounted", inUse, "in use by this system"},
		{"ext4", func(t *testing.T, d string) { command(t, "mkfs.ext4", "-q", d) }, "holds data (ext4)"},
		{"swap", func(t *testing.T, d string) { command(t, "mkswap", "-L", fileSystemLabel, d) }, "holds data (swap"},
		{"partitions", func(t *testing.T, d string) {
			table := make([]byte, sector) // as fdisk makes it: one of 15 MiB, type 83
			copy(table[446:], "\x00\x20\x21\x00\x83\x28\x2c\x01\x00\x08\x00\x00\x00\x78\x00\x00")
			copy(table[510:], "\x55\xaa")
			if err := os.WriteFile(d, table, 0); err != nil {
				t.Fatal(err)
			}
		}, "holds data (dos)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, _, _ := environment(t, t.TempDir())
			devices := volumes(t, env, 2, 16*mib)
			i := rand.IntN(2) //nolint:gosec // a truth of the test's own
			tt.put(t, devices[i])
			before := written(t, devices[0]) + written(t, devices[1])
			// One of them alone is refused as both are, also if it is only read: its file would be
			// written first.
			alone := params(t, fmt.Sprintf(`{"volume": "d%d", "operation": "read", "size": "1MiB"}`, i))
			err := alone.Prepare(t.Context(), env)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("alone: Prepare() = %v, want %q", err, tt.want)
			}
			if err := alone.Cleanup(t.Context(), env); err != nil {
				t.Errorf("alone: Cleanup() = %v", err)
			}
			p := params(t, `{"preset": "paper", "size": "1MiB"}`)
			err = p.Prepare(t.Context(), env)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare() = %v, want %q", err, tt.want)
			}
			if wrote := written(t, devices[0]) + written(t, devices[1]) - before; err != nil && wrote > 0 {
				t.Errorf("%d bytes were written", wrote)
			}
			if err := p.Cleanup(t.Context(), env); err != nil {
				t.Errorf("Cleanup() = %v", err)
			}
		})
	}
}

func command(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		workloadtest.Need(t, fmt.Errorf("%s: %w: %s", program, err, out))
	}
}

// TestPlacesRefused: volumes that are not several devices cannot be one.
func TestPlacesRefused(t *testing.T) {
	folder := t.TempDir()
	device := loop(t, mib)
	again := filepath.Join(folder, "again")
	if err := os.Symlink(device, again); err != nil {
		t.Fatal(err)
	}
	env, _, _ := environment(t, folder)
	for _, tt := range []struct {
		places []string
		want   string
	}{
		{[]string{device, again}, "are on one device"},
		{[]string{folder, t.TempDir()}, "are on one device"},
		{[]string{folder, device}, "all be block devices"},
		{[]string{device, filepath.Join(folder, "none")}, "no such file"},
	} {
		var u union
		if _, err := u.make(t.Context(), env, tt.places); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("make(%v) = %v, want %q", tt.places, err, tt.want)
		}
	}
}
