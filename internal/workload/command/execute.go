package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// execution is one running command.
type execution struct {
	cmd            *exec.Cmd
	started        time.Time
	stdout, stderr *keeper
	readers        sync.WaitGroup
	pipes          []*os.File // read ends
}

// start starts the command.
func (p *Params) start(ctx context.Context, env *workload.Env) (*execution, error) {
	dir, err := p.directory(env.Environ)
	if err != nil {
		return nil, err
	}
	x := &execution{stdout: &keeper{half: keepHalf}, stderr: &keeper{half: keepHalf}}
	x.cmd = exec.CommandContext(ctx, p.Shell, "-c", p.Command)
	x.cmd.Dir, x.cmd.Env = dir, p.environ(env.Environ)
	// The runner kills the whole group when the time is over; at the end of
	// ctx the shell is asked to end, as the rest of the group is.
	x.cmd.Cancel = func() error { return x.cmd.Process.Signal(syscall.SIGTERM) }
	out, err := x.pipe(env.Stdout, x.stdout, p.progressLines(ctx, env.Report))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the command has its own copy
	errs, err := x.pipe(env.Stderr, x.stderr, io.Discard)
	if err != nil {
		x.closePipes()
		return nil, err
	}
	defer func() { _ = errs.Close() }()
	x.cmd.Stdout, x.cmd.Stderr = out, errs
	if p.Progress != nil { // a counter of the work since the start begins at 0
		env.Report.Progress(p.progressMetric(), p.Progress.Unit, 0)
	}
	x.started = time.Now()
	if err := x.cmd.Start(); err != nil {
		x.closePipes()
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	return x, nil
}

// pipe returns the end to write to of a pipe whose content goes to all of the
// writers.
func (x *execution) pipe(to ...io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe for the command: %w", err)
	}
	x.pipes = append(x.pipes, r)
	x.readers.Go(func() { _, _ = io.Copy(io.MultiWriter(to...), r) }) // ends with the pipe, or at a deadline
	return w, nil
}

// printGrace is how long what the command left running may go on printing.
const printGrace = time.Second

// wait returns the time from start to end of the command's process, and an
// error unless it ended with status 0.
func (x *execution) wait(ctx context.Context) (time.Duration, error) {
	err := x.cmd.Wait()
	elapsed := time.Since(x.started)
	for _, r := range x.pipes {
		_ = r.SetReadDeadline(time.Now().Add(printGrace)) // pipes take deadlines
	}
	x.readers.Wait()
	x.closePipes()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return elapsed, nil
	case ctx.Err() != nil:
		return elapsed, ctx.Err()
	case errors.As(err, &exit):
		return elapsed, fmt.Errorf("the command ended with %w; its output begins: %s", exit, excerpt(x.complaint()))
	}
	return elapsed, fmt.Errorf("running the command: %w", err)
}

// complaint is what the command may have said about its failure.
func (x *execution) complaint() []byte {
	if text := x.stderr.text(); len(bytes.TrimSpace(text)) > 0 {
		return text
	}
	return x.stdout.text()
}

func (x *execution) closePipes() {
	for _, r := range x.pipes {
		_ = r.Close() // only read
	}
	x.readers.Wait()
}

// exitCode is the status of the command's process; false if it was killed by a
// signal.
func (x *execution) exitCode() (int, bool) {
	code := x.cmd.ProcessState.ExitCode()
	return code, code >= 0
}

func (x *execution) text(from string) []byte {
	if from == "stderr" {
		return x.stderr.text()
	}
	return x.stdout.text()
}
