package lab

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/model"
)

// Lab is a lab that is up. Its methods are safe for concurrent use.
type Lab struct {
	manifest Manifest
	log      *slog.Logger
	ended    func(error)

	services sync.WaitGroup // the goroutines that wait for services to end
	took     time.Duration  // to start the services
	up       context.Context
	fall     context.CancelFunc // ends up, when Down begins
}

// Open returns a lab that another process built and keeps, to start programs
// in it or to remove it; model.ErrNotFound if it does not exist. An empty
// stateDir is DefaultStateDir.
func Open(stateDir, id string) (*Lab, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	cfg := Config{StateDir: stateDir}.withDefaults()
	m, err := load(cfg.StateDir, id)
	if err != nil {
		return nil, err
	}
	return newLab(m, cfg), nil
}

func newLab(m Manifest, cfg Config) *Lab {
	l := &Lab{manifest: m, log: cfg.Log, ended: cfg.Ended}
	l.up, l.fall = context.WithCancel(context.Background())
	return l
}

// ID is the lab's name.
func (l *Lab) ID() string { return l.manifest.ID }

// ServicesTook returns how long the services took to accept connections, while
// the lab was built.
func (l *Lab) ServicesTook() time.Duration { return l.took }

// Manifest returns what the lab is made of. The caller must not change it.
func (l *Lab) Manifest() Manifest { return l.manifest }

func (l *Lab) host(name model.NodeID) (HostRecord, error) {
	if i := slices.IndexFunc(l.manifest.Hosts, func(r HostRecord) bool { return r.Name == name }); i >= 0 {
		return l.manifest.Hosts[i], nil
	}
	return HostRecord{}, fmt.Errorf("lab %s has no host %s: %w", l.ID(), name, model.ErrNotFound)
}

// Volumes returns the paths of the host's volumes by name: a mount point, a
// block device, or a folder. Nil if it has none.
func (l *Lab) Volumes(host model.NodeID) map[string]string {
	r, _ := l.host(host) // the zero record has none
	return r.Paths
}

// Dial connects from a host to a TCP address of the lab: "10.213.0.1:80".
// Names are not looked up.
func (l *Lab) Dial(ctx context.Context, host model.NodeID, address string) (conn net.Conn, err error) {
	r, err := l.host(host)
	if err != nil {
		return nil, err
	}
	err = r.Namespace.inside(func() error {
		// Only for a literal address is the socket made in this goroutine, and
		// so on this thread: names are looked up, and tried, in others.
		if _, err := netip.ParseAddrPort(address); err != nil {
			return &model.InputError{Problem: fmt.Sprintf("%q must be an IP address and a port", address)}
		}
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connecting from host %s: %w", host, err)
	}
	return conn, nil
}

// Start starts a program on a host: in its network namespace and its cgroups
// from the first instruction on. The program has a process group of its own,
// which is killed when ctx ends. The caller must Wait for it, once.
func (l *Lab) Start(ctx context.Context, host model.NodeID, p Process) (*exec.Cmd, error) {
	r, err := l.host(host)
	if err != nil {
		return nil, err
	}
	if len(p.Args) == 0 {
		return nil, &model.InputError{Problem: fmt.Sprintf("no program was given to start on host %s", host)}
	}
	cmd := p.command(ctx)
	if err := r.Namespace.inside(func() error { return cgroup.Start(r.Groups, cmd) }); err != nil {
		return nil, fmt.Errorf("starting %s on host %s: %w", p.Args[0], host, err)
	}
	return cmd, nil
}

func (p Process) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env, cmd.Dir = p.Environ, p.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.Foreground}
	cmd.Cancel = func() error {
		if p.Foreground {
			return cmd.Process.Kill()
		}
		return unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	return cmd
}

// Down ends all processes of the lab and removes everything that it is made
// of. It goes on after errors and returns all of them; what is left then, the
// next Sweep or Remove tries again. Down may be called more than once.
func (l *Lab) Down(ctx context.Context) error {
	l.fall()
	err := Remove(ctx, l.manifest)
	if err != nil {
		l.log.Warn(notRemoved, "lab", l.ID(), "error", err)
		return err
	}
	l.services.Wait() // their processes are dead
	l.log.Info("lab removed", "lab", l.ID())
	return nil
}

// notRemoved is what the log says when something of a lab is left. The next
// Sweep or Remove tries again.
const notRemoved = "the lab was not removed completely"
