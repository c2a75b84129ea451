package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Validate implements workload.Workload. It reports all problems at once.
func (p *Params) Validate() error {
	var errs []error
	bad := func(field, problem, allowed string) {
		errs = append(errs, &workload.FieldError{Field: field, Problem: problem, Allowed: allowed})
	}
	if strings.TrimSpace(p.Command) == "" {
		bad("command", "there is none", "write what the shell shall run")
	}
	if !filepath.IsAbs(p.Shell) {
		bad("shell", fmt.Sprintf("%q is not an absolute path", p.Shell), "allowed is a path such as /bin/sh")
	}
	for name := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			bad("env", fmt.Sprintf("%q cannot name a variable", name), "allowed are names without =")
		}
	}
	seen := map[string]bool{Elapsed: true}
	for i, m := range p.Metrics {
		field := fmt.Sprintf("metrics[%d]", i)
		if seen[m.Name] {
			bad(field+".name", fmt.Sprintf("%q is taken", m.Name), "each metric needs a name of its own; elapsed is the time of the command")
		}
		seen[m.Name] = true
		errs = append(errs, m.validate(field))
	}
	if p.Progress != nil {
		errs = append(errs, p.Progress.validate(p))
	}
	return errors.Join(errs...)
}

var metricName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func (m Metric) validate(field string) error {
	ways := 0
	for _, given := range []bool{m.JSON != "", m.Regex != "", m.Number} {
		if given {
			ways++
		}
	}
	switch {
	case !metricName.MatchString(m.Name):
		return &workload.FieldError{Field: field + ".name", Problem: fmt.Sprintf("%q cannot name a metric", m.Name), Allowed: "allowed are letters, digits, _ . and -, a letter or _ first"}
	case ways != 1:
		return &workload.FieldError{Field: field, Problem: fmt.Sprintf("%d ways to read the number are given", ways), Allowed: "exactly one of json, regex and number: true is needed"}
	case m.Better != "" && m.Better != model.Higher && m.Better != model.Lower:
		return &workload.FieldError{Field: field + ".better", Problem: fmt.Sprintf("%q is no direction", m.Better), Allowed: "allowed is higher or lower"}
	case m.From != "" && m.From != "stdout" && m.From != "stderr":
		return &workload.FieldError{Field: field + ".from", Problem: fmt.Sprintf("%q is no stream", m.From), Allowed: "allowed is stdout or stderr"}
	}
	return validateSource(field, m.JSON, m.Regex)
}

// validateSource checks whichever of the two expressions is given.
func validateSource(field, json, regex string) error {
	if json != "" {
		if _, err := compileJSON(json); err != nil {
			return &workload.FieldError{Field: field + ".json", Problem: fmt.Sprintf("%q is no jq expression: %v", json, err), Allowed: "allowed is a path such as .results[0].rate"}
		}
	}
	if regex != "" {
		re, err := regexp.Compile(regex)
		if err != nil {
			return &workload.FieldError{Field: field + ".regex", Problem: err.Error(), Allowed: "allowed is a regular expression in RE2's syntax"}
		}
		if re.NumSubexp() != 1 {
			return &workload.FieldError{Field: field + ".regex", Problem: fmt.Sprintf("%q has %d groups", regex, re.NumSubexp()), Allowed: "exactly one group ( ) around the number is needed; write (?: ) for the others"}
		}
	}
	return nil
}

func compileJSON(expression string) (*gojq.Code, error) {
	q, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(q)
}

func (g *Progress) validate(p *Params) error {
	switch {
	case g.Unit == "":
		return &workload.FieldError{Field: "progress.unit", Problem: "there is none", Allowed: "say what is counted: op, byte, …"}
	case (g.JSON == "") == (g.Regex == ""):
		return &workload.FieldError{Field: "progress", Problem: "it needs one way to read the counter", Allowed: "exactly one of json and regex is needed"}
	case p.progressMetric() == "":
		return &workload.FieldError{Field: "progress.metric", Problem: fmt.Sprintf("%q is none of the metrics", g.Metric), Allowed: "name one of metrics"}
	}
	return validateSource("progress", g.JSON, g.Regex)
}

// progressMetric is the metric that the progress counter explains; "" if it is
// none of the metrics.
func (p *Params) progressMetric() string {
	if p.Progress.Metric == "" && len(p.Metrics) > 0 {
		return p.Metrics[0].Name
	}
	for _, m := range p.Metrics {
		if m.Name == p.Progress.Metric {
			return m.Name
		}
	}
	return ""
}
