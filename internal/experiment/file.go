package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"

	yaml "go.yaml.in/yaml/v4"
)

// Report notes what is wrong with the value at a path of keys and indices, and what is
// allowed.
type Report func(path []string, problem, allowed string)

// ReadFile fills into, a pointer to a tagged struct, from a YAML file of any kind, as
// strictly as an experiment is read. If the tags allow the file, check reports what
// tags cannot express. The error is a model.InputErrors with the place of everything
// that is wrong.
func ReadFile(name string, src []byte, into any, check func(Report)) error {
	probs := &problems{file: name}
	file := readYAML(src, probs)
	if file == nil {
		return probs.err()
	}
	d := newDecoder(file)
	dst := reflect.ValueOf(into).Elem()
	if d.decode(d.root, nil, dst, shapeOf(dst.Type(), "")) && len(probs.list) == 0 {
		check(d.report)
	}
	return probs.err()
}

// WriteFile is a value as a YAML file, which [ReadFile] reads back: keys and values are
// those of encoding/json, and lists of plain values and the innermost groups stand in
// one line each.
func WriteFile(v any) ([]byte, error) {
	src, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing a file: %w", err)
	}
	probs := &problems{}
	file := readJSON(src, probs)
	if file == nil {
		return nil, probs.err()
	}
	inLines(file.root)
	out, err := yaml.Dump(file.root, yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("writing a file: %w", err)
	}
	return out, nil
}

// inLines puts what holds plain values only into one line; it reports whether n is plain.
func inLines(n *yaml.Node) (plain bool) {
	if n.Kind == yaml.ScalarNode {
		return true
	}
	flow := true
	for _, child := range n.Content {
		flow = inLines(child) && flow
	}
	if flow {
		n.Style = yaml.FlowStyle
	}
	return false
}
