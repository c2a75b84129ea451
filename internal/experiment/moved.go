package experiment

import (
	"fmt"
	"reflect"
	"slices"

	invopop "github.com/invopop/jsonschema"

	"github.com/scalebench/scalebench/internal/study"
)

// A key of a study with the tag `at:"KIND"` may also stand at a workload of that
// kind: there it holds for that workload alone. The study reads it from the
// workload's parameters; here it is checked by the tags of the study.

// moved checks the keys of a workload that are a study's, and returns them.
func (r *reader) moved(v *value, path []string, kind string) []string {
	var all []string
	for _, k := range r.kinds.Studies {
		s := k.New()
		params := reflect.ValueOf(study.Parameters(s)).Elem()
		fields := slices.DeleteFunc(fieldsOf(params.Type()), func(f field) bool {
			return f.at != kind || kind == "" || v.get(f.key) == nil
		})
		if len(fields) == 0 {
			continue
		}
		keys := keysOf(fields)
		all = append(all, keys...)
		r.fields(v, path, params, fields, keys)
		if _, err := s.Check(); err != nil && r.clean(path...) {
			r.reportErrors(path, err)
		}
		r.twice(k, keys, path)
	}
	return all
}

// twice reports keys of a study that stand at a workload, where the file names a
// study that has them, too, or has no use for them.
func (r *reader) twice(k study.Kind, keys, path []string) {
	asked := r.root.get("study")
	if asked == nil {
		return
	}
	for _, key := range keys {
		switch named := asked.get("kind").text(); {
		case named != k.Name:
			r.report(extend(path, key), fmt.Sprintf("it is a key of the study %s, and the file asks for %s", k.Name, named), "leave it out")
		case asked.get(key) != nil:
			r.report(extend(path, key), "it also stands below study", "leave one of the two out: below study it holds for all workloads, here for this one")
		}
	}
}

// addMoved describes these keys among those of the workloads.
func addMoved(defs invopop.Definitions, reg study.Registry) {
	for _, k := range reg {
		params := study.Parameters(k.New())
		s := reflectSchema(params)
		for _, f := range fieldsOf(reflect.TypeOf(params).Elem()) {
			p, _ := s.Properties.Get(f.key)
			if workload := defs["workload-"+f.at]; workload != nil && p != nil {
				p.Description = fmt.Sprintf("Of the study %s, for this workload alone: %s", k.Name, p.Description)
				workload.Properties.Set(f.key, p)
			}
		}
	}
}
