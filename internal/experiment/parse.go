package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Kinds are what a file may name: benchmarks and questions.
type Kinds struct {
	Workloads workload.Registry
	Studies   study.Registry
}

// kind is what the kinds of workloads and of studies have in common.
type kind struct {
	name, summary string
	// defaults makes a workload or a study, and a pointer to its parameters.
	defaults func() (made, params any)
}

// workloads are the kinds of workloads by name, studies those of studies.
func (k Kinds) workloads() (all []kind) {
	for _, name := range k.Workloads.Names() {
		w := k.Workloads[name]
		all = append(all, kind{name, w.Summary, func() (made, params any) { x := w.New(); return x, x }})
	}
	return all
}

func (k Kinds) studies() (all []kind) {
	for _, s := range k.Studies {
		all = append(all, kind{s.Name, s.Summary, func() (made, params any) { x := s.New(); return x, study.Parameters(x) }})
	}
	slices.SortFunc(all, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return all
}

// Parse reads an experiment file: its name is used in messages and, without
// its ending, as the default name of the experiment; set holds overrides
// "key.path=value", in which "null" removes a key. The error is a
// model.InputErrors with everything that is wrong.
func Parse(name string, src []byte, kinds Kinds, set []string) (*Experiment, error) {
	probs := &problems{file: name}
	file := readYAML(src, probs)
	if file == nil {
		return nil, probs.err()
	}
	first, rest := choices(set)
	file.set(first)
	if !file.choose() {
		return nil, probs.err() // what else is wrong depends on it
	}
	file.set(rest)
	r := newReader(file, kinds)
	e := r.experiment()
	if err := probs.err(); err != nil {
		return nil, err
	}
	e.SourceName, e.file, e.kinds = filepath.Base(name), file, kinds
	if e.Name == "" {
		e.Name = defaultName(name)
	}
	var err error
	if e.Asked, err = e.asked(); err != nil {
		return nil, err
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
	b, err := yaml.Dump(f.withoutChoice(), yaml.WithLineWidth(-1))
	if err != nil {
		return "", fmt.Errorf("writing the experiment with its overrides: %w", err)
	}
	return string(b), nil
}

type reader struct {
	*decoder
	kinds Kinds
}

func newReader(file *yamlFile, kinds Kinds) *reader {
	d := newDecoder(file)
	d.phases = phases(kinds.Studies)
	return &reader{decoder: d, kinds: kinds}
}

// experiment reads the whole file. Of one with problems it returns the parts
// that are right.
func (r *reader) experiment() *Experiment {
	e := defaults()
	top := shapeOf(reflect.TypeFor[Experiment](), "")
	for _, kind := range r.kinds.Studies {
		top.keys = append(top.keys, kind.Top...)
	}
	slices.Sort(top.keys)
	if !r.decode(r.root, nil, reflect.ValueOf(&e).Elem(), top) && !r.root.isObject() {
		return &e
	}
	r.checkTop(&e)
	r.readStudy(&e)
	r.designers(&e)
	if list := r.root.get("workloads"); list != nil && r.workloadList(list) {
		for i := range list.items() {
			r.workload(&e, i)
		}
		r.checkNames(list)
	}
	return &e
}

func (r *reader) workloadList(list *value) bool {
	f, _ := reflect.TypeFor[Experiment]().FieldByName("Workloads")
	s := shapeOf(f.Type, f.Tag.Get("jsonschema"))
	path := []string{"workloads"}
	if !s.holds(list) {
		problem, allowed := wrongType(list, s)
		r.report(path, problem, allowed)
		return false
	}
	r.length(len(list.items()), path, s)
	return true
}

// entry decodes a group of keys that names its kind: what every kind has into
// common, a pointer to a struct, and the rest into the kind's parameters. It
// returns the workload or study, or nil where the entry is wrong. also are further keys that it
// may have.
func (r *reader) entry(path []string, common any, kinds []kind, also ...string) any {
	v := r.root.find(path)
	if !v.isObject() {
		problem, allowed := wrongEntry(v, path, kinds)
		r.report(path, problem, allowed)
		return nil
	}
	into := reflect.ValueOf(common).Elem()
	fields := fieldsOf(into.Type())
	for i := range fields {
		if fields[i].key == "kind" {
			for _, k := range kinds {
				fields[i].shape.enum = append(fields[i].shape.enum, k.name)
			}
		}
	}
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == v.get("kind").text() })
	if at < 0 {
		r.fields(v, path, into, fields, keysOf(fields)) // its own keys cannot be judged
		return nil
	}
	made, params := kinds[at].defaults()
	own := fieldsOf(reflect.TypeOf(params).Elem())
	known := keysOf(slices.Concat(fields, own))
	r.fields(v, path, into, fields, known)
	r.unknownKeys(v, path, known, also...)
	filled := r.withStandIns(v, path)
	r.fields(filled, path, reflect.ValueOf(params).Elem(), own, known)
	if !r.clean(path...) {
		return nil
	}
	return made
}

