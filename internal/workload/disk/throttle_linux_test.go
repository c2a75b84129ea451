package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/test/workloadtest"
)

// throttle limits each device for this process and what it starts, for reads
// and writes each, until the end of the test.
func throttle(t *testing.T, devices []string, iops int, bytes int64) {
	t.Helper()
	root := "/sys/fs/cgroup/blkio" // version 1
	files := map[string]string{}
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil {
		for _, d := range []string{"read", "write"} {
			files["blkio.throttle."+d+"_iops_device"] = strconv.Itoa(iops)
			files["blkio.throttle."+d+"_bps_device"] = strconv.FormatInt(bytes, 10)
		}
	} else {
		root = "/sys/fs/cgroup"
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+io"), 0o644); err != nil {
			workloadtest.Need(t, fmt.Errorf("no control group that limits devices: %w", err))
		}
		files["io.max"] = fmt.Sprintf("riops=%d wiops=%d rbps=%d wbps=%d", iops, iops, bytes, bytes)
	}
	group := enter(t, root)
	for _, dev := range devices {
		for file, limit := range files {
			if err := os.WriteFile(filepath.Join(group, file), []byte(number(t, dev)+" "+limit), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// number is a device's, as control groups name it.
func number(t *testing.T, dev string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dev, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
}

// enter puts this process into a control group of its own until the end of the
// test.
func enter(t *testing.T, root string) (group string) {
	t.Helper()
	group = filepath.Join(root, "scalebench-disk-test-"+strconv.Itoa(os.Getpid()))
	back := filepath.Join(root, currentGroup(t, root))
	if err := os.Mkdir(group, 0o755); err != nil {
		workloadtest.Need(t, err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Errorf("removing the control group: %v", err)
		}
	})
	move(t, group)
	t.Cleanup(func() { move(t, back) }) // before the group is removed
	return group
}

// move puts this process into a control group.
func move(t *testing.T, group string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		t.Fatal(err)
	}
}

// currentGroup is where this process is in a hierarchy, as a path below its
// root.
func currentGroup(t *testing.T, root string) string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[1] == "blkio" || f[1] == "" && root == "/sys/fs/cgroup") {
			return f[2]
		}
	}
	t.Fatalf("no group of %s in %s", root, data)
	return ""
}
