// Package sysbench runs the processor and memory tests of sysbench 1.0, where
// it is installed.
//
// The summary gives the metrics. The lines that sysbench prints every second
// give the progress series: each holds the mean rate since the line before, so
// the work done is that rate times the time between the two lines; the last
// point is the exact total of the summary.
package sysbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The tests.
const (
	CPU    = "cpu"
	Memory = "memory"
)

// Params are the parameters of the workload, with its state between Prepare
// and Run.
type Params struct {
	Test     string        `json:"test,omitempty" jsonschema:"description=Which test of sysbench to run,enum=cpu,enum=memory,default=cpu"`
	Threads  int           `json:"threads,omitempty" jsonschema:"description=Number of threads,minimum=1,maximum=4096,default=1"`
	Duration unit.Duration `json:"duration,omitempty" jsonschema:"description=How long to run; whole seconds,default=10s"`
	// MaxPrime is for the test cpu, the rest for the test memory.
	MaxPrime  int       `json:"max_prime,omitempty" jsonschema:"description=cpu: upper limit of the primes that an event looks for,minimum=3,default=10000"`
	BlockSize unit.Size `json:"block_size,omitempty" jsonschema:"description=memory: size of the blocks; a power of 2,default=1KiB"`
	Operation string    `json:"operation,omitempty" jsonschema:"description=memory: what to do,enum=read,enum=write,default=write"`
	Access    string    `json:"access,omitempty" jsonschema:"description=memory: in which order,enum=seq,enum=rnd,default=seq"`

	path string // of sysbench
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "sysbench",
		Summary: "The cpu and memory tests of sysbench 1.0, where it is installed.",
		New: func() workload.Workload {
			return &Params{
				Test: CPU, Threads: 1, Duration: unit.Duration(10 * time.Second),
				MaxPrime: 10000, BlockSize: unit.KiB, Operation: "write", Access: "seq",
			}
		},
	}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	field := func(name, problem, allowed string) error {
		return &model.InputError{Path: name, Problem: problem, Allowed: "allowed is " + allowed}
	}
	switch {
	case p.Test != CPU && p.Test != Memory:
		return field("test", fmt.Sprintf("there is no test %q", p.Test), "cpu or memory")
	case p.Threads < 1 || p.Threads > 4096:
		return field("threads", fmt.Sprintf("%d threads are impossible", p.Threads), "1 to 4096")
	case p.Duration.Std() < time.Second || p.Duration.Std()%time.Second != 0:
		return field("duration", fmt.Sprintf("sysbench cannot run for %s", p.Duration), "a whole number of seconds, such as 10s")
	case p.MaxPrime < 3:
		return field("max_prime", fmt.Sprintf("%d is not a limit for primes", p.MaxPrime), "3 or more")
	case p.BlockSize < unit.Byte || p.BlockSize&(p.BlockSize-1) != 0:
		return field("block_size", fmt.Sprintf("%s is not a size of a block", p.BlockSize), "a power of 2, such as 1KiB or 1MiB")
	case p.Operation != "read" && p.Operation != "write":
		return field("operation", fmt.Sprintf("there is no operation %q", p.Operation), "read or write")
	case p.Access != "seq" && p.Access != "rnd":
		return field("access", fmt.Sprintf("there is no order %q", p.Access), "seq or rnd")
	}
	return nil
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

var versionForm = regexp.MustCompile(`^sysbench 1\.0\.\d+`)

// Prepare looks for a sysbench that prints what this package can read.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	path, err := workload.LookPath("sysbench", env.Environ)
	if err != nil {
		return fmt.Errorf("sysbench is not installed on this node: install it with `apt-get install sysbench` (Debian, Ubuntu) or `dnf install sysbench` (Fedora): %w", err)
	}
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = env.Environ
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", path, err)
	}
	if version := strings.TrimSpace(string(out)); !versionForm.MatchString(version) {
		return fmt.Errorf("%s is %q; the output of sysbench 1.0 is what can be read", path, version)
	}
	p.path = path
	return nil
}

// arguments are those of the command line. The memory test would end when it
// has transferred 100 GB; a petabyte leaves the end to the time.
func (p *Params) arguments() []string {
	args := []string{p.Test, fmt.Sprintf("--threads=%d", p.Threads),
		fmt.Sprintf("--time=%d", int(p.Duration.Seconds())), "--events=0", "--report-interval=1"}
	if p.Test == CPU {
		args = append(args, fmt.Sprintf("--cpu-max-prime=%d", p.MaxPrime))
	} else {
		args = append(args, fmt.Sprintf("--memory-block-size=%d", p.BlockSize.Bytes()), "--memory-total-size=1P",
			"--memory-oper="+p.Operation, "--memory-access-mode="+p.Access)
	}
	return append(args, "run")
}

// metric names the rate of a test and its unit, which the progress counts.
func (p *Params) metric() (name, unit, resource string) {
	if p.Test == CPU {
		return "sysbench_cpu_rate", "op", model.ResourceCPU
	}
	return "sysbench_memory_bandwidth", "byte", model.ResourceMemory
}

// Run runs the test and reports its rate; for cpu the 95th percentile of an
// event's time, too. (For memory that is below the resolution of the report.)
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	name, counted, resource := p.metric()
	publisher := &publisher{metric: name, unit: counted, report: env.Report, now: time.Now}
	text, err := p.execute(ctx, env, publisher)
	if err != nil {
		return err
	}
	s, err := parseSummary(p.Test, text)
	if err != nil {
		return err
	}
	if s.seconds < 0.95*p.Duration.Seconds() {
		return fmt.Errorf("sysbench ended after %v of %v seconds: the rate would be of another duration", s.seconds, p.Duration.Seconds())
	}
	publisher.finish(s.total)
	env.Report.Sample(model.Sample{Metric: name, Unit: counted + "/s", Value: s.rate, Better: model.Higher, Resource: resource})
	if p.Test == CPU {
		env.Report.Sample(model.Sample{Metric: "sysbench_cpu_latency_p95", Unit: "ms", Value: s.p95, Better: model.Lower, Info: true})
	}
	return nil
}

// execute runs sysbench and returns its standard output, a few kilobytes. The
// publisher sees each line when it is printed.
func (p *Params) execute(ctx context.Context, env *workload.Env, m *publisher) (string, error) {
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
