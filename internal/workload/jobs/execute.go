package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/procself"
	"github.com/scalebench/scalebench/internal/workload"
)

// execution is one call of a command.
type execution struct {
	text    string // with {in}, {out} and {item}
	dir     string // where it runs; it may leave there what it likes
	in, out string // files; empty: there is none
	item    string
	environ []string
}

// tailGrace is how long what the command left in the background may keep its standard
// error open.
const tailGrace = time.Second

// run executes the command in a process group of its own, which ends with it, and returns
// the processor time of the processes that it waited for.
func (x execution) run(ctx context.Context) (cpu time.Duration, err error) {
	cmd := workload.Shell(ctx, withVariables(x.text))
	said := &tail{}
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = x.dir, said, tailGrace
	cmd.Env = slices.Clone(x.environ)
	for i, value := range []string{x.in, x.out, x.item} {
		cmd.Env = append(cmd.Env, placeholders[i].variable+"="+value)
	}
	if x.in != "" && !strings.Contains(x.text, "{in}") {
		in, err := os.Open(x.in)
		if err != nil {
			return 0, err
		}
		defer func() { _ = in.Close() }() // only read
		cmd.Stdin = in
	}
	if x.out != "" && !strings.Contains(x.text, "{out}") {
		out, err := os.Create(x.out)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		cmd.Stdout = out
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting the command: %w", err)
	}
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background
	cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ctx.Err() != nil {
		return cpu, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return cpu, fmt.Errorf("the command ended with %w: %s", exit, workload.LastLine(said.String()))
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return cpu, fmt.Errorf("running the command: %w", err)
	}
	return cpu, nil
}

// environ is what commands get: neither the credentials of the store nor those of the queue.
func (p *Params) environ(env *workload.Env) []string {
	all := environ.Pick(env.Environ, p.PassEnv, nil)
	for _, kv := range env.Environ {
		if strings.HasPrefix(kv, "SCALEBENCH_") { // by the cookie its processes are found
			all = append(all, kv)
		}
	}
	return all
}

// tail keeps the last bytes that are written to it.
type tail struct{ kept []byte }

const mostTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-mostTail):]...)
	if extra := len(t.kept) - mostTail; extra > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[extra:])]
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(t.kept), "?") }

// short is a text that a record can have.
func short(s string) string {
	if len(s) > jobs.MaxError {
		s = s[:jobs.MaxError-len("…")] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// ending is of a name what programs go by, such as ".mp4".
func ending(name string) string {
	if e := filepath.Ext(name); endingForm.MatchString(e) {
		return e
	}
	return ""
}

var endingForm = regexp.MustCompile(`^\.[A-Za-z0-9]{1,8}$`)

// function does what is built in, and returns the processor time that it took.
func (p *Params) function(ctx context.Context, in, out string) (time.Duration, error) {
	runtime.LockOSThread() // so that its processor time is that of a thread
	defer runtime.UnlockOSThread()
	before, _ := procself.ThreadTime()
	var err error
	switch p.Function {
	case Sleep:
		err = workload.Pause(ctx, p.Time.Std())
	case Spin:
		err = spin(ctx, p.Time.Std())
	case Copy:
		err = copyFile(in, out)
	case Sort:
		err = sortFile(in, out)
	}
	after, _ := procself.ThreadTime()
	return after - before, err
}

// spin computes until this thread has used so much processor time; where the system does
// not tell that, for so long.
func spin(ctx context.Context, d time.Duration) error {
	began := time.Now()
	from, known := procself.ThreadTime()
	x := 1.0
	for {
		for range 20_000 {
			x = math.Sqrt(x + 1)
		}
		used := time.Since(began)
		if now, _ := procself.ThreadTime(); known {
			used = now - from
		}
		if used >= d || ctx.Err() != nil || x < 0 {
			return ctx.Err()
		}
	}
}

// create makes the output file; without one, what is written is lost.
func create(out string) (io.WriteCloser, error) {
	if out == "" {
		out = os.DevNull
	}
	return os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

func copyFile(in, out string) error {
	from, err := os.Open(in)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	to, err := create(out)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// sortFile sorts the lines of a file by their bytes, in memory.
func sortFile(in, out string) error {
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	lines := slices.Collect(bytes.Lines(text))
	if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1], []byte("\n")) {
		lines[n-1] = append(slices.Clip(lines[n-1]), '\n')
	}
	slices.SortFunc(lines, bytes.Compare)
	to, err := create(out)
	if err != nil {
		return err
	}
	_, err = to.Write(bytes.Join(lines, nil))
	return errors.Join(err, to.Close())
}
