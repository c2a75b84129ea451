package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Parse reads an experiment file: its name is used in messages and, without
// its ending, as the default name of the experiment; reg knows the workloads;
// set holds overrides "key.path=value", in which "null" removes a key. The
// error is an [Errors] with everything that is wrong, a model.ErrUsage; any
// other error is a defect of a workload's parameters in reg.
func Parse(name string, src []byte, reg workload.Registry, set []string) (*Experiment, error) {
	probs := &problems{file: name}
	file := readYAML(src, probs)
	if file == nil {
		return nil, probs.err()
	}
	file.set(set)
	root := file.tree(file.root)
	schema, err := experimentSchema(reg)
	if err != nil {
		return nil, err
	}
	c, err := compile(schema)
	if err != nil {
		return nil, err
	}
	e := decode(root, c.check(root, probs), reg)
	if err := probs.err(); err != nil {
		return nil, err
	}
	e.SourceName, e.root = filepath.Base(name), root
	if e.Name == "" {
		e.Name = defaultName(name)
	}
	e.Source, err = file.effective(src, set)
	return e, err
}

// defaultName is the file's name without directory and ending; what cannot be
// a name is replaced.
func defaultName(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if base == "" || base == "." || base == "-" || checkLine(base) != nil {
		return "experiment"
	}
	return clip(base)
}

// effective returns the file as executed: itself when nothing was overridden.
func (f *yamlFile) effective(src []byte, set []string) (string, error) {
	if len(set) == 0 {
		return string(src), nil
	}
	b, err := yaml.Dump(f.root, yaml.WithLineWidth(-1))
	if err != nil {
		return "", fmt.Errorf("writing the experiment with its overrides: %w", err)
	}
	return string(b), nil
}

// decode fills an experiment from the parts of the tree that are right, and
// notes what only meaning shows to be wrong in them.
func decode(root *value, c *checker, reg workload.Registry) *Experiment {
	e := defaults()
	if root.kind != objectValue {
		return &e
	}
	top := *root
	top.members = slices.DeleteFunc(slices.Clone(root.members), func(m member) bool { return m.key == "workloads" })
	if err := decodeOver(&e, c.rightPart(&top, nil)); err != nil {
		c.report(nil, err.Error(), "")
	}
	c.checkTop(&e)
	if list := root.get("workloads"); list != nil && list.kind == arrayValue {
		for i := range list.items {
			c.decodeWorkload(&e, i, reg)
		}
		c.checkNames(list)
	}
	return &e
}

// rightPart returns the value without the keys and lists that were complained
// about, so that the rest can be looked at further.
func (c *checker) rightPart(v *value, path []string) any {
	if v.kind != objectValue {
		return v.plain()
	}
	m := make(map[string]any, len(v.members))
	for _, e := range v.members {
		sub := extend(path, e.key)
		if c.clean(sub...) || (e.value.kind == objectValue && !c.blamed[pathKey(sub)]) {
			m[e.key] = c.rightPart(e.value, sub)
		}
	}
	return m
}

