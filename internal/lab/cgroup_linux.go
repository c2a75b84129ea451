package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/unit"
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

func findGroups(id string) (groups, error) {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
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
	err := fmt.Errorf("%w: no writable cgroup hierarchy has the controllers cpu, memory and io (v2) or blkio (v1)", model.ErrUnavailable)
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
		return fmt.Errorf("the group's type is %q instead of domain", k)
	}
	pids, err := readPids(filepath.Join(dir, "cgroup.procs"))
	if err == nil && len(pids) > 0 {
		err = errors.New("the group contains processes, so its subgroups cannot have limits")
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

func writeGroup(dir, file, value string) error {
	// Not created: a file that is not there is a controller that is not there.
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("setting a limit: %w", err)
	}
	_, err = f.WriteString(value)
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("setting a limit: %q to %s: %w", value, f.Name(), err)
	}
	return nil
}

// dir is a directory of the lab in the hierarchy of a controller of v1, or in
// the one of v2.
func (g groups) dir(controller string, below ...string) string {
	root := cmp.Or(g.v2, g.v1[controller])
	return filepath.Join(append([]string{root, groupRoot, g.id}, below...)...)
}

// host returns the directories in which a host's processes are. With v1, limits
// of devices do not reach groups below, so there all are in the lab's own.
func (g groups) host(name model.NodeID) []string {
	var dirs []string
	for _, d := range g.lab() {
		if g.v2 != "" || d != g.dir(blkioV1) {
			d = filepath.Join(d, string(name))
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// lab returns the lab's own directories, one in each hierarchy. Controllers that
// are mounted together have one.
func (g groups) lab() []string {
	if g.v2 != "" {
		return []string{g.dir("")}
	}
	var dirs []string
	for c := range g.v1 {
		dirs = append(dirs, g.dir(c))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// all lists every directory of a lab with these hosts, parents first.
func (g groups) all(hosts []HostRecord) []string {
	dirs := g.lab()
	for _, h := range hosts {
		dirs = append(dirs, g.host(h.Name)...)
	}
	slices.Sort(dirs) // a parent is the beginning of its children
	return slices.Compact(dirs)
}

// make makes the lab's groups, parents first, so that processes can be put
// into them at once.
func (g groups) make(dirs []string) error {
	for _, d := range dirs {
		// Another lab's removal takes the common directory away when it is
		// empty, perhaps just now.
		err := g.makeOne(d)
		for try := 0; try < 10 && errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(d)) == groupRoot; try++ {
			err = g.makeOne(d)
		}
		if err != nil {
			return fmt.Errorf("making cgroup %s: %w", d, err)
		}
	}
	return nil
}

// makeOne makes a group and the one above it. With v2, first everything above
// it passes its controllers on; the group itself cannot yet, for it may get
// processes.
func (g groups) makeOne(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if g.v2 != "" {
		if err := errors.Join(enable(g.v2), enable(parent)); err != nil {
			return err
		}
	}
	return os.Mkdir(dir, 0o755)
}

// period of the CPU quota in microseconds: the kernel's default. Shorter ones
// make a host's progress smoother, but of each some is lost to what a
// processor has fetched for itself and not used.
const period = 100_000

// limit sets how many cores and how much memory a host may use. It allows no
// swap: a host that swaps would put its load on the machine's disk.
func (g groups) limit(h Host) error {
	cpu, memory := g.dir(cpuV1, string(h.Name)), g.dir(memoryV1, string(h.Name))
	quota := strconv.FormatInt(int64(math.Round(h.CPU*period)), 10)
	bytes := strconv.FormatInt(h.Memory.Bytes(), 10)
	var errs []error
	switch {
	case h.CPU <= 0:
	case g.v2 != "":
		errs = append(errs, writeGroup(cpu, "cpu.max", quota+" "+strconv.Itoa(period)))
	default:
		errs = append(errs,
			writeGroup(cpu, "cpu.cfs_period_us", strconv.Itoa(period)),
			writeGroup(cpu, "cpu.cfs_quota_us", quota))
	}
	switch {
	case h.Memory <= 0:
	case g.v2 != "":
		errs = append(errs,
			writeGroup(memory, "memory.max", bytes),
			optional(writeGroup(memory, "memory.swap.max", "0")))
	default:
		errs = append(errs,
			writeGroup(memory, "memory.limit_in_bytes", bytes),
			optional(writeGroup(memory, "memory.memsw.limit_in_bytes", bytes)))
	}
	return errors.Join(errs...)
}

// perCore is what a group has in shares (v1) for each core that it is to use: what the
// kernel gives each group, whatever is in it.
const perCore = 1024

// weigh gives the lab's group, among those beside it, the weight of the cores that its
// hosts may use: or on a busy machine they would get less than their limits together, as
// a single program does. In it, each host has the weight of its own.
func (g groups) weigh(hosts []HostRecord, processors int) error {
	sum := 0.0
	for _, h := range hosts {
		shares := perCore * cmp.Or(h.CPU, float64(processors))
		if err := g.setShares(g.dir(cpuV1, string(h.Name)), shares); err != nil {
			return err
		}
		sum += shares
	}
	own := g.dir(cpuV1)
	if err := g.setShares(own, max(sum, perCore)); err != nil { // a small lab is a program as others are
		return err
	}
	return g.balance(filepath.Dir(own))
}

// balance gives the group of all labs the weights of those that are there. It holds a
// lock on the group: labs come and go side by side.
func (g groups) balance(common string) error {
	lock, err := os.Open(common)
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // nothing was written; the lock goes with it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", common, err)
	}
	all, err := filepath.Glob(filepath.Join(common, "*"))
	if err != nil {
		return err
	}
	sum := 0.0
	for _, dir := range all {
		sum += g.shares(dir)
	}
	return g.setShares(common, max(sum, perCore))
}

// The kernel's bounds of cpu.shares (v1), and of cpu.weight (v2), of which 100 is what
// 1024 shares are.
const (
	leastShares, mostShares = 2, 1 << 18
	leastWeight, mostWeight = 1, 10_000
	perShare                = 100.0 / perCore
)

func (g groups) setShares(dir string, shares float64) error {
	if g.v2 != "" {
		return writeGroup(dir, "cpu.weight", strconv.Itoa(int(min(max(shares*perShare, leastWeight), mostWeight))))
	}
	return writeGroup(dir, "cpu.shares", strconv.Itoa(int(min(max(shares, leastShares), mostShares))))
}

// shares is what a group has; 0: it is none, or gone.
func (g groups) shares(dir string) float64 {
	file, per := "cpu.shares", 1.0
	if g.v2 != "" {
		file, per = "cpu.weight", perShare
	}
	text, _ := os.ReadFile(filepath.Join(dir, file))
	n, _ := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return n / per
}

// optional drops the error for a file that a kernel without swap accounting
// does not have.
func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// limitDevice sets the limits of a volume's device, "major:minor", for the
// whole lab.
func (g groups) limitDevice(device string, v Volume) error {
	var bytes int64
	if v.Bandwidth != (unit.Rate{}) {
		rate, err := v.Bandwidth.BytesPerSecond()
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		bytes = int64(math.Round(rate))
	}
	if g.v2 != "" {
		return writeGroup(g.dir(""), "io.max", ioMax(device, v.IOPS, bytes))
	}
	return throttle(g.dir(blkioV1), device, v.IOPS, bytes)
}

// throttle limits reads and writes of a device each, with v1. 0 takes a limit
// away.
func throttle(dir, device string, iops int, bytes int64) error {
	var errs []error
	for _, way := range []string{"read", "write"} {
		errs = append(errs,
			writeGroup(dir, "blkio.throttle."+way+"_iops_device", fmt.Sprintf("%s %d", device, iops)),
			writeGroup(dir, "blkio.throttle."+way+"_bps_device", fmt.Sprintf("%s %d", device, bytes)))
	}
	return errors.Join(errs...)
}

// ioMax is a line of io.max. 0 means no limit.
func ioMax(device string, iops int, bytes int64) string {
	text := func(n int64) string {
		if n == 0 {
			return "max"
		}
		return strconv.FormatInt(n, 10)
	}
	ops, bps := text(int64(iops)), text(bytes)
	return fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, bps, bps, ops, ops)
}

// unlimit takes away, in one group, whatever would make the end of its
// processes slow: writes that wait for their turn cannot be killed. It is
// called while a lab is removed, for whatever is there, so errors do not
// matter.
func unlimit(dir string, devices []string) {
	_ = writeGroup(dir, "cpu.cfs_quota_us", "-1")
	_ = writeGroup(dir, "cpu.max", "max")
	for _, d := range devices {
		_ = writeGroup(dir, "io.max", ioMax(d, 0, 0))
		_ = throttle(dir, d, 0, 0)
	}
}
