package service

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
)

// What a quota can be.
const (
	minCores = 0.01
	maxCores = 1024
	period   = 100_000 // microseconds: the kernel's default
)

// groupPrefix is what the names of the control groups of services begin with.
const groupPrefix = "scalebench-"

// group is a control group of a service. The methods of a nil one do nothing.
type group struct {
	hierarchy
	name string
}

// nodeGroup are the folders of the group in which this process is; nil: it has none.
func nodeGroup() []string {
	h, err := ownHierarchy()
	if err != nil {
		return nil
	}
	return h.dirs("")
}

func newGroup(name string) (*group, error) {
	h, err := ownHierarchy()
	if err != nil {
		return nil, err
	}
	g := &group{h, groupPrefix + name}
	for _, dir := range g.Dirs() {
		if err := os.Mkdir(dir, 0o755); err != nil {
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

// Dirs are its folders, one in each hierarchy.
func (g *group) Dirs() []string {
	if g == nil {
		return nil
	}
	return g.dirs(g.name)
}

// file is a file of the group: in the hierarchy of a controller of v1, or under
// its name of v2.
func (g *group) file(controller, v1, v2 string) string {
	if g.v2 != "" {
		return filepath.Join(g.v2, g.name, v2)
	}
	return filepath.Join(g.v1[controller], g.name, v1)
}

// control lets groups below that of the node have limits: of memory, too, which some
// kernels do not have, where that is needed.
func (g *group) control(memory bool) error {
	if g.v2 == "" {
		return nil
	}
	err := g.passOn("+cpu +memory")
	if err != nil && !memory {
		err = g.passOn("+cpu")
	}
	return err
}

// allows fails where the node does not have so many cores, or so much memory in bytes:
// by its own limits, by those above them, or because the machine has less.
func (g *group) allows(cores float64, memory int64) error {
	has, room := float64(runtime.NumCPU()), memoryOfMachine()
	for dir := range upwards(cmp.Or(g.v2, g.v1["cpu"])) {
		if quota := quotaOf(dir); quota > 0 {
			has = min(has, quota)
		}
	}
	for dir := range upwards(cmp.Or(g.v2, g.v1["memory"])) {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if limit, err := strconv.ParseInt(readGroup(filepath.Join(dir, file)), 10, 64); err == nil && limit > 0 {
				room = min(room, limit)
			}
		}
	}
	switch {
	case cores > has+1e-9:
		return fmt.Errorf("it is to have %v cores, and its node has %v: give the node more (cpu of its group in a lab), or the service less", cores, has)
	case memory > room:
		return fmt.Errorf("it is to have %s of memory, and its node has %s: give the node more (memory of its group in a lab), or the service less", unit.Size(memory), num.Bytes(room))
	}
	return nil
}

// upwards are a folder and those above it. What is above the control groups has no
// limits: in a container they begin where they are mounted.
func upwards(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; dir != "" && yield(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		}
	}
}

// memoryOfMachine is in bytes.
func memoryOfMachine() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt64
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// quotaOf is the limit of a group in cores, 0 for none.
func quotaOf(dir string) float64 {
	q, p := readGroup(filepath.Join(dir, "cpu.cfs_quota_us")), readGroup(filepath.Join(dir, "cpu.cfs_period_us"))
	if q == "" {
		q, p, _ = strings.Cut(readGroup(filepath.Join(dir, "cpu.max")), " ")
	}
	quota, err1 := strconv.ParseFloat(q, 64)
	per, err2 := strconv.ParseFloat(p, 64)
	if err1 != nil || err2 != nil || quota <= 0 || per <= 0 {
		return 0
	}
	return quota / per
}

func (g *group) setCPU(cores float64) error {
	quota := strconv.FormatInt(int64(math.Round(cores*period)), 10)
	if g.v2 != "" {
		return writeGroup(g.file("cpu", "", "cpu.max"), quota+" "+strconv.Itoa(period))
	}
	return cmp.Or(
		writeGroup(g.file("cpu", "cpu.cfs_period_us", ""), strconv.Itoa(period)),
		writeGroup(g.file("cpu", "cpu.cfs_quota_us", ""), quota))
}

// setMemory allows no swap: what swaps would put its load on the disk.
func (g *group) setMemory(bytes int64) error {
	if err := writeGroup(g.file("memory", "memory.limit_in_bytes", "memory.max"), strconv.FormatInt(bytes, 10)); err != nil {
		return err
	}
	swap, value := g.file("memory", "memory.memsw.limit_in_bytes", "memory.swap.max"), "0"
	if g.v2 == "" {
		value = strconv.FormatInt(bytes, 10)
	}
	if err := writeGroup(swap, value); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // a kernel without accounting of swap does not have it
	}
	return nil
}

