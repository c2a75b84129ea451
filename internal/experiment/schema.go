package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	invopop "github.com/invopop/jsonschema"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Schema returns the JSON Schema (draft 2020-12) of experiment files, with
// descriptions and defaults, for these kinds. It fails only
// if the parameters of one cannot be described: a programming error.
func Schema(kinds Kinds) ([]byte, error) {
	root, err := experimentSchema(kinds)
	if err != nil {
		return nil, err
	}
	return printed(root)
}

// JobSchema returns the JSON Schema of the paper's job files.
func JobSchema() ([]byte, error) { return printed(jobSchema()) }

func printed(root *invopop.Schema) ([]byte, error) {
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return append(b, '\n'), nil
}

func experimentSchema(kinds Kinds) (*invopop.Schema, error) {
	root := reflectSchema(Experiment{})
	root.Title = "scalebench experiment"
	root.Description = "What scalebench run executes: a fleet, workloads, and how to evaluate them."
	if fleet, ok := root.Properties.Get("fleet"); ok {
		one := uint64(1) // exactly one of its keys
		fleet.MinProperties, fleet.MaxProperties = &one, &one
	}
	if err := setDefaults(root, defaults()); err != nil {
		return nil, err
	}
	root.Definitions = unitDefinitions()
	if err := addWorkloads(root.Definitions, kinds.Workloads); err != nil {
		return nil, err
	}
	phase := &invopop.Schema{Type: "string", Description: "A kind of step, which a study designs."}
	for _, p := range phases(kinds.Studies) {
		phase.Enum = append(phase.Enum, p)
	}
	root.Definitions["phase"] = phase
	return root, addStudies(root, kinds.Studies)
}

// addWorkloads adds the definition "workload", which dispatches on kind to one
// definition for each kind. if/then instead of oneOf, so that an editor reports
// a violation for the kind that the file names and not for all of them.
func addWorkloads(defs invopop.Definitions, reg workload.Registry) error {
	entry := newEntrySchema("workload", Workload{})
	for _, name := range reg.Names() {
		if err := entry.add(defs, name, reg[name].Summary, reg[name].New()); err != nil {
			return err
		}
	}
	defs["workload"] = entry.schema
	return nil
}

// addStudies adds the definition "study" in the same way, and the keys of
// studies that may stand at the top.
func addStudies(root *invopop.Schema, reg study.Registry) error {
	type keys StudyEntry // its own type stands for a reference to this
	entry := newEntrySchema("study", keys{})
	for _, k := range reg {
		if err := entry.add(root.Definitions, k.Name, k.Summary, k.New()); err != nil {
			return err
		}
		for _, key := range k.Top {
			if s, ok := root.Definitions["study-"+k.Name].Properties.Get(key); ok {
				root.Properties.Set(key, s)
			}
		}
	}
	root.Definitions["study"] = entry.schema
	return nil
}

// entrySchema describes a group of keys that names its kind.
type entrySchema struct {
	what   string
	common any
	schema *invopop.Schema
}

func newEntrySchema(what string, common any) entrySchema {
	s := reflectSchema(common)
	s.Version, s.AdditionalProperties = "", nil
	return entrySchema{what, common, s}
}

// add describes the entries of one kind: the keys that every kind has, and the
// kind's own.
func (e entrySchema) add(defs invopop.Definitions, name, summary string, defaults any) error {
	params := reflectSchema(defaults)
	params.Version = ""
	params.Description = summary
	if params.Properties == nil {
		return fmt.Errorf("%s %s: New returns %T, want a pointer to a struct", e.what, name, defaults)
	}
	if err := setDefaults(params, defaults); err != nil {
		return fmt.Errorf("%s %s: %w", e.what, name, err)
	}
	common := reflectSchema(e.common)
	for p := common.Properties.Oldest(); p != nil; p = p.Next() {
		if _, ok := params.Properties.Get(p.Key); ok {
			return fmt.Errorf("%s %s: parameter %q has the name of a key that every %s has", e.what, name, p.Key, e.what)
		}
		params.Properties.Set(p.Key, p.Value)
	}
	if kind, ok := params.Properties.Get("kind"); ok {
		kind.Const = name
	}
	if kind, ok := e.schema.Properties.Get("kind"); ok {
		kind.Enum = append(kind.Enum, name)
	}
	ref := e.what + "-" + name
	defs[ref] = params
	e.schema.AllOf = append(e.schema.AllOf, &invopop.Schema{If: kindIs(name), Then: &invopop.Schema{Ref: "#/$defs/" + ref}})
	return nil
}

// kindIs matches an entry of this kind.
func kindIs(name string) *invopop.Schema {
	p := invopop.NewProperties()
	p.Set("kind", &invopop.Schema{Const: name})
	return &invopop.Schema{Properties: p, Required: []string{"kind"}}
}

// reflectSchema describes a struct by its tags. Keys are required only where
// the jsonschema tag says so; all others have defaults. Nothing but units is
// shared between types: two workloads may both have a type of one name.
func reflectSchema(v any) *invopop.Schema {
	r := invopop.Reflector{
		Anonymous:                  true,
		DoNotReference:             true,
		RequiredFromJSONSchemaTags: true,
		Mapper:                     mapType,
	}
	return r.Reflect(v)
}

// mapType describes the types that are not what their Go kind says.
func mapType(t reflect.Type) *invopop.Schema {
	switch t {
	case reflect.TypeFor[unit.Duration]():
		return &invopop.Schema{Ref: "#/$defs/duration"}
	case reflect.TypeFor[unit.Size]():
		return &invopop.Schema{Ref: "#/$defs/size"}
	case reflect.TypeFor[unit.Rate]():
		return &invopop.Schema{Ref: "#/$defs/rate"}
	case reflect.TypeFor[model.Phase]():
		return &invopop.Schema{Ref: "#/$defs/phase"}
	case reflect.TypeFor[StudyEntry]():
		return &invopop.Schema{Ref: "#/$defs/study"}
	case reflect.TypeFor[[]Workload]():
		return &invopop.Schema{Type: "array", Items: &invopop.Schema{Ref: "#/$defs/workload"}}
	}
	return nil
}

// unitDefinitions describes the quantities. The formats are ours: other
// readers of the schema ignore them and use the patterns.
func unitDefinitions() invopop.Definitions {
	return invopop.Definitions{
		"duration": {Type: "string", Format: formatDuration, Pattern: unit.DurationPattern,
			Description: "A duration: " + unit.DurationAllowed + ".", Examples: []any{"5s", "1h30m"}},
		"size": {Type: "string", Format: formatSize, Pattern: unit.SizePattern,
			Description: "A size: " + unit.SizeAllowed + ".", Examples: []any{"64KiB", "1.5GB"}},
		"rate": {Type: "string", Format: formatRate, Pattern: unit.RatePattern,
			Description: "A rate: " + unit.RateAllowed + ".", Examples: []any{"10Gbit/s", "500op/s"}},
	}
}

// setDefaults fills in "default" from a value of the described type, so that
// defaults are written down once, in code.
func setDefaults(s *invopop.Schema, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding the defaults: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return fmt.Errorf("encoding the defaults: %w", err)
	}
	setDefaultValues(s, m)
	return nil
}

func setDefaultValues(s *invopop.Schema, m map[string]any) {
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		d, ok := m[p.Key]
		if !ok || d == nil || required[p.Key] {
			continue
		}
		if sub, isObject := d.(map[string]any); isObject && p.Value.Properties != nil {
			setDefaultValues(p.Value, sub)
		} else if d != "" { // an empty string means that there is no default
			p.Value.Default = d
		}
	}
}
