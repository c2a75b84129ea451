package sysbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"

	"github.com/scalebench/scalebench/internal/workload"
)

// execute runs sysbench and returns its standard output, a few kilobytes. The
// meter sees each line when it is printed.
func (p *Params) execute(ctx context.Context, env *workload.Env, m *meter) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, p.arguments()...)
	cmd.Env = env.Environ
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	var text, complaint bytes.Buffer
	cmd.Stdout = io.MultiWriter(&text, m, env.Stdout)
	cmd.Stderr = io.MultiWriter(&complaint, env.Stderr)
	err := cmd.Run()
	var exit *exec.ExitError
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		env.Report.ExitCode(cmd.ProcessState.ExitCode())
	}
	switch {
	case err == nil:
		return text.String(), nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("sysbench %s ended with %w: %s", strings.Join(p.arguments(), " "), exit, lastLine(complaint.String()+text.String()))
	}
	return "", fmt.Errorf("running %s: %w", p.path, err)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
