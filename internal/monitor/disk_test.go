package monitor

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/nvme"
)

// tree makes files and folders (ending in "/") below a new directory.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == path {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// sysBlock is a machine with everything that must not be counted twice.
var sysBlock = map[string]string{
	"block/sda/slaves/": "", "block/nvme0n1/slaves/": "", "block/nvme0n1/hidden": "0\n", "block/nvme0c0n1/hidden": "1\n",
	"block/dm-0/slaves/sda/": "", "block/md127/slaves/sda/": "", "block/loop0/": "", "block/zram0/": "", "block/sr0/": "",
	"block/cciss!c0d0/": "", "block/ram0/": "",
}

func TestPhysicalDisk(t *testing.T) {
	sys := tree(t, sysBlock)
	want := map[string]bool{
		"sda": true, "nvme0n1": true, "cciss/c0d0": true,
		"sda1": false, "nvme0n1p1": false, "nvme0c0n1": false, "dm-0": false, "md127": false,
		"loop0": false, "zram0": false, "sr0": false, "ram0": false, "gone": false,
	}
	for name, physical := range want {
		if got := physicalDisk(sys, name); got != physical {
			t.Errorf("physicalDisk(%q) = %v, want %v", name, got, physical)
		}
	}
}

// numbered returns a value for each disk metric: scale, 2·scale, …
func numbered(prefix string, values ...float64) map[string]float64 {
	m := map[string]float64{}
	for i, v := range values {
		m[prefix+diskMetrics[i]] = v
	}
	return m
}

