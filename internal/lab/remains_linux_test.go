package lab

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/procself"
)

// ownInterface matches the names of interfaces that a lab makes in its
// namespaces, and must never make in the machine's.
var ownInterface = regexp.MustCompile(`^(core|(port|group|up|down)[0-9]+)$`)

// remains lists whatever is there of a lab, and of its kind in the machine's
// own network namespace. Others may build labs at the same time.
func remains(t *testing.T, cfg Config) []string {
	t.Helper()
	var left []string
	names, _ := filepath.Glob(netnsDir + "/scalebench-" + cfg.ID + "*")
	left = append(left, names...)
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "/scalebench/"+cfg.ID) {
			left = append(left, path)
		}
		return nil
	})
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for m := range procself.Mounts(string(mounts)) {
		if below(cfg.VolumeDir, m.Point) || strings.Contains(m.Point, "scalebench-"+cfg.ID) {
			left = append(left, "mount "+m.Point)
		}
	}
	for _, d := range loops() {
		if below(cfg.VolumeDir, d.backing) {
			left = append(left, d.device)
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if ownInterface.MatchString(l.Name) {
			left = append(left, "interface "+l.Name)
		}
	}
	for _, dir := range []string{cfg.StateDir, cfg.VolumeDir} {
		files, _ := filepath.Glob(dir + "/*")
		left = append(left, files...)
	}
	return left
}

// checkGone fails the test if anything is left of the lab.
func checkGone(t *testing.T, cfg Config) {
	t.Helper()
	if left := remains(t, cfg); len(left) > 0 {
		t.Errorf("lab %s: left are %v, want nothing", cfg.ID, left)
	}
}
