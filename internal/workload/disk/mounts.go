package disk

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/scalebench/scalebench/internal/procself"
)

// filesystemOf is the type of the file system that holds a path, as Linux
// calls it ("ext4", "xfs", "tmpfs"); "" if unknown.
func filesystemOf(path string) string {
	full, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return typeOfMount(string(table), full)
}

// typeOfMount finds the mount that holds a path in a table like
// /proc/self/mountinfo (proc(5)): the one with the longest mount point, and
// the last of those, which lies on top.
func typeOfMount(table, path string) string {
	var best, kind string
	for m := range procself.Mounts(table) {
		if len(m.Point) >= len(best) && below(path, m.Point) {
			best, kind = m.Point, m.Type
		}
	}
	return kind
}

// below reports whether a path is the folder or in it.
func below(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}
