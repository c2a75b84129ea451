package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// plan checks the configuration and lists all that the lab will be made of.
// Nothing is made.
func plan(cfg Config) (Manifest, groups, error) {
	if err := errors.Join(CheckID(cfg.ID), cfg.Spec.Validate(), cfg.Spec.ValidateServices(cfg.Services)); err != nil {
		return Manifest{}, groups{}, err
	}
	if err := Check(); err != nil {
		return Manifest{}, groups{}, err
	}
	g, err := findGroups(cfg.ID)
	if err != nil {
		return Manifest{}, groups{}, err
	}
	m, err := cfg.manifest(g)
	if err != nil {
		return Manifest{}, groups{}, err
	}
	// What is there already is not this lab's, and must not go with it.
	if _, err := os.Lstat(m.Dir); !errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, groups{}, errors.Join(fmt.Errorf("%s exists already: choose another id, or remove it", m.Dir), err)
	}
	return m, g, errors.Join(checkTools(m.Volumes), checkRoom(cfg.VolumeDir, m.Volumes))
}

// manifest lists everything by name and path.
func (c Config) manifest(g groups) (Manifest, error) {
	owner := c.Owner
	if owner == (Owner{}) {
		var err error
		if owner, err = Self(); err != nil {
			return Manifest{}, err
		}
	}
	stateDir, err := filepath.Abs(c.StateDir)
	if err != nil {
		return Manifest{}, fmt.Errorf("directory of labs: %w", err)
	}
	// Absolute and without symbolic links, as the kernel will name the files.
	volumeDir, err := realPath(c.VolumeDir)
	if err != nil {
		return Manifest{}, fmt.Errorf("directory for volumes: %w", err)
	}
	m := Manifest{
		Version: manifestVersion, ID: c.ID, Created: time.Now().UTC(), Owner: owner, Keep: c.Keep,
		Path: manifestPath(stateDir, c.ID),
		Dir:  filepath.Join(volumeDir, c.ID),
	}
	m.Switch.Name = m.netns("")
	for i, h := range c.Spec.Hosts(c.Services) {
		m.Hosts = append(m.Hosts, HostRecord{Host: h, Uplink: c.Spec.uplinkOf(h), Namespace: Namespace{Name: m.netns(string(h.Name))}, Port: portName(i), Groups: g.host(h.Name)})
	}
	m.Cgroups, m.Unified = g.all(m.Hosts), g.v2 != ""
	planVolumes(&m, c.Spec)
	return m, m.check()
}

// realPath makes a directory and returns its path without symbolic links.
func realPath(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// builder is a lab on the way up.
type builder struct {
	*Lab
	groups groups
	cfg    Config
	// open holds the namespaces by name while the network is built.
	open map[string]*os.File
}

// build makes what the manifest lists.
func (b *builder) build(ctx context.Context) error {
	defer b.closeNamespaces()
	err := inOrder(ctx, b.log, []step{
		{"making network namespaces", b.namespaces},
		{"naming network namespaces", b.names},
		{"building the network", b.network},
		{"making cgroups", b.cgroups},
		{"making volumes", b.volumes},
		{"starting services", b.startServices},
	})
	if err == nil {
		b.log.Info("lab is up", "lab", b.ID(), "hosts", len(b.manifest.Hosts))
	}
	return err
}

// namespaces makes the namespaces and notes what they are. They have no names
// yet, so if the process ends here, so do they.
func (b *builder) namespaces(context.Context) error {
	b.open = make(map[string]*os.File)
	note := func(n *Namespace) error {
		ns, err := newNamespace()
		if err != nil {
			return err
		}
		b.open[n.Name] = ns
		n.Inode, err = inode(ns)
		return err
	}
	if err := note(&b.manifest.Switch); err != nil {
		return err
	}
	for i := range b.manifest.Hosts {
		if err := note(&b.manifest.Hosts[i].Namespace); err != nil {
			return err
		}
	}
	return save(b.manifest)
}

// names gives the namespaces their names.
func (b *builder) names(context.Context) error {
	for _, n := range b.manifest.namespaces() {
		if err := setName(b.open[n.Name], n.Name); err != nil {
			return err
		}
		b.log.Debug("namespace named", "name", n.Name)
	}
	return nil
}

// closeNamespaces lets go of the namespaces; their names keep them.
func (b *builder) closeNamespaces() {
	for _, ns := range b.open {
		_ = ns.Close() // only looked at
	}
}

// network builds the bridges and links.
func (b *builder) network(context.Context) error {
	return wire(b.manifest, b.cfg.Spec, b.open)
}

// cgroups makes the groups and sets the limits of the hosts.
func (b *builder) cgroups(context.Context) error {
	if added := b.groups.lacking(); len(added) > 0 {
		b.log.Info("switching cgroup controllers on, which scalebench never switches off again", "cgroup", b.groups.v2, "controllers", added)
	}
	if err := b.groups.make(b.manifest.Cgroups); err != nil {
		return err
	}
	for _, r := range b.manifest.Hosts {
		if err := b.groups.limit(r.Host); err != nil {
			return fmt.Errorf("host %s: %w", r.Name, err)
		}
	}
	return nil
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
		if err := makeVolume(ctx, r); err != nil {
			return fmt.Errorf("volume %s: %w", r.Name, err)
		}
		if err := b.limitVolume(*r); err != nil {
			return fmt.Errorf("volume %s: %w", r.Name, err)
		}
		b.tell(*r)
		b.log.Debug("volume made", "volume", r.Name, "path", r.path())
	}
	return save(b.manifest)
}

// limitVolume sets the limits of a volume's device. They do not hold for this
// process, so making the file system was not slowed by them.
func (b *builder) limitVolume(r VolumeRecord) error {
	if r.Device == "" || (r.IOPS == 0 && r.Bandwidth.Value == 0) {
		return nil
	}
	all, err := loops()
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.backing == r.Backing {
			return b.groups.limitDevice(l.number, r.Volume)
		}
	}
	return fmt.Errorf("its device %s is not attached to %s any more", r.Device, r.Backing)
}

// tell notes the volume's path at its hosts.
func (b *builder) tell(r VolumeRecord) {
	for i := range b.manifest.Hosts {
		h := &b.manifest.Hosts[i]
		for _, user := range r.Hosts {
			if user != string(h.Name) {
				continue
			}
			if h.Paths == nil {
				h.Paths = make(map[string]string)
			}
			h.Paths[r.Name] = r.path()
		}
	}
}
