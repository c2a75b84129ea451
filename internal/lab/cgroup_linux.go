package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// The controllers of cgroup v1 that a lab uses. cpuacct limits nothing, but a
// monitor reads there what a host has used.
const (
	cpuV1     = "cpu"
	cpuacctV1 = "cpuacct"
	memoryV1  = "memory"
	blkioV1   = "blkio"
)

// controllersV2 are the same of cgroup v2.
var controllersV2 = []string{"cpu", "memory", "io"}

// groups knows where the cgroups of one lab are. The directories differ
// between v1, with a hierarchy for each controller, and v2, with one for all.
type groups struct {
	id string
	// v2 is the directory that holds scalebench/, or empty.
	v2 string
	// v1 holds the same for each controller.
	v1 map[string]string
}

// findGroups finds the hierarchies of this machine.
func findGroups(id string) (groups, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return groups{}, fmt.Errorf("looking for cgroups: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return groups{}, fmt.Errorf("looking for cgroups: %w", err)
	}
	return locate(id, string(mounts), string(own))
}

// locate decides between v1 and v2. A machine may have both, and then a
// controller is in one of them: v1 is taken where it has all.
//
// With v1, labs stand below the group in which this process is: whatever limits
// that has hold for the lab too. A group of v2 that has processes cannot have
// groups with limits, so there they stand below the top of what is mounted,
// or, where that is not allowed, below the own group, if it was delegated.
func locate(id, mountinfo, own string) (groups, error) {
	mine := procself.Groups(own)
	g := groups{id: id, v1: make(map[string]string)}
	var unified []string
	for m := range procself.Mounts(mountinfo) {
		switch m.Type {
		case "cgroup":
			for _, c := range strings.Split(m.Options, ",") {
				if path, ok := mine[c]; ok && slices.Contains([]string{cpuV1, cpuacctV1, memoryV1, blkioV1}, c) {
					g.v1[c] = groupDir(m, path)
				}
			}
		case "cgroup2":
			unified = append(unified, m.Point, groupDir(m, mine[""]))
		}
	}
	if g.v1[cpuV1] != "" && g.v1[memoryV1] != "" && g.v1[blkioV1] != "" {
		return g, nil
	}
	err := fmt.Errorf("%w: no cgroup hierarchy with the controllers cpu, memory and io (v2) or blkio (v1) can be written to", model.ErrUnavailable)
	for _, dir := range slices.Compact(unified) {
		why := usable(dir)
		if why == nil {
			return groups{id: id, v2: dir}, nil
		}
		err = fmt.Errorf("%w; %s: %w", err, dir, why)
	}
	return groups{}, err
}

// groupDir is the directory of a group in a mounted hierarchy. A container may
// see only a part of the hierarchy, or the path from outside; where the path
// leads nowhere, the top of what is mounted is the own group.
func groupDir(m procself.Mount, path string) string {
	rel, err := filepath.Rel(m.Root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return m.Point
	}
	dir := filepath.Join(m.Point, rel)
	if _, err := os.Stat(dir); err != nil {
		return m.Point
	}
	return dir
}

// lacks returns the controllers of v2 that a file of the group does not list.
func lacks(dir, file string) []string {
	data, _ := os.ReadFile(filepath.Join(dir, file)) // unreadable is the same as lacking
	have := strings.Fields(string(data))
	return slices.DeleteFunc(slices.Clone(controllersV2), func(c string) bool { return slices.Contains(have, c) })
}

// usable returns nil if groups with limits can be made in this group of v2, and
// otherwise why not. It only reads, and asks for rights: nothing is changed.
func usable(dir string) error {
	if missing := lacks(dir, "cgroup.controllers"); len(missing) > 0 {
		return fmt.Errorf("no controller %s", strings.Join(missing, ", "))
	}
	if err := mayWrite(dir); err != nil {
		return err
	}
	if len(lacks(dir, subtreeControl)) == 0 {
		return nil
	}
	if err := mayWrite(filepath.Join(dir, subtreeControl)); err != nil {
		return err
	}
	// What has processes cannot pass controllers on, except for the root,
	// which has no type (Linux, cgroup-v2.rst, "No Internal Process
	// Constraint").
	kind, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if k := strings.TrimSpace(string(kind)); k != "domain" {
		return fmt.Errorf("the group is of type %q, want domain", k)
	}
	pids, err := readPids(filepath.Join(dir, "cgroup.procs"))
	if err == nil && len(pids) > 0 {
		err = errors.New("the group has processes of its own, so groups below it cannot have limits")
	}
	return err
}

// subtreeControl is the file that lists what groups below have limits of.
const subtreeControl = "cgroup.subtree_control"

// mayWrite asks whether this process may write to a file, or make groups in a
// directory.
func mayWrite(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("writing to %s: %w", path, err)
	}
	return nil
}

// lacking returns the controllers that a lab has to switch on in a group of v2
// that is not its own, so that its groups can have limits. They stay on when
// the lab goes: others may have come to use them, and a limit in a group
// disappears without a word when its controller is switched off above it.
func (g groups) lacking() []string {
	if g.v2 == "" {
		return nil
	}
	return lacks(g.v2, subtreeControl)
}

// enable lets the groups below dir have limits. It only adds what is missing.
func enable(dir string) error {
	missing := lacks(dir, subtreeControl)
	if len(missing) == 0 {
		return nil
	}
	return writeGroup(dir, subtreeControl, "+"+strings.Join(missing, " +"))
}

// writeGroup writes a value into a group's interface file.
func writeGroup(dir, file, value string) error {
	// Not created: a file that is not there is a controller that is not there.
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("setting a limit: %w", err)
	}
	_, err = f.WriteString(value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("setting a limit: %q to %s: %w", value, f.Name(), err)
	}
	return nil
}

// lab returns the lab's own directories, one in each hierarchy.
func (g groups) lab() []string {
	if g.v2 != "" {
		return []string{filepath.Join(g.v2, groupRoot, g.id)}
	}
	var dirs []string
	for _, c := range slices.Sorted(maps.Keys(g.v1)) {
		dirs = append(dirs, filepath.Join(g.v1[c], groupRoot, g.id))
	}
	// Controllers that are mounted together have one directory.
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// host returns the directories in which a host's processes are. With v1, limits
// of devices do not reach groups below, so there all are in the lab's own.
func (g groups) host(name model.NodeID) []string {
	blkio := ""
	if g.v2 == "" {
		blkio = filepath.Join(g.v1[blkioV1], groupRoot, g.id)
	}
	var dirs []string
	for _, d := range g.lab() {
		if d != blkio {
			d = filepath.Join(d, string(name))
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// all lists every directory of a lab with these hosts, parents first.
func (g groups) all(hosts []HostRecord) []string {
	dirs := g.lab()
	for _, h := range hosts {
		dirs = append(dirs, g.host(h.Name)...)
	}
	slices.SortFunc(dirs, func(a, b string) int { return len(a) - len(b) })
	return slices.Compact(slices.DeleteFunc(dirs, duplicate()))
}

// duplicate returns a function that is true for what it has seen before.
func duplicate() func(string) bool {
	seen := make(map[string]bool)
	return func(s string) bool {
		old := seen[s]
		seen[s] = true
		return old
	}
}
