// Package command runs any command as a benchmark and takes metrics from what
// it prints.
//
//  1. The command goes through a shell, so that cd, ~, * and | work.
//  2. What it prints passes through to the result; meanwhile lines of its
//     standard output may be read as a progress counter.
//  3. The run ends with the command's process. What it left in the background
//     gets a second to finish printing and is killed with the task.
//  4. A command that ends with another status than 0 has failed, whatever it
//     printed.
//  5. Metrics are extracted from the output; one that is missing or no number
//     fails the task and the message shows what was printed. Besides, the time
//     from start to end is always reported as `elapsed`.
//
// Extraction works on up to 16 MiB of each stream: all of it, or, when it is
// longer, the first and the last whole lines of 8 MiB each.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/environ"
	"github.com/scalebench/scalebench/internal/expression"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Params are the parameters of the workload.
type Params struct {
	Command  string            `json:"command" jsonschema:"description=What to run; the shell reads it,minLength=1"`
	Path     string            `json:"path,omitempty" jsonschema:"description=PATH of the command: directories separated by colons; without it the PATH of the agent"`
	Shell    string            `json:"shell,omitempty" jsonschema:"description=The shell that reads the command with -c,default=/bin/sh"`
	Dir      string            `json:"dir,omitempty" jsonschema:"description=Working directory; a leading ~ is the home directory; without it that of the agent"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"description=Variables to add to the environment"`
	PassEnv  []string          `json:"pass_env,omitempty" jsonschema:"description=Names of variables of the agent's environment that the command gets; their values are stored nowhere"`
	Metrics  []Metric          `json:"metrics,omitempty" jsonschema:"description=What to read from the output; without metrics the elapsed time is the metric"`
	Progress *Progress         `json:"progress,omitempty" jsonschema:"description=A counter of the work done to read from the lines of standard output while the command runs"`
	Expected unit.Duration     `json:"expected,omitempty" jsonschema:"description=Expected duration of the command; only used for the plan's estimate"`
}

// Metric is one number to read from the output. Exactly one of JSON, Regex and
// Number says how.
type Metric struct {
	Name   string       `json:"name" jsonschema:"description=Name of the metric,pattern=^[A-Za-z_][A-Za-z0-9_.-]*$"`
	Unit   string       `json:"unit,omitempty" jsonschema:"description=Unit of the number as printed; it is not converted"`
	Better model.Better `json:"better,omitempty" jsonschema:"description=Which direction is good,enum=higher,enum=lower,default=higher"`
	JSON   string       `json:"json,omitempty" jsonschema:"description=A jq expression that gives one number: .jobs[0].read.bw; the output is one JSON document or its last line is one"`
	Regex  string       `json:"regex,omitempty" jsonschema:"description=A regular expression (RE2) with one group around the number; the last match counts"`
	Number bool         `json:"number,omitempty" jsonschema:"description=The whole output is the number"`
	From   string       `json:"from,omitempty" jsonschema:"description=Which stream to read,enum=stdout,enum=stderr,default=stdout"`
}

// Progress says how to read a counter from the lines of standard output. Its
// value must be the work done since the start. Exactly one of JSON and Regex
// says how; lines that do not match are no progress.
type Progress struct {
	Metric string `json:"metric,omitempty" jsonschema:"description=The metric that the counter explains; the first one if none is named"`
	Unit   string `json:"unit" jsonschema:"description=What is counted: op or byte or another unit,minLength=1"`
	JSON   string `json:"json,omitempty" jsonschema:"description=A jq expression that gives the counter from a line that is a JSON document"`
	Regex  string `json:"regex,omitempty" jsonschema:"description=A regular expression (RE2) with one group around the counter"`
}

// Elapsed is the metric that every command has: seconds from the start to the
// end of its process; lower is better.
const Elapsed = "elapsed"

// DefaultShell reads a command that names no shell.
const DefaultShell = "/bin/sh"

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "command",
		Summary: "Any command; metrics by jq expression, regular expression or whole-output number, or its elapsed time.",
		New:     func() workload.Workload { return &Params{Shell: DefaultShell} },
	}
}

// Estimate implements workload.Workload.
func (p *Params) Estimate() time.Duration { return p.Expected.Std() }

// UsesEnviron implements workload.EnvironUser.
func (p *Params) UsesEnviron() (names, patterns []string) { return p.PassEnv, nil }

// Prepare checks that shell, directory and variables exist: a missing one must
// fail before the start that others wait for.
func (p *Params) Prepare(_ context.Context, env *workload.Env) error {
	if missing := environ.Missing(env.Environ, p.PassEnv); len(missing) > 0 {
		return fmt.Errorf("pass_env names %s, which the agent's environment lacks: set it where the agent starts", strings.Join(missing, ", "))
	}
	if _, err := os.Stat(p.Shell); err != nil {
		return fmt.Errorf("the shell of the command: %w", err)
	}
	dir, err := p.directory(env.Environ)
	if err != nil || dir == "" {
		return err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return fmt.Errorf("the directory of the command: %w", err)
	}
	return nil
}