// decodeOver decodes a JSON value over defaults.
func decodeOver(into any, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Bounds that the schema cannot express for quantities.
const (
	minOutput   = unit.KiB
	maxOutput   = 256 * unit.KiB // stdout, stderr and the series share one message of the queue
	maxArtifact = unit.GiB
)

// checkTop notes impossible values outside the workloads.
func (c *checker) checkTop(e *Experiment) {
	for key, d := range map[string]unit.Duration{"task": e.Timeouts.Task, "ready": e.Timeouts.Ready, "node": e.Timeouts.Node} {
		if d <= 0 {
			c.report([]string{"timeouts", key}, "a timeout must be longer than 0s", "")
		}
	}
	if e.Output.Limit < minOutput || e.Output.Limit > maxOutput {
		c.report([]string{"output", "limit"}, fmt.Sprintf("%s is not possible", e.Output.Limit), fmt.Sprintf("allowed is %s to %s", minOutput, maxOutput))
	}
	if e.Output.Artifact > maxArtifact {
		c.report([]string{"output", "artifact"}, fmt.Sprintf("%s is too large", e.Output.Artifact), fmt.Sprintf("allowed is 0B to %s", maxArtifact))
	}
	c.checkLab(e)
	c.checkServices(e)
	c.checkSizes(e)
}

// decodeWorkload adds entry i of workloads to the experiment if nothing is
// wrong with it.
func (c *checker) decodeWorkload(e *Experiment, i int, reg workload.Registry) {
	path := []string{"workloads", strconv.Itoa(i)}
	if !c.clean(path...) {
		return
	}
	entry, ok := c.root.find(path).plain().(map[string]any)
	kind, known := reg[c.root.find(path).get("kind").text()]
	if !ok || !known {
		return // the schema has complained
	}
	common, params := split(entry)
	w := Workload{Params: params, Bench: kind.New()}
	if err := decodeOver(&w, common); err != nil {
		c.report(path, err.Error(), "")
		return
	}
	c.finish(&w, e, path)
	c.checkVolume(&w, e, path)
	e.Workloads = append(e.Workloads, w)
}

// split divides an entry into the keys of every kind and the kind's own.
func split(entry map[string]any) (common, params map[string]any) {
	common, params = map[string]any{}, map[string]any{}
	for k, v := range entry {
		switch k {
		case "name", "kind", "timeout", "on":
			common[k] = v
		default:
			params[k] = v
		}
	}
	return common, params
}

// finish decodes the parameters of a workload, fills in what the entry leaves
// out, and notes what the workload has to say against it.
func (c *checker) finish(w *Workload, e *Experiment, path []string) {
	if w.Name == "" {
		w.Name = w.Kind
	}
	timeoutAt := extend(path, "timeout")
	if c.root.find(path).get("timeout") == nil {
		w.Timeout, timeoutAt = e.Timeouts.Task, path
	} else if w.Timeout <= 0 {
		c.report(timeoutAt, "a timeout must be longer than 0s", "")
		return
	}
	params, ok := c.withStandIns(w.Params, e, path)
	if !ok {
		return
	}
	if err := decodeOver(w.Bench, params); err != nil {
		c.decodeProblem(path, err)
		return
	}
	if err := w.Bench.Validate(); err != nil {
		c.validateProblems(path, err)
		return
	}
	if need := unit.Duration(w.Bench.Estimate()); w.Timeout > 0 && need >= w.Timeout {
		c.report(timeoutAt, fmt.Sprintf("the timeout of %s is too short", w.Timeout),
			fmt.Sprintf("a task of this workload takes about %s", need))
	}
}

// decodeProblem notes why parameters that fit the schema do not fit the Go
// type: a number that is too large for its field.
func (c *checker) decodeProblem(path []string, err error) {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		c.report(slices.Concat(path, strings.Split(te.Field, ".")), te.Value+" is not possible", "")
		return
	}
	c.report(path, err.Error(), "")
}

// validateProblems notes what a workload says against its parameters, or a lab
// against its specification.
func (c *checker) validateProblems(path []string, err error) {
	var joined interface{ Unwrap() []error }
	var fe *workload.FieldError
	var le *lab.FieldError
	switch {
	case errors.As(err, &joined):
		for _, one := range joined.Unwrap() {
			c.validateProblems(path, one)
		}
	case errors.As(err, &fe):
		c.report(slices.Concat(path, fieldPath(fe.Field)), fe.Problem, fe.Allowed)
	case errors.As(err, &le):
		c.report(slices.Concat(path, fieldPath(le.Field)), le.Problem, le.Allowed)
	default:
		c.report(path, err.Error(), "")
	}
}

// fieldPath turns "metrics[0].json" into metrics, 0, json.
func fieldPath(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// checkNames notes workloads of the same name. Unnamed ones are named after
// their kind.
func (c *checker) checkNames(list *value) {
	first := map[string]pos{}
	for i, item := range list.items {
		name := item.entryName()
		was, taken := first[name]
		if !taken {
			first[name] = item.at
			continue
		}
		if name == "" {
			continue // it has no kind either; the schema has complained
		}
		path := []string{"workloads", strconv.Itoa(i)}
		at, problem := item.at, fmt.Sprintf("a second workload named %q", name)
		if n := item.get("name"); n != nil {
			at, path = n.at, append(path, "name")
		} else {
			problem += " (a workload without a name has that of its kind)"
		}
		c.reportAt(at, path, problem, fmt.Sprintf("the first is %s; give each a name of its own", was.where()))
	}
}
