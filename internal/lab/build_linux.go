package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Check returns nil when this process may build labs. Otherwise it returns one
// error that lists everything that is missing, and how to go on; it is
// model.ErrDenied when rights are missing, and model.ErrUnavailable when the
// machine lacks what is needed. Nothing is changed: the network is tried in a
// namespace without a name, which ends with the try, and for cgroups and loop
// devices it only looks and asks.
func Check() error {
	var missing []string
	denied := false
	for _, probe := range []struct {
		what string
		try  func() error
	}{
		{"network namespaces, bridges and veth pairs (root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)", probeNetwork},
		{"writable cgroups with cpu, memory and io (v2) or blkio (v1)", probeCgroups},
		{"loop devices", func() error { _, err := freeLoop(); return err }},
	} {
		if err := probe.try(); err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", probe.what, err))
			denied = denied || errors.Is(err, fs.ErrPermission)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	kind := model.ErrUnavailable
	if denied {
		kind = model.ErrDenied
	}
	return fmt.Errorf("no lab is possible here: %w; missing: %s; run as root on a machine that has them, or use processes instead of hosts (fleet: local)",
		kind, strings.Join(missing, "; "))
}

// probeNetwork makes a bridge and a shaped link in a namespace without a name.
func probeNetwork() error {
	return inProbe(func(f *fabric) error {
		if err := f.LinkAdd(&netlink.Veth{LinkAttrs: attrs("a"), PeerName: "b"}); err != nil {
			return fmt.Errorf("making a veth pair: %w", err)
		}
		return f.port("a", f.core, Limits{Link: unit.Rate{Value: 1e6, Base: unit.Bits}})
	})
}

// inProbe tries something with a bridge in a namespace without a name, which ends with it.
func inProbe(try func(f *fabric) error) error {
	ns, err := newNamespace()
	if err != nil {
		return err
	}
	defer ns.Close() //nolint:errcheck // and with it everything in it ends
	f, err := openFabric(ns)
	if err != nil {
		return err
	}
	defer f.Close()
	return try(f)
}

// CheckDelay fails if links are to have delay, and this machine's kernel cannot delay:
// that is tried in a namespace without a name. Without the right to try, it says nothing.
func CheckDelay(spec Spec, services []Service) error {
	if !slices.ContainsFunc(spec.Hosts(services), func(h Host) bool { return h.Delay > 0 }) {
		return nil
	}
	err := inProbe(func(f *fabric) error {
		return shape(f.Handle, f.core, Limits{Delay: unit.Duration(time.Millisecond)})
	})
	if err == nil || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return fmt.Errorf("%w: this kernel has no netem (module sch_netem), which delays links: leave delay out, or load the module (modprobe sch_netem): %w", model.ErrUnavailable, err)
}

// probeCgroups asks whether groups can be made in each hierarchy.
func probeCgroups() error {
	g, err := findGroups("probe")
	if err != nil && unix.Geteuid() != 0 {
		err = errors.Join(fs.ErrPermission, err)
	}
	for _, dir := range g.V1 {
		err = cmp.Or(err, cgroup.MayWrite(dir))
	}
	return err
}

// Up builds a lab, starts its services and waits until they accept
// connections. When it fails, or ctx ends before that, whatever was made is
// removed. Afterwards ctx does not matter: the lab stands until Down, or until
// its owner is dead and a Sweep finds it.
func Up(ctx context.Context, cfg Config) (*Lab, error) {
	cfg = cfg.withDefaults()
	m, g, err := plan(cfg)
	if err == nil {
		err = claim(m)
	}
	if err != nil {
		return nil, fmt.Errorf("building lab %s: %w", cfg.ID, err)
	}
	b := &builder{Lab: newLab(m, cfg), groups: g, cfg: cfg}
	err = b.build(ctx)
	if err == nil && cfg.Keep {
		// Only now: half a lab, whose builder was killed, is kept by nobody.
		b.manifest.Keep = true
		err = errors.Join(keepCopy(b.manifest), save(b.manifest))
	}
	if err != nil {
		// Also when ctx is over: that is when it matters.
		err = errors.Join(err, b.Down(context.WithoutCancel(ctx)))
		return nil, fmt.Errorf("building lab %s: %w", cfg.ID, err)
	}
	return b.Lab, nil
}

// plan checks the configuration and lists all that the lab will be made of.
// Nothing is made.
func plan(cfg Config) (m Manifest, g groups, err error) {
	err = errors.Join(CheckID(cfg.ID), cfg.Spec.Validate(), cfg.Spec.ValidateServices(cfg.Services))
	if err == nil {
		err = errors.Join(Check(), CheckDelay(cfg.Spec, cfg.Services))
	}
	if err == nil {
		g, err = findGroups(cfg.ID)
	}
	if err == nil {
		m, err = cfg.manifest(g)
	}
	if err != nil {
		return m, g, err
	}
	// What is there already is not this lab's, and must not go with it.
	if _, err := os.Lstat(m.Dir); !errors.Is(err, fs.ErrNotExist) {
		return m, g, errors.Join(fmt.Errorf("%s already exists: choose another id, or remove it", m.Dir), err)
	}
	return m, g, errors.Join(checkTools(m.Volumes), checkRoom(cfg.VolumeDir, m.Volumes))
}

func (c Config) manifest(g groups) (Manifest, error) {
	self, err1 := Self()
	owner := cmp.Or(c.Owner, self)
	stateDir, err2 := filepath.Abs(c.StateDir)
	volumeDir, err3 := filepath.Abs(c.VolumeDir)
	err := cmp.Or(err1, err2, err3, os.MkdirAll(volumeDir, 0o755))
	if err == nil { // without symbolic links, as the kernel will name the files
		volumeDir, err = filepath.EvalSymlinks(volumeDir)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("directories of labs and volumes: %w", err)
	}
	m := Manifest{
		Version: manifestVersion, ID: c.ID, Created: time.Now().UTC(), Owner: owner,
		Path: manifestPath(stateDir, c.ID),
		Dir:  filepath.Join(volumeDir, c.ID),
	}
	m.Switch.Name = m.netns("")
	for i, h := range c.Spec.Hosts(c.Services) {
		m.Hosts = append(m.Hosts, HostRecord{
			Host: h, Uplink: c.Spec.UplinkOf(h), Namespace: Namespace{Name: m.netns(string(h.Name))},
			Port: fmt.Sprintf("port%d", i), Groups: g.host(h.Name),
		})
	}
	m.Cgroups, m.Unified = g.all(m.Hosts), g.V2 != ""
	planVolumes(&m, c.Spec)
	return m, m.check()
}

// builder is a lab on the way up.
type builder struct {
	*Lab
	groups groups
	cfg    Config
	// open holds the namespaces by name while the network is built.
	open map[string]*os.File
}

func (b *builder) build(ctx context.Context) error {
	defer func() {
		for _, ns := range b.open {
			_ = ns.Close() // their names keep the namespaces
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"making network namespaces", b.namespaces},
		{"naming network namespaces", b.names},
		{"building the network", func(context.Context) error { return wire(b.manifest, b.cfg.Spec, b.open) }},
		{"making cgroups", b.cgroups},
		{"making volumes", b.volumes},
		{"starting services", b.startServices},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		b.log.Debug("lab step done", "step", step.name)
	}
	b.log.Info("lab is up", "lab", b.ID(), "hosts", len(b.manifest.Hosts))
	return nil
}

// namespaces makes the namespaces and notes what they are. They have no names
// yet, so if the process ends here, so do they.
func (b *builder) namespaces(context.Context) error {
	b.open = make(map[string]*os.File)
	all := []*Namespace{&b.manifest.Switch}
	for i := range b.manifest.Hosts {
		all = append(all, &b.manifest.Hosts[i].Namespace)
	}
	for _, n := range all {
		ns, err := newNamespace()
		if err != nil {
			return err
		}
		b.open[n.Name] = ns
		if n.Inode, err = inode(ns); err != nil {
			return err
		}
	}
	return save(b.manifest)
}

func (b *builder) names(context.Context) error {
	for _, n := range b.manifest.namespaces() {
		if err := setName(b.open[n.Name], n.Name); err != nil {
			return err
		}
		b.log.Debug("namespace named", "name", n.Name)
	}
	return nil
}

func (b *builder) cgroups(context.Context) error {
	if added := b.groups.lacking(); len(added) > 0 {
		b.log.Info("enabling cgroup controllers; scalebench does not disable them again", "cgroup", b.groups.V2, "controllers", added)
	}
	if err := b.groups.make(b.manifest.Cgroups); err != nil {
		return err
	}
	for _, r := range b.manifest.Hosts {
		if err := b.groups.limit(r.Host); err != nil {
			return fmt.Errorf("host %s: %w", r.Name, err)
		}
	}
	return b.groups.weigh(b.manifest.Hosts, runtime.NumCPU())
}

// volumes makes the lab's directory and volumes, sets the limits of their
// devices, and tells the hosts where they are.
func (b *builder) volumes(ctx context.Context) error {
	if err := os.Mkdir(b.manifest.Dir, 0o755); err != nil {
		return err
	}
	if err := keepCopy(b.manifest); err != nil {
		return err
	}
	for i := range b.manifest.Volumes {
		r := &b.manifest.Volumes[i]
		err := makeVolume(ctx, r)
		if err == nil {
			err = b.limitVolume(*r)
		}
		if err != nil {
			return fmt.Errorf("volume %s: %w", r.Name, err)
		}
		for i := range b.manifest.Hosts {
			if h := &b.manifest.Hosts[i]; slices.Contains(r.Hosts, string(h.Name)) {
				h.Paths = merged(h.Paths, map[string]string{r.Name: r.path()})
			}
		}
		b.log.Debug("volume made", "volume", r.Name, "path", r.path())
	}
	return save(b.manifest)
}

// limitVolume sets the limits of a volume's device. They do not hold for this
// process, so making the file system was not slowed by them.
func (b *builder) limitVolume(r VolumeRecord) error {
	if r.Level() == (model.VolumeLevel{}) {
		return nil
	}
	l, err := r.loop()
	if err == nil {
		err = l.split(splitKiB)
	}
	if err != nil {
		return err
	}
	return b.groups.limitDevice(l.number, r.Level())
}
