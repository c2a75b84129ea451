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
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/cgroup"
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
	Test     string           `json:"test,omitempty" jsonschema:"description=Which test of sysbench to run,enum=cpu,enum=memory,default=cpu"`
	Threads  workload.Threads `json:"threads,omitzero" jsonschema_description:"Threads: a number, all for one per core, or such as 2 per core."`
	Duration unit.Duration    `json:"duration,omitempty" jsonschema:"description=How long to run; whole seconds,default=10s"`
	// MaxPrime is for the test cpu, the rest for the test memory.
	MaxPrime  int       `json:"max_prime,omitempty" jsonschema:"description=cpu: upper limit of the primes that an event looks for,minimum=3,default=10000"`
	BlockSize unit.Size `json:"block_size,omitempty" jsonschema:"description=memory: size of the blocks; a power of 2,default=1KiB"`
	Operation string    `json:"operation,omitempty" jsonschema:"description=memory: what to do,enum=read,enum=write,default=write"`
	Access    string    `json:"access,omitempty" jsonschema:"description=memory: in which order,enum=seq,enum=rnd,default=seq"`

	path    string // of sysbench
	threads int    // on this node
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "sysbench",
		Summary: "The cpu and memory tests of sysbench 1.0, where it is installed.",
		New: func() workload.Workload {
			return &Params{
				Test: CPU, Threads: workload.Threads{Number: 1}, Duration: unit.Duration(10 * time.Second),
				MaxPrime: 10000, BlockSize: unit.KiB, Operation: "write", Access: "seq",
			}
		},
	}
}

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return cmp.Or(
		workload.Refuse(p.Duration.Std() < time.Second || p.Duration.Std()%time.Second != 0, "duration", "a whole number of seconds, such as 10s", "sysbench cannot run for %s", p.Duration),
		workload.Refuse(p.BlockSize < unit.Byte || p.BlockSize&(p.BlockSize-1) != 0, "block_size", "a power of 2, such as 1KiB or 1MiB", "%s is not a block size", p.BlockSize),
	)
}

// Tools implements workload.ToolUser.
func (p *Params) Tools() []workload.Tool { return []workload.Tool{{Name: "sysbench"}} }

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Duration.Std() }

var versionForm = regexp.MustCompile(`^sysbench 1\.0\.\d+`)

// Prepare looks for a sysbench that prints what this package can read.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) (err error) {
	if p.threads, err = p.Threads.On(cgroup.Cores()); err != nil {
		return err
	}
	p.path, err = workload.FindVersion(ctx, "sysbench", env.Environ, versionForm, "sysbench 1.0")
	return err
}

// arguments are those of the command line. The memory test would end when it
// has transferred 100 GB; a petabyte leaves the end to the time.
func (p *Params) arguments() []string {
	args := []string{p.Test, fmt.Sprintf("--threads=%d", p.threads),
		fmt.Sprintf("--time=%d", int(p.Duration.Seconds())), "--events=0", "--report-interval=1"}
	if p.Test == CPU {
		args = append(args, fmt.Sprintf("--cpu-max-prime=%d", p.MaxPrime))
	} else {
		args = append(args, fmt.Sprintf("--memory-block-size=%d", p.BlockSize.Bytes()), "--memory-total-size=1P",
			"--memory-oper="+p.Operation, "--memory-access-mode="+p.Access)
	}
	return append(args, "run")
}

// Run runs the test and reports its rate; for cpu the 95th percentile of an
// event's time, too. (For memory that is below the resolution of the report.)
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	name, counted, resource := "sysbench_memory_bandwidth", "byte", model.ResourceMemory
	if p.Test == CPU {
		name, counted, resource = "sysbench_cpu_rate", "op", model.ResourceCPU
	}
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
		return fmt.Errorf("sysbench ended after %v of %v seconds: the rate would be for another duration", s.seconds, p.Duration.Seconds())
	}
	publisher.finish(s.total)
	env.Report.Sample(workload.Capacity(name, counted+"/s", s.rate, resource))
	p.Threads.Report(env.Report, p.threads)
	if p.Test == CPU {
		env.Report.Sample(workload.Info("sysbench_cpu_latency_p95", "ms", s.p95))
	}
	return nil
}

