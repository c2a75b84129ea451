// Package procself reads what Linux tells in /proc: what is mounted, in which
// control groups a process is, and what identifies it, so that a signal reaches
// no other one; and the processor time of a thread, and how much room a file system
// has. Mounts and groups are parsed from text; reading those files is left to the
// caller, who knows from where.
package procself

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is a process as /proc/PID/stat shows it (proc(5)).
type Process struct {
	PID, Parent, Group int
	Zombie             bool   // it has ended
	Start              uint64 // in clock ticks since boot
	// CPU is the processor time that it has used so far, with that of
	// descendants that ended and that it waited for.
	CPU time.Duration
}

// tick is the unit of processor times in /proc: 1/100 s on every processor that
// Linux shows to programs today, whatever its own tick is (proc(5)).
const tick = time.Second / 100

// ReadProcess reads one process; the error wraps fs.ErrNotExist if there is
// none.
func ReadProcess(pid int) (Process, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	return parseStat(pid, string(data))
}

// parseStat takes a line of /proc/PID/stat apart. The second field is the
// command's name in parentheses; the name may itself hold spaces and
// parentheses, so fields are counted from the last one.
func parseStat(pid int, line string) (Process, error) {
	f := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	const first, cpu, start = 3, 14, 22 // numbers of fields
	if len(f) <= start-first {
		return Process{}, fmt.Errorf("process %d: only %d fields after its name in %q", pid, len(f), line)
	}
	p := Process{PID: pid, Zombie: f[0] == "Z" || f[0] == "X"}
	var errs [7]error
	p.Parent, errs[0] = strconv.Atoi(f[1])
	p.Group, errs[1] = strconv.Atoi(f[2])
	p.Start, errs[2] = strconv.ParseUint(f[start-first], 10, 64)
	for i := range 4 { // utime, stime, cutime and cstime
		var ticks int64
		ticks, errs[3+i] = strconv.ParseInt(f[cpu-first+i], 10, 64)
		p.CPU += time.Duration(ticks) * tick
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Process{}, fmt.Errorf("process %d: parent, group or times: %w", pid, err)
	}
	return p, nil
}

// ReadText is what a small file says, without the space around it; empty is what cannot be
// read.
func ReadText(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// BootID is another one whenever the machine has restarted.
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// Mount is a line of /proc/self/mountinfo (proc(5)), escapes undone.
type Mount struct {
	Device  string // major:minor
	Root    string // which part of the file system is mounted
	Point   string // where
	Type    string // of the file system: "ext4", "cgroup2"
	Options string // of the file system; for control groups v1 the controllers
}

// Mounts yields the lines of a mountinfo; it skips malformed ones.
func Mounts(mountinfo string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(mountinfo) {
			if m, ok := parse(line); ok && !yield(m) {
				return
			}
		}
	}
}

// MountedIn lists what is mounted at a directory and in it, in the order in which it was. The
// path has no symbolic links.
func MountedIn(dir string) (in []Mount, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	for m := range Mounts(string(text)) {
		if rel, err := filepath.Rel(dir, m.Point); err == nil && filepath.IsLocal(rel) {
			in = append(in, m)
		}
	}
	return in, err
}

// parse reads "id parent major:minor root point options tags… - type source
// superoptions".
func parse(line string) (Mount, bool) {
	before, after, _ := strings.Cut(line, " - ")
	front, back := strings.Fields(before), strings.Fields(after)
	if len(front) < 5 || len(back) < 3 {
		return Mount{}, false
	}
	// The octal escapes are of what would end a field.
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
	return Mount{front[2], unescape(front[3]), unescape(front[4]), back[0], back[2]}, true
}

// Unified reports whether control groups v2 are mounted here.
func (m Mount) Unified() bool { return m.Type == "cgroup2" }

// Controls reports whether a controller of control groups v1 is mounted here.
func (m Mount) Controls(controller string) bool {
	return m.Type == "cgroup" && slices.Contains(strings.Split(m.Options, ","), controller)
}

// AgentGroup is the name of the control group of version 2 to which an agent
// moves, with all that is in its own, to make room for groups with limits beside
// it: see cgroup.PassOn.
const AgentGroup = "scalebench-agent"

// Groups reads /proc/self/cgroup: the path of the process's own group by
// controller, with the key "" for version 2. That of a process in an AgentGroup is
// the one above, which has all of the node.
func Groups(cgroup string) map[string]string {
	paths := make(map[string]string)
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = strings.TrimSuffix(parts[2], "/"+AgentGroup)
		}
	}
	return paths
}

// Below makes a group's path relative to the part of the hierarchy that is
// mounted, with a slash before it; "/" where it lies outside. In a container the mounted
// part is often the group itself.
func Below(mounted, group string) string {
	rel, err := filepath.Rel(mounted, group)
	if err != nil || !filepath.IsLocal(rel) {
		return "/"
	}
	return path.Join("/", rel)
}