// oomKills is how many of its processes the kernel has killed for its limit.
func (g *group) oomKills() int {
	if g == nil {
		return 0
	}
	for line := range strings.Lines(readGroup(g.file("memory", "memory.oom_control", "memory.events"))) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			kills, _ := strconv.Atoi(strings.TrimSpace(n)) // 0: unknown
			return kills
		}
	}
	return 0
}

// start starts a command in the group from its first instruction on.
func (g *group) start(cmd *exec.Cmd) error {
	switch {
	case g == nil:
		return cmd.Start()
	case g.v2 != "":
		dir, err := os.Open(g.Dirs()[0])
		if err != nil {
			return err
		}
		defer dir.Close() //nolint:errcheck // only looked at
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		return cmd.Start()
	}
	// A child inherits the groups of the thread that starts it.
	return onThread(func() error {
		for _, dir := range g.Dirs() {
			if err := writeGroup(filepath.Join(dir, "tasks"), strconv.Itoa(unix.Gettid())); err != nil {
				return err
			}
		}
		return cmd.Start()
	})
}

// onThread runs f on a thread of its own that ends with f, so that nothing else
// runs in the groups that it is put into.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // which the runtime cannot end
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f() // and the thread ends, because it is still locked
	}()
	return <-done
}

// awaitExit returns when a child has ended; its id stays taken until Wait.
func awaitExit(pid int) error { return procself.AwaitExit(pid) }

// tree are the folders of the group and of those that the service made below it,
// children first.
func (g *group) tree() (all []string) {
	for _, top := range g.Dirs() {
		// What cannot be read is not there any more.
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
	}
	slices.Reverse(all) // a parent comes before its children
	return all
}

// kill kills what is in the group, and in those below it, until nothing is. With
// version 2 the kernel kills all of it at once (Linux 5.14, cgroup.kill), also what is
// being started; a service's group never has this process in it.
func (g *group) kill(until time.Time) {
	if g != nil && g.v2 != "" {
		_ = writeGroup(g.file("", "", "cgroup.kill"), "1") // without it, one by one
	}
	for _, dir := range g.tree() {
		killIn(filepath.Join(dir, "cgroup.procs"), until)
	}
}

// killIn kills what is in one group. What another PID namespace has put there has
// the id 0 here.
func killIn(procs string, until time.Time) {
	for time.Now().Before(until) {
		in := slices.DeleteFunc(pids(procs), func(pid int) bool { return pid < 2 || pid == os.Getpid() || !alive(pid) })
		if len(in) == 0 {
			return // or only zombies are, which their parent has to wait for
		}
		for _, pid := range in {
			_ = procself.SignalIf(pid, unix.SIGKILL, func() bool { return slices.Contains(pids(procs), pid) })
		}
		procself.AwaitEnd(in[0], 20*time.Millisecond)
	}
}

func alive(pid int) bool {
	p, err := procself.ReadProcess(pid)
	return err == nil && !p.Zombie
}

// remove removes the group, with the processes in it. A group that was just left
// stays busy for a moment.
func (g *group) remove() {
	if g == nil {
		return
	}
	deadline := time.Now().Add(killTime)
	g.kill(deadline)
	for _, dir := range g.tree() {
		for {
			err := os.Remove(dir)
			if err == nil || !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				break // the next task tries again
			}
			reap()
			<-time.After(5 * time.Millisecond)
		}
	}
}

// sweepGroups removes the groups that dead tasks have left on this node.
func sweepGroups(self owner) {
	h, err := ownHierarchy()
	if err != nil {
		return
	}
	for _, dir := range h.dirs("") {
		entries, _ := os.ReadDir(dir) // what cannot be read has none of ours
		for _, e := range entries {
			name, ours := strings.CutPrefix(e.Name(), groupPrefix)
			if ours && e.IsDir() && self.left(name) {
				(&group{h, e.Name()}).remove()
			}
		}
	}
}

func readGroup(file string) string {
	data, _ := os.ReadFile(file) // empty is what is not there
	return strings.TrimSpace(string(data))
}

func writeGroup(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0) // not created: what is not there is no controller
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("setting %s to %q: %w", file, value, err)
	}
	return nil
}

func pids(file string) (out []int) {
	for _, field := range strings.Fields(readGroup(file)) {
		if pid, err := strconv.Atoi(field); err == nil {
			out = append(out, pid)
		}
	}
	return out
}
