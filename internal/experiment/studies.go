package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
)

// StudyEntry is the question of a file: its kind, and the kind's own
// parameters beside it.
type StudyEntry struct {
	Kind string `json:"kind" jsonschema:"required" jsonschema_description:"Which question."`
	// Study is the question with its parameters, valid.
	Study study.Study `json:"-"`
}

// Designer is a study that says what is measured.
type Designer struct {
	study.Designer
	Kind  string   // its name
	below []string // where its keys stand in the file
}

// In is the path in the file of what the study calls path: a key of its own, or
// one of the file.
func (d Designer) In(path string) string {
	own := append(keysOf(fieldsOf(reflect.TypeOf(study.Parameters(d.Designer)).Elem())), "kind")
	if first, _, _ := strings.Cut(path, "."); !slices.Contains(own, first) {
		return path
	}
	return strings.Join(append(slices.Clone(d.below), path), ".")
}

// readStudy reads the question that the file asks.
func (r *reader) readStudy(e *Experiment) {
	path := []string{"study"}
	if r.root.get("study") == nil {
		return
	}
	var entry StudyEntry
	s, ok := r.entry(path, &entry, r.kinds.studies()).(study.Study)
	if !ok {
		return
	}
	r.sourceNames(path, entry.Kind, study.Parameters(s))
	if _, err := s.Check(); err != nil {
		r.reportErrors(path, err)
	}
	if !r.clean(path...) {
		return
	}
	entry.Study = s
	e.Study = &entry
	kind, _ := r.kinds.Studies.Find(entry.Kind)
	if len(kind.Phases) == 0 {
		return
	}
	if r.root.get("evaluations") == nil {
		e.Evaluations = kind.Phases
		if kind.Named {
			e.Evaluations = kind.Phases[:1]
		}
	}
	for i, p := range e.Evaluations {
		if !slices.Contains(kind.Phases, p) {
			r.report([]string{"evaluations", strconv.Itoa(i)}, fmt.Sprintf("the study %s does not measure %s", kind.Name, p),
				"use "+strings.Join(phases(study.Registry{kind}), ", "))
		}
	}
}

// sourceNames refuses files as sources: they are read where a command runs, and the
// question of a file is answered where its run is stored.
func (r *reader) sourceNames(path []string, kind string, params any) {
	for _, f := range fieldsOf(reflect.TypeOf(params).Elem()) {
		v := reflect.ValueOf(params).Elem().FieldByIndex(f.index)
		if name, ok := v.Interface().(study.SourceName); ok && study.FileLike(string(name)) {
			r.report(extend(path, f.key), fmt.Sprintf("%q is a file, and files are read where the command runs", name),
				fmt.Sprintf("name a run or a campaign, or give the file to the command: scalebench %s RUN --%s %s",
					kind, f.key, name))
		}
	}
}

// asked is [Experiment.Asked].
func (e *Experiment) asked() (out model.Asked, err error) {
	add := func(kind string, s study.Study) {
		params, encoding := study.Encode(s)
		if out.Params == nil {
			out.Params = make(map[string]json.RawMessage)
		}
		out.Params[kind], err = params, errors.Join(err, encoding)
	}
	if e.Study != nil {
		out.Study = e.Study.Kind
		add(e.Study.Kind, e.Study.Study)
		return out, err
	}
	for _, d := range e.Designers {
		add(d.Kind, d.Designer)
	}
	return out, err
}