// directory returns the working directory, with ~ replaced; "" for the agent's.
func (p *Params) directory(environ []string) (string, error) {
	if p.Dir != "~" && !strings.HasPrefix(p.Dir, "~/") {
		return p.Dir, nil
	}
	home, ok := workload.Getenv(environ, "HOME")
	if !ok {
		return "", errors.New("the directory of the command begins with ~, and HOME is not set: use an absolute path")
	}
	return filepath.Join(home, p.Dir[1:]), nil
}

// environ returns the command's environment. Of two entries with one name the
// later one counts.
func (p *Params) environ(base []string) []string {
	env := slices.Clone(base)
	for name, value := range p.Env {
		env = append(env, name+"="+value)
	}
	if p.Path != "" {
		env = append(env, "PATH="+p.Path)
	}
	return env
}

// Run runs the command, and reads its metrics when it has ended well.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	x, err := p.start(ctx, env)
	if err != nil {
		return err
	}
	elapsed, err := x.wait(ctx)
	if code := x.cmd.ProcessState.ExitCode(); code >= 0 { // it was not killed by a signal
		env.Report.ExitCode(code)
	}
	if err != nil {
		return err
	}
	// Beside metrics of the user's own it describes; alone it is the metric.
	env.Report.Sample(model.Sample{Metric: Elapsed, Unit: "s", Value: elapsed.Seconds(), Better: model.Lower, Info: len(p.Metrics) > 0})
	var errs []error
	for _, m := range p.Metrics {
		value, err := m.read(ctx, x.text(m.From))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		env.Report.Sample(model.Sample{Metric: m.Name, Unit: m.Unit, Value: value, Better: cmp.Or(m.Better, model.Higher)})
	}
	return errors.Join(errs...)
}

func invalid(field, problem, allowed string) error {
	return &model.InputError{Path: field, Problem: problem, Allowed: allowed}
}

// Validate implements workload.Workload. It reports all problems at once.
func (p *Params) Validate() error {
	problem, allowed := environ.Check(p.PassEnv)
	errs := []error{
		workload.Invalid(strings.TrimSpace(p.Command) == "", "command", "is missing",
			"write the command that the shell runs"),
		workload.Refuse(!filepath.IsAbs(p.Shell), "shell", "a path such as /bin/sh", "%q is not an absolute path", p.Shell),
		workload.Invalid(problem != "", "pass_env", problem, allowed),
	}
	bad := func(field, problem, allowed string) { errs = append(errs, invalid(field, problem, allowed)) }
	for name := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			bad("env", fmt.Sprintf("%q cannot name a variable", name), "use names without =")
		}
	}
	for _, name := range p.PassEnv {
		if _, ok := p.Env[name]; ok {
			bad("pass_env", name+" stands in env as well", "leave out one of them")
		}
	}
	seen := map[string]bool{Elapsed: true}
	for i, m := range p.Metrics {
		field := fmt.Sprintf("metrics[%d]", i)
		if seen[m.Name] {
			bad(field+".name", fmt.Sprintf("%q is already used", m.Name), "give each metric its own name; elapsed is the time of the command")
		}
		seen[m.Name] = true
		errs = append(errs, m.validate(field))
	}
	if p.Progress != nil {
		errs = append(errs, p.Progress.validate(p))
	}
	return errors.Join(errs...)
}

func (m Metric) validate(field string) error {
	ways := 0
	for _, given := range []bool{m.JSON != "", m.Regex != "", m.Number} {
		if given {
			ways++
		}
	}
	switch {
	case m.Name == "":
		return invalid(field+".name", `"" cannot name a metric`,
			"use letters, digits, _ . and -, beginning with a letter or _")
	case ways != 1:
		return invalid(field, fmt.Sprintf("%d ways to read the number are given", ways),
			"use exactly one of json, regex and number: true")
	}
	return validateSource(field, m.JSON, m.Regex)
}

// validateSource checks whichever of the two expressions is given.
func validateSource(field, json, regex string) error {
	if json != "" {
		if _, err := compileJSON(json); err != nil {
			return invalid(field+".json", fmt.Sprintf("%q is not a jq expression: %v", json, err), "use a path such as .results[0].rate")
		}
	}
	if regex != "" {
		re, err := expression.Regexp(regex)
		if err != nil {
			return invalid(field+".regex", err.Error(), "use a regular expression in RE2's syntax")
		}
		if re.NumSubexp() != 1 {
			return invalid(field+".regex", fmt.Sprintf("%q has %d groups", regex, re.NumSubexp()), "use exactly one group ( ) around the number, and (?: ) for the others")
		}
	}
	return nil
}

func (g *Progress) validate(p *Params) error {
	switch {
	case g.Unit == "":
		return invalid("progress.unit", "is missing", "name what is counted: op, byte, …")
	case (g.JSON == "") == (g.Regex == ""):
		return invalid("progress", "needs one way to read the counter", "use exactly one of json and regex")
	case p.progressMetric() == "":
		return invalid("progress.metric", fmt.Sprintf("%q is not one of the metrics", g.Metric), "use a name from metrics")
	}
	return validateSource("progress", g.JSON, g.Regex)
}

// progressMetric is the metric that the progress counter explains; "" if it is
// none of the metrics.
func (p *Params) progressMetric() string {
	for _, m := range p.Metrics {
		if p.Progress.Metric == "" || m.Name == p.Progress.Metric {
			return m.Name
		}
	}
	return ""
}
