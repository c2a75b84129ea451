// Package servers runs a server for a test: a process that can be stopped
// and stalled, and does not outlive the test binary.
package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Process is a server that was started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// Start starts a command, to which Linux sends a signal if the test binary dies
// before it. It does so from a goroutine that keeps its thread until the
// command has ended, for Linux goes by the thread that started it.
func Start(cmd *exec.Cmd, orphaned syscall.Signal) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr, orphaned)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how it ended; to be called after Done.
func (p *Process) Err() error { return p.err }

// pollEvery is how often Await asks.
const pollEvery = 20 * time.Millisecond

// Await returns when ready says so, or with an error when the process has ended
// or a time is over. It polls, since servers have no other sign of being ready
// in common; the pauses are not what a test's outcome depends on.
func (p *Process) Await(ready func() error, within time.Duration) error {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended by itself: %w", p.err)
		case <-deadline.C:
			return fmt.Errorf("it does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// Signal sends a signal; a process that has ended takes no notice.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %v to %s: %w", sig, p.cmd.Path, err)
	}
	return nil
}

// Kill ends the process at once, as a crash does, and returns when it is gone.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.done
	}
	return err
}

// End asks the process to end, and returns when it has. One that has not after
// a time is killed, and that is an error; how it ended is not.
func (p *Process) End(sig syscall.Signal, within time.Duration) error {
	if err := p.Signal(sig); err != nil {
		return err
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		return errors.Join(fmt.Errorf("signal %v to %s had no effect in %v", sig, p.cmd.Path, within), p.Kill())
	}
}

// Stall stops the process, connections and all, until release is called. It
// returns when the last of its threads has stopped; until then some of them
// may still answer.
func (p *Process) Stall() (release func() error, err error) {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	if err := awaitStop(p.cmd.Process.Pid); err != nil {
		return nil, fmt.Errorf("waiting until %s has stopped: %w", p.cmd.Path, err)
	}
	return func() error { return p.Signal(syscall.SIGCONT) }, nil
}

// Controls are a server's process in the hands of a test, which fails where
// they do.
type Controls struct {
	T       testing.TB
	Process *Process // nil before it has started
}

// Stop ends the server at once, as a crash does; one that has ended stays so.
func (c *Controls) Stop() {
	c.T.Helper()
	if c.Process == nil {
		return
	}
	if err := c.Process.Kill(); err != nil {
		c.T.Error(err)
	}
}

// Stall stops the server, connections and all, until release is called.
func (c *Controls) Stall() (release func()) {
	c.T.Helper()
	carryOn, err := c.Process.Stall()
	if err != nil {
		c.T.Fatal(err)
	}
	return func() {
		if err := carryOn(); err != nil {
			c.T.Error(err)
		}
	}
}
