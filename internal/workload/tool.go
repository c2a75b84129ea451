package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Refuse is what is wrong with the parameter of this key if bad is true, and nil
// otherwise.
func Refuse(bad bool, key, allowed, problem string, args ...any) error {
	return Invalid(bad, key, fmt.Sprintf(problem, args...), "use "+allowed)
}

// Invalid is Refuse with another way to say what to do.
func Invalid(bad bool, key, problem, instead string) error {
	if !bad {
		return nil
	}
	return &model.InputError{Path: key, Problem: problem, Allowed: instead}
}

// Capacity is a rate that a task has reached: what it can do of a resource.
func Capacity(metric, unit string, value float64, resource string) model.Sample {
	return model.Sample{Metric: metric, Unit: unit, Value: value, Better: model.Higher, Resource: resource}
}

// Info is a value that describes a task beside its capacity; less of it is better.
func Info(metric, unit string, value float64) model.Sample {
	return model.Sample{Metric: metric, Unit: unit, Value: value, Better: model.Lower, Info: true}
}

// Getenv is a variable of an environment; ok is false where it is not set.
func Getenv(environ []string, name string) (value string, ok bool) {
	for _, v := range slices.Backward(environ) { // the last one counts
		if value, ok = strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// LookPath finds a program on the PATH of the task's environment, which need
// not be that of this process.
func LookPath(name string, environ []string) (string, error) {
	path, _ := Getenv(environ, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); executable(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("no %s in PATH %q", name, path)
}

// FindTool is LookPath for a tool that distributions package under its name.
// Where it is missing, the error says how to install it.
func FindTool(name string, environ []string) (string, error) {
	path, err := LookPath(name, environ)
	if err != nil {
		return "", fmt.Errorf("%s is not installed on this node: %s: %w", name, howToInstall(name), err)
	}
	return path, nil
}

func howToInstall(name string) string {
	return fmt.Sprintf("install it with `apt-get install %s` (Debian, Ubuntu) or `dnf install %[1]s` (Fedora, RHEL)", name)
}

// FindVersion is FindTool for a tool that must answer --version with the form:
// want names the versions that have an output this program can read.
func FindVersion(ctx context.Context, name string, environ []string, form *regexp.Regexp, want string) (string, error) {
	path, err := FindTool(name, environ)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environ
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	if version := strings.TrimSpace(string(out)); !form.MatchString(version) {
		return "", fmt.Errorf("%s is %q, but %s is needed: %s", path, version, want, howToInstall(name))
	}
	return path, nil
}

// RunTool runs a tool to its end, and reports its exit code (unless r is nil).
// When ctx ends, the tool is asked to end (SIGTERM), and the error is that of
// ctx. The error of a tool that ended with a status is an *exec.ExitError.
func RunTool(ctx context.Context, cmd *exec.Cmd, r Reporter) error {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if r != nil && cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		r.ExitCode(cmd.ProcessState.ExitCode())
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return exit
	}
	return fmt.Errorf("running %s: %w", cmd.Path, err)
}

// Shell is a command that /bin/sh reads, in a process group of its own. The end of ctx kills
// all of the group: what the shell has started would hold its output.
func Shell(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			return err // its id may be that of another group
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	return cmd
}

// LastLine is the last line of what a tool said, for a message.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "it printed nothing"
	}
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Pause waits, or less if the context ends: then it returns that.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lines is a writer that takes output apart: it gives each line to Take, without its
// end, and drops lines that are longer than maxLine.
type Lines struct {
	Take func(line []byte) // the line is valid during the call

	line []byte // unfinished
	long bool   // and too long
}

const maxLine = 64 << 10 // bytes

// Write takes output as it comes.
func (l *Lines) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if l.long = l.long || len(l.line)+len(text) > maxLine; !l.long {
			l.line = append(l.line, text...)
		}
		if !ended {
			break
		}
		if !l.long {
			l.Take(l.line)
		}
		l.line, l.long = l.line[:0], false
	}
	return len(p), nil
}