// execute runs sysbench and returns its standard output, a few kilobytes. The
// publisher sees each line when it is printed.
func (p *Params) execute(ctx context.Context, env *workload.Env, m *publisher) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, p.arguments()...)
	cmd.Env = env.Environ
	var text, complaint bytes.Buffer
	cmd.Stdout = io.MultiWriter(&text, &workload.Lines{Take: m.take}, env.Stdout)
	cmd.Stderr = io.MultiWriter(&complaint, env.Stderr)
	err := workload.RunTool(ctx, cmd, env.Report)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("sysbench %s ended with %w: %s", strings.Join(p.arguments(), " "), exit, workload.LastLine(complaint.String()+text.String()))
	}
	return text.String(), err
}

// summary is what sysbench says at its end, in base units.
type summary struct {
	rate    float64 // events, or bytes, a second
	total   float64 // events, or bytes
	seconds float64
	p95     float64 // of one event, ms
}

const mib = 1 << 20

// The lines of sysbench 1.0.20's report.
var (
	cpuRate     = regexp.MustCompile(`(?m)^\s*events per second:\s*([0-9.]+)\s*$`)
	transferred = regexp.MustCompile(`(?m)^([0-9.]+) MiB transferred \(([0-9.]+) MiB/sec\)\s*$`)
	totalTime   = regexp.MustCompile(`(?m)^\s*total time:\s*([0-9.]+)s\s*$`)
	totalEvents = regexp.MustCompile(`(?m)^\s*total number of events:\s*([0-9]+)\s*$`)
	percentile  = regexp.MustCompile(`(?m)^\s*95th percentile:\s*([0-9.]+)\s*$`)
)

// parseSummary reads the report of a test. A line that is missing is an error.
func parseSummary(test, text string) (s summary, err error) {
	find := func(line *regexp.Regexp, what string, into ...*float64) {
		m := line.FindStringSubmatch(text)
		if m == nil {
			err = cmp.Or(err, fmt.Errorf("the output of sysbench has no line %q: is it version 1.0?", what))
			return
		}
		for i, v := range into {
			var bad error
			if *v, bad = strconv.ParseFloat(m[i+1], 64); bad != nil {
				err = cmp.Or(err, fmt.Errorf("the output of sysbench: %s: %q is not a number", what, m[i+1]))
			}
		}
	}
	find(totalTime, "total time", &s.seconds)
	if test == CPU {
		find(cpuRate, "events per second", &s.rate)
		find(totalEvents, "total number of events", &s.total)
		find(percentile, "95th percentile", &s.p95)
	} else {
		find(transferred, "MiB transferred", &s.total, &s.rate)
		s.total, s.rate = s.total*mib, s.rate*mib
	}
	switch {
	case err != nil:
		return summary{}, err
	case s.rate <= 0 || s.seconds <= 0:
		return summary{}, fmt.Errorf("sysbench reports a rate of %v in %v seconds; nothing was measured", s.rate, s.seconds)
	}
	return s, nil
}

// The lines printed every second: `[ 1s ] thds: 1 eps: 4494.54 lat …` and
// `[ 1s ] 11038.74 MiB/sec`.
var (
	intervalCPU    = regexp.MustCompile(`^\[ \d+s \] thds: \d+ eps: ([0-9.]+)`)
	intervalMemory = regexp.MustCompile(`^\[ \d+s \] ([0-9.]+) MiB/sec`)
)

// parseInterval returns the rate of one interval, in events or bytes a second.
func parseInterval(line string) (float64, bool) {
	factor, m := 1.0, intervalCPU.FindStringSubmatch(line)
	if m == nil {
		factor, m = mib, intervalMemory.FindStringSubmatch(line)
	}
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	return v * factor, err == nil
}

// publisher turns lines into a progress counter.
type publisher struct {
	metric, unit string
	report       workload.Reporter
	now          func() time.Time

	last time.Time // of the line before
	done float64
}

func (m *publisher) take(text []byte) {
	line := string(text)
	if line == "Threads started!" {
		m.last = m.now()
		m.report.Progress(m.metric, m.unit, 0)
		return
	}
	rate, ok := parseInterval(line)
	if ok && !m.last.IsZero() {
		now := m.now()
		m.done += rate * now.Sub(m.last).Seconds()
		m.last = now
		m.report.Progress(m.metric, m.unit, m.done)
	}
}

// finish reports the exact total, unless rounding has carried the sum beyond
// it: a counter does not go back.
func (m *publisher) finish(total float64) {
	if total >= m.done {
		m.report.Progress(m.metric, m.unit, total)
	}
}