// phases are those that studies design, sorted.
func phases(studies study.Registry) (out []string) {
	for _, kind := range studies {
		for _, p := range kind.Phases {
			out = append(out, string(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// designers chooses who says what is measured: the study that the file names,
// or those of its evaluations. The latter have keys at the top of the file, too.
func (r *reader) designers(e *Experiment) {
	if e.Study != nil {
		if d, ok := e.Study.Study.(study.Designer); ok {
			e.Designers = []Designer{{d, e.Study.Kind, []string{"study"}}}
		}
	}
	if len(e.Designers) == 0 {
		for _, kind := range r.kinds.Studies {
			if d, ok := kind.New().(study.Designer); ok && !kind.Named && slices.ContainsFunc(kind.Phases, e.Has) {
				r.readTop(kind, d)
				e.Designers = append(e.Designers, Designer{d, kind.Name, nil})
			}
		}
	}
	if r.clean("study") && r.clean("evaluations") {
		r.unreadTop(e)
	}
}

// readTop reads the keys of a study that stand at the top of the file.
func (r *reader) readTop(kind study.Kind, d study.Designer) {
	params := reflect.ValueOf(study.Parameters(d)).Elem()
	fields := slices.DeleteFunc(fieldsOf(params.Type()), func(f field) bool { return !slices.Contains(kind.Top, f.key) })
	r.fields(r.root, nil, params, fields, kind.Top)
	if slices.ContainsFunc(kind.Top, func(key string) bool { return !r.clean(key) }) {
		return
	}
	if _, err := d.Check(); err != nil {
		r.reportErrors(nil, err)
	}
}

// unreadTop notes keys of studies at the top of the file that none of its
// designers reads.
func (r *reader) unreadTop(e *Experiment) {
	for _, kind := range r.kinds.Studies {
		if slices.ContainsFunc(e.Designers, func(d Designer) bool { return d.Kind == kind.Name && d.below == nil }) {
			continue
		}
		for _, key := range kind.Top {
			switch at := r.root.key(key); {
			case at == nil:
			case e.Study != nil && e.Study.Kind == kind.Name:
				r.reportAt(r.place(at), []string{key}, "the file names a study, which reads its own keys only", "put it below study:")
			default:
				r.reportAt(r.place(at), []string{key}, fmt.Sprintf("only the study %s reads it, for evaluations %s", kind.Name, strings.Join(phases(study.Registry{kind}), ", ")), "remove it")
			}
		}
	}
}

// WithLevels returns workload i as a treatment sets it: with these parameters in
// the place of those of the file, and checked like those. What the workload does
// not take is a model.ErrUsage.
func (e *Experiment) WithLevels(i int, levels map[string]any) (Workload, error) {
	src, err := json.Marshal(levels)
	if err != nil {
		return Workload{}, fmt.Errorf("encoding levels: %w", err)
	}
	probs := &problems{file: e.SourceName}
	set := readJSON(src, probs)
	if set == nil {
		return Workload{}, probs.err()
	}
	r := newReader(e.file.changed(i, set, probs), e.kinds)
	as := Experiment{Fleet: e.Fleet, Timeouts: e.Timeouts}
	r.workload(&as, i)
	if err := probs.err(); err != nil {
		return Workload{}, err
	}
	return as.Workloads[0], nil
}

// changed returns the file with other parameters in workload i. What is not
// changed is shared.
func (f *yamlFile) changed(i int, set *yamlFile, probs *problems) *yamlFile {
	root, list := *f.root, *(*yaml.Node)((*value)(f.root).get("workloads"))
	entry := *list.Content[i]
	out := &yamlFile{root: &root, origin: maps.Clone(f.origin), probs: probs}
	out.mark(set.root, f.pos(&entry))
	common := keysOf(fieldsOf(reflect.TypeFor[Workload]()))
	entry.Content = slices.Clone(entry.Content)
	for key, val := range (*value)(set.root).members() {
		if slices.Contains(common, key.Value) {
			probs.add(f.pos(&entry), []string{"workloads", (*value)(&entry).entryName(), key.Value}, "a treatment sets parameters of the benchmark only", "")
		}
		if at := keyIndex((*value)(&entry), key.Value); at >= 0 {
			entry.Content = slices.Delete(entry.Content, at, at+2)
		}
		entry.Content = append(entry.Content, (*yaml.Node)(key), (*yaml.Node)(val))
	}
	list.Content = slices.Clone(list.Content)
	list.Content[i] = &entry
	root.Content = slices.Clone(root.Content)
	root.Content[keyIndex((*value)(&root), "workloads")+1] = &list
	return out
}
