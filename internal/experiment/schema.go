package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	invopop "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Schema returns the JSON Schema (draft 2020-12) of experiment files, with
// descriptions and defaults, for the workloads in the registry. It fails only
// if a workload's parameters cannot be described: a programming error.
func Schema(reg workload.Registry) ([]byte, error) {
	root, err := experimentSchema(reg)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return append(b, '\n'), nil
}

// JobSchema returns the JSON Schema of the paper's job files.
func JobSchema() ([]byte, error) {
	b, err := json.MarshalIndent(jobSchema(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return append(b, '\n'), nil
}

func experimentSchema(reg workload.Registry) (*invopop.Schema, error) {
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
	return root, addWorkloads(root.Definitions, reg)
}

// addWorkloads adds the definition "workload", which dispatches on kind to one
// definition for each kind. if/then instead of oneOf, so that a violation is
// reported for the kind that the file names and not for all of them.
func addWorkloads(defs invopop.Definitions, reg workload.Registry) error {
	entry := reflectSchema(Workload{})
	entry.Version = ""
	entry.AdditionalProperties = nil
	kind, _ := entry.Properties.Get("kind")
	for _, name := range reg.Names() {
		kind.Enum = append(kind.Enum, name)
		def, err := kindSchema(reg[name])
		if err != nil {
			return err
		}
		defs["workload-"+name] = def
		entry.AllOf = append(entry.AllOf, &invopop.Schema{
			If:   kindIs(name),
			Then: &invopop.Schema{Ref: "#/$defs/workload-" + name},
		})
	}
	defs["workload"] = entry
	return nil
}

// kindSchema describes an entry of one kind: the keys every kind has and the
// kind's own.
func kindSchema(k workload.Kind) (*invopop.Schema, error) {
	params := reflectSchema(k.New())
	params.Version = ""
	params.Description = k.Summary
	if params.Properties == nil {
		return nil, fmt.Errorf("workload %s: New returns %T, want a pointer to a struct", k.Name, k.New())
	}
	if err := setDefaults(params, k.New()); err != nil {
		return nil, fmt.Errorf("workload %s: %w", k.Name, err)
	}
	common := reflectSchema(Workload{})
	for p := common.Properties.Oldest(); p != nil; p = p.Next() {
		if _, ok := params.Properties.Get(p.Key); ok {
			return nil, fmt.Errorf("workload %s: parameter %q has the name of a key that every workload has", k.Name, p.Key)
		}
		params.Properties.Set(p.Key, p.Value)
	}
	if kind, ok := params.Properties.Get("kind"); ok {
		kind.Const = k.Name
	}
	return params, nil
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
	s := r.Reflect(v)
	uniqueEnums(s)
	return s
}

// uniqueEnums removes repeated values of enumerations: a type that mapType
// knows and a tag beside it may both list them.
func uniqueEnums(s *invopop.Schema) {
	if s == nil {
		return
	}
	var values []any
	for _, v := range s.Enum {
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	s.Enum = values
	uniqueEnums(s.Items)
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			uniqueEnums(p.Value)
		}
	}
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
		return &invopop.Schema{Type: "string", Enum: []any{string(model.Serial), string(model.Parallel), string(model.Search)}}
	case reflect.TypeFor[model.Better]():
		return &invopop.Schema{Type: "string", Enum: []any{string(model.Higher), string(model.Lower)}}
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

// compiled is a schema ready for checking, with its source, from which the
// explanations take what is allowed.
type compiled struct {
	schema *jsonschema.Schema
	doc    any
}

// schemaURL names the schema while it is compiled; nothing is fetched.
const schemaURL = "mem:///schema.json"

func compile(s *invopop.Schema) (*compiled, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for name, check := range formats() {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: check})
	}
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	return &compiled{schema: schema, doc: doc}, nil
}
