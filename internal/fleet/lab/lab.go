// Package lab is the fleet of hosts that scalebench makes on this machine:
// nodes lab-1 to lab-n, or lab-GROUP-k, each with an agent of its own. Package
// internal/lab makes the hosts and has the contract of their limits.
//
// The way up, in this order; the way down is the reverse, from wherever it
// stands:
//
//  1. the lab: namespaces, links, cgroups, volumes, and services that accept
//     connections;
//  2. the relay: control traffic reaches the server by a Unix socket in the
//     lab's own directory. It never travels over the lab's links, which are
//     shaped and measured, and there is no route from the lab to anything else;
//  3. the agents, each on its host: in its network namespace and its cgroup,
//     so that what a node is limited to holds for the agent as well.
//
// A killed process leaves the lab behind; its manifest says so, and the next
// command that sweeps removes it. The agents see that their server is
// gone and end by themselves.
package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/fleet/agentproc"
	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/queue"
)

// Config says what fleet to bring up, and for which server.
type Config struct {
	Spec     lab.Spec
	Services []lab.Service
	// Agents says how agents are started; this fleet sets Server and
	// Start.
	Agents agentproc.Config
	Server queue.ServerInfo
	// Trouble is called, from a goroutine of its own, if a service ends
	// although the fleet is up, with the reason and the last lines of its log.
	Trouble func(error)
	// Say tells people what is being made: the lab's name.
	Say func(string)
}

// Fleet is a lab with its agents.
type Fleet struct {
	cfg   Config
	hosts []lab.Host
	// Nil before Up has made them.
	lab   *lab.Lab
	relay *queue.Relay
	set   *agentproc.Set
}

// New describes a fleet, with the limits of this time of the day; nothing is made
// yet. The specification must be valid.
func New(cfg Config) *Fleet {
	cfg.Spec = cfg.Spec.At(time.Now())
	return &Fleet{cfg: cfg, hosts: cfg.Spec.Hosts(cfg.Services)}
}

// Nodes returns the fleet's nodes: ids, labels and addresses.
func (f *Fleet) Nodes() []model.Node { return nodes(f.hosts) }

// Nodes returns the nodes that a lab has or will have.
func Nodes(spec lab.Spec) []model.Node { return nodes(spec.Hosts(nil)) }

func nodes(hosts []lab.Host) []model.Node {
	var out []model.Node
	for _, h := range hosts {
		if h.Service != nil {
			continue
		}
		n := model.Node{ID: h.Name, Labels: h.NodeLabels()}
		n.Facts.Addresses, n.Facts.CPULimit = []string{h.Address}, h.CPU
		out = append(out, n)
	}
	return out
}

// Services returns the addresses of the services' hosts, by name.
func (f *Fleet) Services() map[string]string {
	out := make(map[string]string)
	for _, h := range f.hosts {
		if h.Service != nil {
			out[h.Service.Name] = h.Address
		}
	}
	return out
}

// Beside returns how long Up has waited for services.
func (f *Fleet) Beside() time.Duration {
	if f.lab == nil {
		return 0
	}
	return f.lab.ServicesTook()
}

// Shape sets the links of nodes and the limits of volumes, all others as they were made,
// and returns what all have then: see lab.Lab.
func (f *Fleet) Shape(want model.Shape) (model.Shape, error) { return f.lab.Shape(want) }

// Shaped is what the links of the nodes and the volumes have.
func (f *Fleet) Shaped() (model.Shape, error) { return f.lab.Shaped() }

// Up makes the hosts, starts the services and then the agents. ended is called
// whenever an agent stopped unexpectedly; it is started again, unless it ends
// over and over. What an Up that fails has made is removed by Down.
func (f *Fleet) Up(ctx context.Context, ended agentproc.Ended) error {
	id := NewID()
	f.cfg.Say(fmt.Sprintf("lab %s: %s", id, describe(f.hosts)))
	cfg := f.cfg.Agents
	built, err := lab.Up(ctx, lab.Config{
		ID: id, Spec: f.cfg.Spec, Services: f.cfg.Services,
		Environ: cfg.Environ, Log: cfg.Log,
		Ended: func(err error) { f.cfg.Trouble(oneLine{err}) },
	})
	if err != nil {
		return oneLine{err} // it names the lab
	}
	f.lab = built
	// A socket among the lab's own files: whatever removes those removes it, and
	// the path is short, as that of a socket must be. Its folder is private.
	dir := filepath.Join(built.Manifest().Dir, "queue")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("connecting the lab to the server: %w", err)
	}
	relay, err := queue.StartRelay(filepath.Join(dir, "sock"), f.cfg.Server, cfg.Log)
	if err != nil {
		return err
	}
	cfg.Server = relay.Info()
	cfg.Start = func(ctx context.Context, l agentproc.Launch) (*exec.Cmd, error) {
		return built.Start(ctx, l.Node, lab.Process{
			Args: l.Args, Environ: l.Environ, Stdin: l.Stdin, Stdout: l.Output, Stderr: l.Output,
		})
	}
	f.relay, f.set = relay, agentproc.New(cfg)
	var agents []agentproc.Agent
	for _, n := range f.Nodes() {
		agents = append(agents, agentproc.Agent{Node: n, Volumes: built.Volumes(n.ID)})
	}
	return f.set.Up(ctx, agents, ended)
}

// NewID returns a random name for a lab, short enough to be typed: 32^6, a
// thousand million, keep two labs of one machine apart.
func NewID() string { return strings.ToLower(rand.Text()[:6]) }

// describe counts hosts for people: "4 nodes, 1 service".
func describe(hosts []lab.Host) string {
	services := 0
	for _, h := range hosts {
		if h.Service != nil {
			services++
		}
	}
	text := num.Count(len(hosts)-services, "node")
	if services > 0 {
		text += ", " + num.Count(services, "service")
	}
	return text
}

// oneLine is an error that can stand in a table: the lines that a service
// printed last follow each other.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n\t", " | ") }

func (e oneLine) Unwrap() error { return e.error }

// removeWait is how long removing the hosts may take, in addition to what
// agents take to leave.
const removeWait = 30 * time.Second

// Down tells the agents to leave, kills those that have not when ctx ends, and
// removes everything that Up made. The lab goes even if the agents took all of
// ctx: what stayed would have to wait for the next sweep.
func (f *Fleet) Down(ctx context.Context) error {
	var errs []error
	if f.set != nil {
		errs = append(errs, f.set.Down(ctx), f.relay.Close())
	}
	if f.lab != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWait)
		defer cancel()
		errs = append(errs, f.lab.Down(ctx))
	}
	return errors.Join(errs...)
}
