package network

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// iperf3 runs the tool of that name: one server process for each client,
// because each of them takes one client at a time, and one client process.
type iperf3 struct {
	path    string
	servers []*exec.Cmd
	reading sync.WaitGroup // of what servers print
}

// newIperf3 looks for the tool.
func newIperf3(env *workload.Env) (*iperf3, error) {
	path, err := workload.FindTool("iperf3", env.Environ)
	if err != nil {
		return nil, fmt.Errorf("%w; or use tool: builtin", err)
	}
	if env.Role != model.RoleServe && len(env.Peers) != 1 {
		return nil, fmt.Errorf("iperf3 measures against one node, and this task has %d peers; use tool: builtin", len(env.Peers))
	}
	return &iperf3{path: path}, nil
}

// portStep lies between the ports of a node's iperf3 servers: nodes that share
// an address have slots below it.
const portStep = 100

// iperf3Port is the port for a node's k-th client, from 0.
func iperf3Port(port int, self model.Host, k int) (int, error) {
	p := port + self.Slot + portStep*(k+1)
	if self.Slot >= portStep || p > 65535 {
		return 0, fmt.Errorf("no port is left for client %d of %s (port %d, slot %d): iperf3 needs %d ports per client, and slots below %d", k+1, self.Node, port, self.Slot, portStep, portStep)
	}
	return p, nil
}

// serve starts a server for each client, and tells the control server their
// ports.
func (i *iperf3) serve(ctx context.Context, env *workload.Env, control *server, port int) error {
	for k, c := range control.clients.order {
		p, err := iperf3Port(port, env.Self, k)
		if err != nil {
			return err
		}
		if err := i.start(ctx, env, p); err != nil {
			return fmt.Errorf("starting the iperf3 server for %s on port %d: %w", c.host.Node, p, err)
		}
		c.port = p
	}
	return nil
}

// start starts a server for one test and waits until it listens. It outlives
// ctx: stop ends it.
func (i *iperf3) start(ctx context.Context, env *workload.Env, port int) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), i.path, "--server", "--one-off", "--bind", env.Self.Address, "--port", strconv.Itoa(port), "--forceflush")
	cmd.Env = env.Environ
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	i.servers = append(i.servers, cmd)
	listening := make(chan bool, 1)
	i.reading.Go(func() { i.drain(out, listening) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case ok := <-listening:
		if ok {
			return nil
		}
	}
	_ = cmd.Wait() // it says more about its end itself
	return fmt.Errorf("it ended at once: %s", strings.ReplaceAll(strings.TrimSpace(complaint.String()), "\n", "; "))
}

// drain reads what a server prints; its numbers are the client's, too.
func (i *iperf3) drain(out io.Reader, listening chan<- bool) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Server listening on") {
			listening <- true
			break
		}
	}
	_, _ = io.Copy(io.Discard, out) // until the server ends
	select {
	case listening <- false:
	default: // it has listened
	}
}

// stop ends all servers.
func (i *iperf3) stop() {
	for _, cmd := range i.servers {
		_ = cmd.Process.Kill() // it may have ended after its test
	}
	i.reading.Wait()
	for _, cmd := range i.servers {
		_ = cmd.Wait() // how a killed server ended says nothing, and one may be waited for twice
	}
	i.servers = nil
}

// measure returns the measurement of a session by iperf3.
func (i *iperf3) measure(s *session, env *workload.Env) func(context.Context, time.Time) error {
	return func(ctx context.Context, start time.Time) error {
		peer := s.echoes[0]
		text, err := request(ctx, "GET", pathIperf3, peer.addr, s.node, s.set.stall)
		if err != nil {
			return silence("heard from", peer.peer, peer.addr, s.set.stall, err)
		}
		port, err := strconv.Atoi(text)
		if err != nil || port == 0 {
			return fmt.Errorf("%s at %s has no iperf3 server for this node: the nodes must run the same task", peer.peer.Node, peer.addr)
		}
		if err := tick(ctx, start.Add(s.set.idle), nil, peer.check); err != nil {
			return err
		}
		scored := time.AfterFunc(s.set.warmUp-s.set.idle, func() { s.phase.Store(phaseScored) })
		defer scored.Stop()
		run, err := i.client(ctx, env, s, port)
		s.phase.Store(phaseWarmUp) // echoes of the end are not scored
		if err != nil {
			return fmt.Errorf("iperf3 with %s, port %d: %w", name(peer.peer), port, err)
		}
		return s.reportIperf3(run, start)
	}
}

// arguments are those of the client.
func (s *settings) arguments(address string, port int) []string {
	args := []string{
		"--client", address, "--port", strconv.Itoa(port), "--json", "--interval", "0.25",
		"--parallel", strconv.Itoa(s.connections), "--time", strconv.Itoa(int(s.duration / time.Second)),
		"--omit", strconv.Itoa(int((s.warmUp - s.idle) / time.Second)),
		"--connect-timeout", strconv.FormatInt(s.stall.Milliseconds(), 10),
	}
	switch {
	case s.receive && s.send:
		args = append(args, "--bidir")
	case s.receive:
		args = append(args, "--reverse")
	}
	return args
}

// client runs the client. iperf3 may wait for two minutes for a server that is
// gone; the echoes beside it tell earlier.
func (i *iperf3) client(ctx context.Context, env *workload.Env, s *session, port int) (run clientRun, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, i.path, s.set.arguments(s.echoes[0].peer.Address, port)...)
	cmd.Env = env.Environ
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, env.Stdout), env.Stderr
	if err := cmd.Start(); err != nil {
		return run, err
	}
	begun := make(chan time.Time, 1)
	go func() { begun <- s.watchClient(ctx, cancel, cmd.Process.Pid, time.Now()) }()
	err = cmd.Wait()
	run.ended = time.Now()
	cause := context.Cause(ctx)
	cancel(nil)
	run.begun, run.text = <-begun, text.Bytes()
	if cmd.ProcessState.Exited() {
		env.Report.ExitCode(cmd.ProcessState.ExitCode())
	}
	if cause != nil {
		return run, cause
	}
	return run, complaint(run.text, err)
}

// watchClient finds out when the client's connections are there, which is when
// its test begins, and ends it when the peer is silent.
func (s *session) watchClient(ctx context.Context, cancel context.CancelCauseFunc, pid int, begun time.Time) time.Time {
	want := s.set.connections + 1 // one to control the test
	if s.set.receive && s.set.send {
		want += s.set.connections
	}
	fast := time.NewTicker(2 * time.Millisecond)
	defer fast.Stop()
	for latest := begun.Add(s.set.stall); ctx.Err() == nil && time.Now().Before(latest); {
		n, known := sockets(pid)
		if !known {
			break // the start of the process is the best guess
		}
		if n >= want {
			begun = time.Now()
			break
		}
		select {
		case <-ctx.Done():
		case <-fast.C:
		}
	}
	if err := tick(ctx, time.Time{}, nil, s.echoes[0].check); ctx.Err() == nil {
		cancel(err)
	}
	return begun
}

// sockets counts the sockets of a process; not known without /proc.
func sockets(pid int) (n int, known bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n, err == nil
}

// complaint is why the client failed: it says so in its report.
func complaint(out []byte, err error) error {
	if r, parsed := parseReport(out); parsed == nil && r.Error != "" {
		return errors.New(r.Error)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, workload.LastLine(string(out)))
	}
	return nil
}
