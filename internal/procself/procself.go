// Package procself reads what Linux tells a process about itself in
// /proc/self: what is mounted, and in which control groups it is. It parses
// text; reading the files is left to those who know from where.
package procself

import (
	"iter"
	"slices"
	"strings"
)

// Mount is a line of /proc/self/mountinfo (proc(5)), escapes undone.
type Mount struct {
	Device  string // major:minor
	Root    string // which part of the file system is mounted
	Point   string // where
	Type    string // of the file system: "ext4", "cgroup2"
	Source  string
	Options string // of the file system; for control groups v1 the controllers
}

// Mounts yields the lines of a mountinfo; what is no such line is left out.
func Mounts(mountinfo string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(mountinfo) {
			if m, ok := parse(line); ok && !yield(m) {
				return
			}
		}
	}
}

// parse reads "id parent major:minor root point options tags… - type source
// superoptions".
func parse(line string) (Mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	front, back := strings.Fields(before), strings.Fields(after)
	if !ok || len(front) < 5 || len(back) < 3 {
		return Mount{}, false
	}
	return Mount{
		Device: front[2], Root: unescape(front[3]), Point: unescape(front[4]),
		Type: back[0], Source: unescape(back[1]), Options: back[2],
	}, true
}

// unescape undoes the octal escapes of what would end a field.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Unified reports whether control groups v2 are mounted here.
func (m Mount) Unified() bool { return m.Type == "cgroup2" }

// Controls reports whether a controller of control groups v1 is mounted here.
func (m Mount) Controls(controller string) bool {
	return m.Type == "cgroup" && slices.Contains(strings.Split(m.Options, ","), controller)
}

// Groups reads /proc/self/cgroup: the path of the process's own group by
// controller, with the key "" for version 2.
func Groups(cgroup string) map[string]string {
	paths := make(map[string]string)
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	return paths
}

// Below makes a group's path relative to the part of the hierarchy that is
// mounted; empty where it lies outside. In a container the mounted part is
// often the group itself.
func Below(mounted, group string) string {
	if mounted == "/" {
		return group
	}
	if rel, ok := strings.CutPrefix(group, mounted); ok && (rel == "" || rel[0] == '/') {
		return rel
	}
	return ""
}
