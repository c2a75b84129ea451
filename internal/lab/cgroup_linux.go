package lab

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
)

// controllersV1 are the controllers of version 1 that a lab uses. cpuacct limits nothing,
// but a monitor reads there what a host has used. controllersV2 are the same of version 2.
var (
	controllersV1 = []string{"cpu", "cpuacct", "memory", "blkio"}
	controllersV2 = []string{"cpu", "memory", "io"}
)

// groups knows where the control groups of one lab are: below this group.
type groups struct {
	cgroup.Group
	id string
}

func findGroups(id string) (groups, error) {
	v1, v2, err := cgroup.Own(controllersV1...)
	if err != nil {
		return groups{}, err
	}
	return choose(id, v1, v2)
}

// choose decides between version 1 and 2: version 1 is taken where it has all controllers.
//
// With it, labs stand below the group in which this process is: whatever limits
// that has hold for the lab too. A group of version 2 that has processes cannot have
// groups with limits, so there they stand below the top of what is mounted,
// or, where that is not allowed, below the own group, if it was delegated.
func choose(id string, v1 map[string]string, v2 []cgroup.Mounted) (groups, error) {
	if v1["cpu"] != "" && v1["memory"] != "" && v1["blkio"] != "" {
		return groups{cgroup.Group{V1: v1}, id}, nil
	}
	err := fmt.Errorf("%w: no writable cgroup hierarchy has the controllers cpu, memory and io (v2) or blkio (v1)", model.ErrUnavailable)
	var dirs []string
	for _, m := range v2 {
		dirs = append(dirs, m.Top, m.Own)
	}
	for _, dir := range slices.Compact(dirs) {
		why := cgroup.Usable(dir, controllersV2...)
		if why == nil {
			return groups{cgroup.Group{V2: dir}, id}, nil
		}
		err = fmt.Errorf("%w; %s: %w", err, dir, why)
	}
	return groups{}, err
}

// lacking returns the controllers that a lab has to switch on in a group of version 2
// that is not its own, so that its groups can have limits. They stay on when
// the lab goes: others may have come to use them, and a limit in a group
// disappears without a word when its controller is switched off above it.
func (g groups) lacking() []string {
	if g.V2 == "" {
		return nil
	}
	return cgroup.Lacking(g.V2, controllersV2...)
}

// lab is the lab's own group.
func (g groups) lab() cgroup.Group { return g.Below(groupRoot, g.id) }

// host returns the directories in which a host's processes are. With version 1, limits
// of devices do not reach groups below, so there all are in the lab's own.
func (g groups) host(name model.NodeID) []string {
	own := g.lab()
	dirs := own.Dirs()
	for i, d := range dirs {
		if g.V2 != "" || d != own.Dir("blkio") {
			dirs[i] = filepath.Join(d, string(name))
		}
	}
	return dirs
}

// all lists every directory of a lab with these hosts, parents first.
func (g groups) all(hosts []HostRecord) []string {
	dirs := g.lab().Dirs()
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

// makeOne makes a group and the one above it. With version 2, first everything above
// it passes its controllers on; the group itself cannot yet, for it may get
// processes.
func (g groups) makeOne(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if g.V2 != "" {
		if err := errors.Join(cgroup.Enable(g.V2, controllersV2...), cgroup.Enable(parent, controllersV2...)); err != nil {
			return err
		}
	}
	return os.Mkdir(dir, 0o755)
}

// limit sets how many cores and how much memory a host may use.
func (g groups) limit(h Host) (err error) {
	host := g.lab().Below(string(h.Name))
	if h.CPU > 0 {
		err = host.LimitCPU(h.CPU)
	}
	if h.Memory > 0 {
		err = errors.Join(err, host.LimitMemory(h.Memory.Bytes()))
	}
	return err
}

// weigh gives the lab's group, among those beside it, the weight of the cores that its
// hosts may use: or on a busy machine they would get less than their limits together, as
// a single program does. In it, each host has the weight of its own.
func (g groups) weigh(hosts []HostRecord, processors int) error {
	sum, own := 0.0, g.lab().Dir("cpu")
	for _, h := range hosts {
		shares := cgroup.SharesPerCore * cmp.Or(h.CPU, float64(processors))
		if err := cgroup.SetShares(filepath.Join(own, string(h.Name)), shares); err != nil {
			return err
		}
		sum += shares
	}
	if err := cgroup.SetShares(own, max(sum, cgroup.SharesPerCore)); err != nil { // a small lab is a program as others are
		return err
	}
	return balance(filepath.Dir(own))
}

// balance gives the group of all labs the weights of those that are there. It holds a
// lock on the group: labs come and go side by side.
func balance(common string) error {
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
		sum += cgroup.Shares(dir)
	}
	return cgroup.SetShares(common, max(sum, cgroup.SharesPerCore))
}

// limitDevice sets the limits of a volume's device, "major:minor", for the
// whole lab.
func (g groups) limitDevice(device string, level model.VolumeLevel) error {
	return g.lab().LimitDevice(device, level.IOPS, int64(level.Bandwidth))
}

// limitsOf are the limits of one way of a device, "read" or "write", as the kernel has them.
func (g groups) limitsOf(device, way string) model.VolumeLevel {
	own := g.lab()
	ops, bytes := own.DeviceLimit(device, way, "iops"), own.DeviceLimit(device, way, "bps")
	return model.VolumeLevel{IOPS: int(ops), Bandwidth: float64(bytes)}
}