func merged(maps ...map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// TestDisks reads a machine with one disk, its partition, a logical volume on
// it, and a loop device that is a volume: kernels 4.15 (11 numbers), 5.4 (15)
// and 6.18 (17).
func TestDisks(t *testing.T) {
	for kernel, more := range map[string]string{"4.15": "", "5.4": " 9 9 9 9", "6.18": " 9 9 9 9 9 9"} {
		t.Run(kernel, func(t *testing.T) {
			d := newDisks(tree(t, sysBlock), []volume{{volume: "data", major: 7, minor: 0}})
			before := "   8       0 sda 10 0 100 5 20 0 200 6 0 1000 2000" + more + "\n" +
				"   8       1 sda1 10 0 100 5 20 0 200 6 0 1000 2000" + more + "\n" +
				" 253       0 dm-0 10 0 100 5 20 0 200 6 0 1000 2000" + more + "\n" +
				"   7       0 loop0 1 0 8 0 2 0 16 0 0 3 4" + more + "\n"
			after := "   8       0 sda 15 6 108 9 22 7 216 9 3 1500 4500" + more + "\n" +
				"   8       1 sda1 15 0 108 9 22 0 216 9 3 1500 4500" + more + "\n" +
				" 253       0 dm-0 15 0 108 9 22 0 216 9 3 1500 4500" + more + "\n" +
				"   7       0 loop0 1 0 8 0 4 0 24 0 1 13 24" + more + "\n"
			zero := merged(numbered("disk.", make([]float64, 9)...),
				numbered("volume.data.", make([]float64, 9)...))
			if diff := cmp.Diff(zero, collect(t, d.parse, before)); diff != "" {
				t.Errorf("first reading (-want +got):\n%s", diff)
			}
			want := merged(numbered("disk.", 5, 2, 4096, 8192, 2.5, 0.5, 3, 6, 7),
				numbered("volume.data.", 0, 2, 0, 4096, 0.02, 0.01, 1, 0, 0))
			if diff := cmp.Diff(want, collect(t, d.parse, after)); diff != "" {
				t.Errorf("second reading (-want +got):\n%s", diff)
			}
		})
	}
}

func disksText(values map[string]uint64) string {
	var b strings.Builder
	for name, v := range values {
		fmt.Fprintf(&b, "8 %d %s %d 0 0 0 0 0 0 0 %d 0 0\n", len(name), name, v, v)
	}
	return b.String()
}

// TestDisksComeAndGo: the sum never jumps, whatever is plugged in or out.
func TestDisksComeAndGo(t *testing.T) {
	d := newDisks(tree(t, map[string]string{"block/sda/": "", "block/sdbb/": "", "block/sdccc/": ""}), nil)
	steps := []struct {
		values map[string]uint64
		want   map[string]float64 // of reads
	}{
		{map[string]uint64{"sda": 100, "sdbb": 1000}, map[string]float64{"disk.reads": 0, "disk.sda.reads": 0, "disk.sdbb.reads": 0}},
		{map[string]uint64{"sda": 101, "sdbb": 1010}, map[string]float64{"disk.reads": 11, "disk.sda.reads": 1, "disk.sdbb.reads": 10}},
		{map[string]uint64{"sda": 102}, map[string]float64{"disk.reads": 12, "disk.sda.reads": 2}},
		{map[string]uint64{"sda": 103, "sdbb": 5, "sdccc": 777}, map[string]float64{"disk.reads": 18, "disk.sda.reads": 3, "disk.sdbb.reads": 15}},
		{map[string]uint64{"sda": 103, "sdbb": 5, "sdccc": 780}, map[string]float64{"disk.reads": 21, "disk.sda.reads": 3, "disk.sdbb.reads": 15}},
	}
	for i, s := range steps {
		got := collect(t, d.parse, disksText(s.values))
		reads := map[string]float64{}
		inflight := 0.0
		for name, v := range got {
			if strings.HasSuffix(name, ".reads") {
				reads[name] = v
			}
		}
		for _, v := range s.values {
			inflight += float64(v)
		}
		if diff := cmp.Diff(s.want, reads); diff != "" {
			t.Errorf("reading %d (-want +got):\n%s", i, diff)
		}
		if got["disk.inflight"] != inflight {
			t.Errorf("reading %d: disk.inflight = %v, want %v: only disks that are there", i, got["disk.inflight"], inflight)
		}
	}
}

// TestDisksMany: with more than eight disks each has operations and bytes alone, and with more than 64 there is
// only the sum.
func TestDisksMany(t *testing.T) {
	for n, single := range map[int]int{maxWhole: exceeded, maxWhole + 1: basic, maxSingle: basic, maxSingle + 1: 0} {
		files, values := map[string]string{}, map[string]uint64{}
		for i := range n {
			name := fmt.Sprintf("sd%c%c", 'a'+i/26, 'a'+i%26)
			files["block/"+name+"/"], values[name] = "", 1
		}
		got := collect(t, newDisks(tree(t, files), nil).parse, disksText(values))
		if want := exceeded + n*single; len(got) != want {
			t.Errorf("%d disks: %d metrics, want %d", n, len(got), want)
		}
	}
}

// TestLimits: an EBS volume says for how long its limits were exceeded: in the sum where it is the only disk, by
// its own name beside others, and not where its counters cannot be read.
func TestLimits(t *testing.T) {
	ebs := map[string]string{"block/nvme1n1/device/serial": "vol0123\n"}
	both := map[string]string{"block/nvme1n1/device/serial": "vol0123\n", "block/nvme0n1/device/serial": "AWS123\n"}
	for name, c := range map[string]struct {
		files map[string]string
		err   error
		want  map[string]float64
	}{
		"alone": {ebs, nil, map[string]float64{"disk.exceeded_ops": 2, "disk.exceeded_bytes": 3, "disk.node_exceeded_ops": 4,
			"disk.node_exceeded_bytes": 5, "volume.data.exceeded_ops": 2, "volume.data.exceeded_bytes": 3,
			"volume.data.node_exceeded_ops": 4, "volume.data.node_exceeded_bytes": 5}},
		"beside another": {both, nil, map[string]float64{"disk.nvme1n1.exceeded_ops": 2, "disk.nvme1n1.exceeded_bytes": 3,
			"disk.nvme1n1.node_exceeded_ops": 4, "disk.nvme1n1.node_exceeded_bytes": 5, "volume.data.exceeded_ops": 2,
			"volume.data.exceeded_bytes": 3, "volume.data.node_exceeded_ops": 4, "volume.data.node_exceeded_bytes": 5}},
		"without root": {ebs, os.ErrPermission, map[string]float64{}},
	} {
		d := newDisks(tree(t, c.files), []volume{{volume: "data", major: 259, minor: 1}})
		calls := uint64(0)
		d.limits = func(device string) (n nvme.Counters, err error) {
			if calls++; device != "/dev/nvme1n1" {
				t.Errorf("%s: asked %s", name, device)
			}
			n.Exceeded = [4]uint64{7 + 2e6*calls, 3e6 * calls, 4e6 * calls, 5e6 * calls}
			return n, c.err
		}
		text := "259 1 nvme1n1 1 2 3 4 5 6 7 8 9 10 11\n"
		if len(c.files) > 1 {
			text += "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n"
		}
		collect(t, d.parse, text)
		got := collect(t, d.parse, text)
		maps.DeleteFunc(got, func(metric string, _ float64) bool { return !strings.Contains(metric, "exceeded") })
		if diff := cmp.Diff(c.want, got); diff != "" || c.err != nil && calls > 1 {
			t.Errorf("%s, asked %d times (-want +got):\n%s", name, calls, diff)
		}
	}
}

// TestDisksSkips: rows that cannot be read are skipped, as are the four
// numbers that kernels before 2.6.25 give for partitions.
func TestDisksSkips(t *testing.T) {
	text := "8 1 sda1 1 2 3 4\nx 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 0 sda 1 2 3 4 5 6 7 8 9 10\n8 0\n\n"
	if got := collect(t, newDisks(tree(t, sysBlock), nil).parse, text); len(got) > 0 {
		t.Errorf("emitted %v, want nothing", got)
	}
}
