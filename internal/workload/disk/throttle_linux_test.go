package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// throttle limits a device for this process and what it starts, for reads and
// writes each, until the end of the test.
func throttle(t *testing.T, dev string, iops int, bytes int64) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dev, &st); err != nil {
		t.Fatal(err)
	}
	number := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	limits := map[string]string{}
	root := "/sys/fs/cgroup/blkio" // version 1
	if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil {
		for _, d := range []string{"read", "write"} {
			limits["blkio.throttle."+d+"_iops_device"] = fmt.Sprintf("%s %d", number, iops)
			limits["blkio.throttle."+d+"_bps_device"] = fmt.Sprintf("%s %d", number, bytes)
		}
	} else {
		root = "/sys/fs/cgroup"
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+io"), 0o644); err != nil {
			need(t, fmt.Sprintf("no control group that limits devices: %v", err))
		}
		limits["io.max"] = fmt.Sprintf("%s riops=%d wiops=%d rbps=%d wbps=%d", number, iops, iops, bytes, bytes)
	}
	group := filepath.Join(root, "scalebench-disk-test-"+strconv.Itoa(os.Getpid()))
	back := filepath.Join(root, currentGroup(t, root))
	if err := os.Mkdir(group, 0o755); err != nil {
		need(t, err.Error())
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Errorf("removing the control group: %v", err)
		}
	})
	for file, text := range limits {
		if err := os.WriteFile(filepath.Join(group, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	move(t, group)
	t.Cleanup(func() { move(t, back) }) // before the group is removed
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
