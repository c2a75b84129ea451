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

// maxLine bounds a line that is read as progress; longer ones are none.
const maxLine = 64 << 10

// progressReader takes standard output apart into lines and reports those that
// hold the counter. The time of a point is the time at which its line arrives:
// a command that buffers its output reports late.
type progressReader struct {
	ctx    context.Context
	from   *Progress
	metric string
	report workload.Reporter
	line   []byte
	long   bool // the current line is too long
}

// progressLines returns the writer that reads progress; it discards everything
// if none is wanted.
func (p *Params) progressLines(ctx context.Context, r workload.Reporter) io.Writer {
	if p.Progress == nil {
		return io.Discard
	}
	return &progressReader{ctx: ctx, from: p.Progress, metric: p.progressMetric(), report: r}
}

func (g *progressReader) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			g.keep(p)
			return n, nil
		}
		g.keep(p[:i])
		if !g.long {
			g.take(g.line)
		}
		g.line, g.long = g.line[:0], false
		p = p[i+1:]
	}
}

// keep adds to the current line.
func (g *progressReader) keep(p []byte) {
	if len(g.line)+len(p) > maxLine {
		g.long = true
		return
	}
	g.line = append(g.line, p...)
}

// take reports a line, if it holds the counter.
func (g *progressReader) take(line []byte) {
	var v float64
	var err error
	if g.from.Regex != "" {
		v, err = readRegex(g.from.Regex, line)
	} else {
		v, err = readJSON(g.ctx, g.from.JSON, line)
	}
	if err == nil {
		g.report.Progress(g.metric, g.from.Unit, v)
	}
}

// keepHalf is how much of the begin and of the end of a stream is kept for
// extraction.
const keepHalf = 8 << 20

// gap stands where text was left out. It has no digit that an expression could
// take for a number.
const gap = "\n[…]\n"

// keeper keeps the begin and the end of a stream in bounded memory. Not safe
// for concurrent use.
type keeper struct {
	half int
	head []byte
	// tail holds what came after head, up to two halves: the older half is
	// dropped when it is full, so that bytes are moved once a half.
	tail []byte
	cut  bool // something was dropped
}

func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head, p = append(k.head, p[:take]...), p[take:]
	}
	for len(p) > 0 {
		take := min(2*k.half-len(k.tail), len(p))
		k.tail, p = append(k.tail, p[:take]...), p[take:]
		if len(k.tail) == 2*k.half {
			k.cut = true
			k.tail = k.tail[:copy(k.tail, k.tail[k.half:])]
		}
	}
	return n, nil
}

// text returns what was kept: everything, or the first and the last whole
// lines. A line that the cut has split is left out, because half a number is
// another number.
func (k *keeper) text() []byte {
	if !k.cut {
		return append(append([]byte(nil), k.head...), k.tail...)
	}
	head := k.head[:bytes.LastIndexByte(k.head, '\n')+1]
	tail := k.tail
	if len(tail) > k.half {
		tail = tail[len(tail)-k.half:]
	}
	tail = tail[bytes.IndexByte(tail, '\n')+1:]
	return append(append(append([]byte(nil), head...), gap...), tail...)
}
