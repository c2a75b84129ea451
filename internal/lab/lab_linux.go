package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// Lab is a lab that is up. Its methods are safe for concurrent use.
type Lab struct {
	manifest Manifest
	log      *slog.Logger
	ended    func(model.NodeID, error)

	services sync.WaitGroup // the goroutines that wait for services to end
	down     chan struct{}  // closed when Down begins
	once     sync.Once
}

// Open returns a lab that another process built and keeps, to start programs
// in it or to remove it; model.ErrNotFound if there is none. An empty stateDir
// is DefaultStateDir.
func Open(stateDir, id string) (*Lab, error) {
	if stateDir == "" {
		stateDir = DefaultStateDir
	}
	if err := CheckID(id); err != nil {
		return nil, err
	}
	m, err := load(stateDir, id)
	if err != nil {
		return nil, err
	}
	return newLab(m, Config{}.withDefaults()), nil
}

// newLab returns a lab without anything in it.
func newLab(m Manifest, cfg Config) *Lab {
	return &Lab{manifest: m, log: cfg.Log, ended: cfg.Ended, down: make(chan struct{})}
}

// ID is the lab's name.
func (l *Lab) ID() string { return l.manifest.ID }

// Manifest returns what the lab is made of. The caller must not change it.
func (l *Lab) Manifest() Manifest { return l.manifest }

// Hosts returns the lab's hosts: nodes, then services.
func (l *Lab) Hosts() []Host {
	hosts := make([]Host, len(l.manifest.Hosts))
	for i, r := range l.manifest.Hosts {
		hosts[i] = r.Host
	}
	return hosts
}

// host finds a host by name.
func (l *Lab) host(name model.NodeID) (HostRecord, error) {
	for _, r := range l.manifest.Hosts {
		if r.Name == name {
			return r, nil
		}
	}
	return HostRecord{}, fmt.Errorf("lab %s has no host %s: %w", l.ID(), name, model.ErrNotFound)
}

// Namespace is the name of the host's network namespace, for `ip netns exec`;
// empty if there is no such host.
func (l *Lab) Namespace(host model.NodeID) string {
	r, _ := l.host(host) // the zero record has no name
	return r.Namespace.Name
}

// Volumes returns the paths of the host's volumes by name: a mount point, a
// block device, or a folder. Nil if it has none.
func (l *Lab) Volumes(host model.NodeID) map[string]string {
	r, _ := l.host(host) // the zero record has none
	return r.Paths
}

// SetLink takes the host's link up or down, as if its cable were plugged or
// pulled. Addresses and routes of the host stay.
func (l *Lab) SetLink(host model.NodeID, up bool) error {
	r, err := l.host(host)
	if err != nil {
		return err
	}
	if err := setLink(l.manifest, r.Port, up); err != nil {
		return fmt.Errorf("link of host %s: %w", host, err)
	}
	return nil
}

// Dial connects from a host to a TCP address of the lab: "10.213.0.1:80".
// Names are not looked up.
func (l *Lab) Dial(ctx context.Context, host model.NodeID, address string) (conn net.Conn, err error) {
	r, err := l.host(host)
	if err != nil {
		return nil, err
	}
	err = r.Namespace.inside(func() error {
		conn, err = dialHere(ctx, address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connecting from host %s: %w", host, err)
	}
	return conn, nil
}

// Down ends all processes of the lab and removes everything that it is made
// of. It goes on after errors and returns all of them; what is left then, the
// next Sweep or Remove tries again. Down may be called more than once.
func (l *Lab) Down(ctx context.Context) error {
	l.once.Do(func() { close(l.down) })
	err := Remove(ctx, l.manifest)
	if err != nil {
		l.log.Warn(notRemoved, "lab", l.ID(), "error", err)
		return err
	}
	l.services.Wait() // their processes are dead
	l.log.Info("lab removed", "lab", l.ID())
	return nil
}

// notRemoved is what the log says about a lab of which something is left. The
// next Sweep or Remove tries again.
const notRemoved = "lab could not be removed completely"

// Up builds a lab, starts its services and waits until they accept
// connections. When it fails, or ctx ends before that, whatever was made is
// removed. Afterwards ctx is of no matter: the lab stands until Down, or until
// its owner is dead and somebody sweeps.
func Up(ctx context.Context, cfg Config) (*Lab, error) {
	cfg = cfg.withDefaults()
	m, g, err := plan(cfg)
	if err != nil {
		return nil, fmt.Errorf("building lab %s: %w", cfg.ID, err)
	}
	if err := claim(m); err != nil {
		return nil, fmt.Errorf("building lab %s: %w", cfg.ID, err)
	}
	b := &builder{Lab: newLab(m, cfg), groups: g, cfg: cfg}
	if err := b.build(ctx); err != nil {
		// Also when ctx is over: that is when it matters.
		err = errors.Join(err, b.Down(context.WithoutCancel(ctx)))
		return nil, fmt.Errorf("building lab %s: %w", cfg.ID, err)
	}
	return b.Lab, nil
}

// inOrder returns what must be called one after the other, as long as there is
// no error and ctx is not over. Each step that is done is logged.
func inOrder(ctx context.Context, log *slog.Logger, steps []step) error {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		log.Debug("lab step done", "step", s.name)
	}
	return nil
}

// step is a part of building a lab.
type step struct {
	name string // "making volumes"
	do   func(context.Context) error
}
