package disk

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

const howToInstall = "install it with `apt-get install fio` (Debian, Ubuntu) or `dnf install fio` (Fedora, RHEL)"

// findFio returns the path of a fio whose output this package can read.
func findFio(ctx context.Context, environ []string) (string, error) {
	path, err := workload.LookPath("fio", environ)
	if err != nil {
		return "", fmt.Errorf("fio is not installed on this node: %s: %w", howToInstall, err)
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	version := strings.TrimSpace(string(out))
	if v, ok := majorVersion(version); !ok || v < 3 {
		return "", fmt.Errorf("%s is %q, and fio 3 or later is needed: %s", path, version, howToInstall)
	}
	return path, nil
}

var versionForm = regexp.MustCompile(`^fio-(\d{1,6})(\.|$)`)

// majorVersion reads "fio-3.33" or "fio-3.39-12-gabcdef".
func majorVersion(s string) (int, bool) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	v, err := strconv.Atoi(m[1])
	return v, err == nil
}

// killAfter is how long fio has to end by itself when the task is cut off. A
// thread in an fsync cannot.
const killAfter = 2 * time.Second

// keptWords is how much of fio's words an error may quote, in bytes.
const keptWords = 4096

// execute runs fio and returns the last document that it printed, nil if none.
// With a meter the run is the measurement: each document goes to it. What fio
// says in words goes to the task's standard error.
func (p *Params) execute(ctx context.Context, env *workload.Env, args []string, m *meter) (*document, error) {
	var last *document
	said := &words{out: env.Stderr, limit: keptWords}
	out := &splitter{other: said, take: func(text []byte) {
		d, err := parse(text)
		if err != nil { // something got in between: the next one is whole
			_, _ = fmt.Fprintf(said, "warning: a report of fio is left out: %v\n", err)
			return
		}
		last = d
		if m != nil {
			m.take(d, m.now())
		}
	}}
	cmd := exec.CommandContext(ctx, p.fio, args...)
	cmd.Env, cmd.Dir = env.Environ, env.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killAfter
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if m != nil && cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		env.Report.ExitCode(cmd.ProcessState.ExitCode())
	}
	if ctx.Err() != nil {
		return last, ctx.Err()
	}
	return last, p.judge(err, last, said.String())
}

// judge turns the end of fio into an error: a job that met one may still let
// fio end well.
func (p *Params) judge(err error, last *document, words string) error {
	var exit *exec.ExitError
	code := 0
	if last != nil {
		code = last.job.Error
	}
	switch {
	case err == nil && code == 0:
		return nil
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("running %s: %w", p.fio, err)
	}
	return explain(syscall.Errno(max(code, 0)), err, words, p.plan, p.target)
}
