package disk

import (
	"os"
	"path/filepath"
	"strings"
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
	for line := range strings.Lines(table) {
		point, t, ok := parseMount(line)
		if ok && len(point) >= len(best) && below(path, point) {
			best, kind = point, t
		}
	}
	return kind
}

// parseMount reads "36 35 98:0 /root /mount/point options - type device …".
func parseMount(line string) (point, kind string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	f, g := strings.Fields(before), strings.Fields(after)
	if !found || len(f) < 5 || len(g) < 1 {
		return "", "", false
	}
	// The kernel escapes what would end a field.
	point = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4])
	return point, g[0], true
}

// below reports whether a path is the folder or in it.
func below(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}
