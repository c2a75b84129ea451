package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	invopop "github.com/invopop/jsonschema"

	"github.com/scalebench/scalebench/internal/model"
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
	phase := &invopop.Schema{Type: "string", Description: "A kind of step, which a study designs."}
	for _, p := range phases(kinds.Studies) {
		phase.Enum = append(phase.Enum, p)
	}
	root.Definitions["phase"] = phase
	type study StudyEntry // its own type stands for a reference to this
	err := errors.Join(addEntries(root.Definitions, "workload", Workload{}, kinds.workloads()),
		addEntries(root.Definitions, "study", study{}, kinds.studies()))
	addMoved(root.Definitions, kinds.Studies)
	for _, k := range kinds.Studies {
		for _, key := range k.Top {
			if s, ok := root.Definitions["study-"+k.Name].Properties.Get(key); ok && err == nil {
				root.Properties.Set(key, s)
			}
		}
	}
	return root, err
}

// addEntries adds the definition of a group of keys that names its kind: it
// dispatches on kind to one definition for each. if/then instead of oneOf, so
// that an editor reports a violation for the kind that the file names and not
// for all of them.
func addEntries(defs invopop.Definitions, what string, common any, kinds []kind) error {
	entry := reflectSchema(common)
	entry.Version, entry.AdditionalProperties = "", nil
	for _, k := range kinds {
		params, err := k.schema(common)
		if err != nil {
			return fmt.Errorf("%s %s: %w", what, k.name, err)
		}
		if kind, ok := entry.Properties.Get("kind"); ok {
			kind.Enum = append(kind.Enum, k.name)
		}
		ref := what + "-" + k.name
		defs[ref] = params
		entry.AllOf = append(entry.AllOf, &invopop.Schema{If: kindIs(k.name), Then: &invopop.Schema{Ref: "#/$defs/" + ref}})
	}
	defs[what] = entry
	return nil
}

// schema describes the entries of one kind: the keys that every kind has, and
// the kind's own.
func (k kind) schema(common any) (*invopop.Schema, error) {
	_, defaults := k.defaults()
	params := reflectSchema(defaults)
	params.Version = ""
	params.Description = k.summary
	if params.Properties == nil {
		return nil, fmt.Errorf("the parameters of %s must be a pointer to a struct, not %T", k.name, defaults)
	}
	if err := setDefaults(params, defaults); err != nil {
		return nil, err
	}
	for p := reflectSchema(common).Properties.Oldest(); p != nil; p = p.Next() {
		if _, ok := params.Properties.Get(p.Key); ok {
			return nil, fmt.Errorf("parameter %q has the name of a key that all have", p.Key)
		}
		params.Properties.Set(p.Key, p.Value)
	}
	if kind, ok := params.Properties.Get("kind"); ok {
		kind.Const = k.name
	}
	return params, nil
}

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
	case reflect.TypeFor[workload.Threads]():
		return &invopop.Schema{Ref: "#/$defs/threads"}
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
		"threads": {Description: "Threads of a node: a number, all for one per core, or so many per core.",
			Examples: []any{4, "all", "2 per core"}, OneOf: []*invopop.Schema{
				{Type: "integer", Minimum: "1", Maximum: json.Number(strconv.Itoa(workload.MaxThreads))},
				{Type: "string", Pattern: workload.PerCorePattern}}},
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
