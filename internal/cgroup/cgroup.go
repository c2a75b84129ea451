// Package cgroup knows the control groups of Linux: of version 1, with a hierarchy for
// each controller, and of version 2, with one for all.
//
//  1. [Own] and [Find] tell in which groups a process is; [Group.Below] are groups below
//     them.
//  2. Limits and weights are set (limits.go), for which groups of version 2 must be allowed
//     to have controllers (delegate_linux.go).
//  3. Processes start in a group, and are killed with it (processes_linux.go).
//  4. A [Meter] tells again and again what a group has used, and what limited it.
package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/scalebench/scalebench/internal/procself"
)

// Group is a control group: a folder of version 2, or one for each controller of version 1.
type Group struct {
	V2 string            // empty: V1 counts
	V1 map[string]string // by controller
}

// Below is the group of this path below it.
func (g Group) Below(path ...string) Group {
	in := func(dir string) string { return filepath.Join(append([]string{dir}, path...)...) }
	if g.V2 != "" {
		return Group{V2: in(g.V2)}
	}
	out := Group{V1: make(map[string]string)}
	for c, dir := range g.V1 {
		out.V1[c] = in(dir)
	}
	return out
}

// Dir is its folder in the hierarchy of a controller.
func (g Group) Dir(controller string) string { return cmp.Or(g.V2, g.V1[controller]) }

// Dirs are its folders, sorted. Controllers that are mounted together have one.
func (g Group) Dirs() []string {
	if g.V2 != "" {
		return []string{g.V2}
	}
	return slices.Compact(slices.Sorted(maps.Values(g.V1)))
}

// Own is Find for this process.
func Own(controllers ...string) (v1 map[string]string, v2 []Mounted, err error) {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, fmt.Errorf("looking for control groups: %w", err)
	}
	v1, v2 = Find(string(mounts), string(own), controllers...)
	return v1, v2, nil
}

// Mounted is where version 2 is mounted, and where the group of a process is in it.
type Mounted struct{ Top, Own string }

// Find looks in the texts of /proc/PID/mountinfo and /proc/PID/cgroup for the groups of
// that process: of version 1 those with one of these controllers. A machine may have both
// versions; a controller is in one of them.
func Find(mountinfo, own string, controllers ...string) (v1 map[string]string, v2 []Mounted) {
	paths := procself.Groups(own)
	v1 = make(map[string]string)
	for m := range procself.Mounts(mountinfo) {
		if m.Unified() {
			v2 = append(v2, Mounted{m.Point, groupDir(m, paths[""])})
		}
		for _, c := range controllers {
			if path, ok := paths[c]; ok && m.Controls(c) && v1[c] == "" {
				v1[c] = groupDir(m, path)
			}
		}
	}
	return v1, v2
}

// groupDir is the folder of a group in a mounted hierarchy. A container may see only a
// part of the hierarchy, or the path from outside; where the path leads nowhere, the top
// of what is mounted is the own group.
func groupDir(m procself.Mount, path string) string {
	dir := filepath.Join(m.Point, procself.Below(m.Root, path))
	if _, err := os.Stat(dir); err != nil {
		return m.Point
	}
	return dir
}

// Read is what a file of a group says; empty is what is not there.
func Read(dir, file string) string { return procself.ReadText(filepath.Join(dir, file)) }

// Write sets a file of a group, which is not created: what is not there is a controller
// that is not there (fs.ErrNotExist).
func Write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("setting %s to %q: %w", f.Name(), value, err)
	}
	return nil
}

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}