// own are the keys of an entry that are its kind's alone, as in the file.
func (v *value) own(common any) map[string]any {
	keys := keysOf(fieldsOf(reflect.TypeOf(common).Elem()))
	out := map[string]any{}
	for key, val := range v.members() {
		if !slices.Contains(keys, key.Value) {
			out[key.Value] = val.plain()
		}
	}
	return out
}

// Fill sets the parameters of a study that were given apart from a file, by
// their JSON keys: params is a pointer to their struct, studies are those that
// there are. What the tags do not allow is a model.InputErrors, in which keys
// have no place.
func Fill(params any, given map[string]json.RawMessage, studies study.Registry) error {
	src, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("encoding the parameters: %w", err)
	}
	probs := &problems{}
	file := readJSON(src, probs)
	if file == nil {
		return probs.err()
	}
	into := reflect.ValueOf(params).Elem()
	fields := fieldsOf(into.Type())
	known := keysOf(fields)
	d := newDecoder(file)
	d.phases = phases(studies)
	d.unknownKeys(d.root, nil, known)
	d.fields(d.root, nil, into, slices.DeleteFunc(fields, func(f field) bool { return d.root.get(f.key) == nil }), known)
	for i := range probs.list {
		probs.list[i].Line, probs.list[i].Col = 0, 0
	}
	return probs.err()
}

// workload adds entry i of workloads to the experiment if nothing is wrong
// with it.
func (r *reader) workload(e *Experiment, i int) {
	path := []string{"workloads", strconv.Itoa(i)}
	var w Workload
	v := r.root.find(path)
	moved := r.moved(v, path, v.get("kind").text())
	bench, ok := r.entry(path, &w, r.kinds.workloads(), moved...).(workload.Workload)
	if !ok {
		return
	}
	w.Bench, w.Params = bench, v.own(&w)
	if w.Name == "" {
		w.Name = w.Kind
	}
	r.checkWorkload(&w, e, v, path)
	r.checkVolume(&w, e, path)
	e.Workloads = append(e.Workloads, w)
}

// checkWorkload fills in what the entry leaves out, and notes what the workload
// has to say against it.
func (r *reader) checkWorkload(w *Workload, e *Experiment, v *value, path []string) {
	timeoutAt := extend(path, "timeout")
	if v.get("timeout") == nil {
		w.Timeout, timeoutAt = e.Timeouts.Task, path
	} else if w.Timeout <= 0 {
		r.report(timeoutAt, "a timeout must be longer than 0s", "")
		return
	}
	err := w.Bench.Validate()
	// A study that the file names may set what is missing; then that is seen with each
	// treatment.
	if c, ok := w.Bench.(workload.Completer); ok && err == nil && e.Study == nil && r.clean("study") {
		err = c.Complete()
	}
	if err != nil {
		r.reportErrors(path, err)
		return
	}
	if need := unit.Duration(w.Bench.Estimate()); w.Timeout > 0 && need >= w.Timeout {
		r.report(timeoutAt, fmt.Sprintf("the timeout of %s is too short", w.Timeout),
			fmt.Sprintf("a task of this workload takes about %s", need))
	}
}

// reportErrors notes the errors of a value that another package checked: a
// workload its parameters, a lab its specification.
func (r *reader) reportErrors(path []string, err error) {
	for _, one := range model.Single(err) {
		if p, ok := errors.AsType[*model.InputError](one); ok {
			r.report(slices.Concat(path, fieldPath(p.Path)), p.Problem, p.Allowed)
		} else {
			r.report(path, one.Error(), "")
		}
	}
}

// fieldPath turns "metrics[0].json" into metrics, 0, json.
func fieldPath(field string) []string {
	return strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

// checkNames notes workloads of the same name. Unnamed ones are named after
// their kind.
func (r *reader) checkNames(list *value) {
	first := map[string]pos{}
	for i, item := range list.items() {
		name := item.entryName()
		was, taken := first[name]
		if !taken {
			first[name] = r.place(item)
			continue
		}
		if name == "" {
			continue // it has no kind either, which was noted
		}
		path := []string{"workloads", strconv.Itoa(i)}
		at, problem := r.place(item), fmt.Sprintf("two workloads are named %q", name)
		if n := item.get("name"); n != nil {
			at, path = r.place(n), append(path, "name")
		} else {
			problem += " (without name: a workload is named after its kind)"
		}
		r.reportAt(at, path, problem, fmt.Sprintf("the first is %s; give each its own name", was.where()))
	}
}
