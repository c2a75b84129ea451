package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// checker puts the violations of a schema into words, at their positions.
type checker struct {
	*compiled
	root  *value
	probs *problems
	// blamed holds the paths of all values that were complained about, touched
	// also those of everything around them.
	blamed, touched map[string]bool
}

// check notes what was found wrong in reading and every violation of the
// schema, and returns what it needs to know about them later.
func (s *compiled) check(root *value, probs *problems) *checker {
	c := &checker{compiled: s, root: root, probs: probs, blamed: map[string]bool{}, touched: map[string]bool{}}
	c.issues(root, nil)
	var failed *jsonschema.ValidationError
	if err := s.schema.Validate(root.plain()); errors.As(err, &failed) {
		all := leaves(failed, nil)
		hidden := formatted(all)
		for _, leaf := range all {
			_, isPattern := leaf.ErrorKind.(*kind.Pattern)
			if !isPattern || !hidden[pathKey(leaf.InstanceLocation)] {
				c.explain(leaf)
			}
		}
	}
	return c
}

// issues notes what was found wrong in reading the tree.
func (c *checker) issues(v *value, path []string) {
	for _, i := range v.issues {
		at := path
		if i.key != "" {
			at = extend(path, i.key)
		}
		c.reportAt(i.at, at, i.problem, i.allowed)
	}
	for _, m := range v.members {
		c.issues(m.value, extend(path, m.key))
	}
	for i, item := range v.items {
		c.issues(item, extend(path, strconv.Itoa(i)))
	}
}

// leaves collects the violations proper from the tree of keywords that led to
// them.
func leaves(e *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return append(out, e)
	}
	for _, cause := range e.Causes {
		out = leaves(cause, out)
	}
	return out
}

// formatted returns where a format is violated: it says more than the pattern
// beside it, which only approximates it.
func formatted(all []*jsonschema.ValidationError) map[string]bool {
	at := map[string]bool{}
	for _, e := range all {
		if _, ok := e.ErrorKind.(*kind.Format); ok {
			at[pathKey(e.InstanceLocation)] = true
		}
	}
	return at
}

// pathKey makes a path a key of a map. Keys with a NUL would be ambiguous, and
// are unknown to every schema.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// clean reports whether nothing at or below a path was complained about.
func (c *checker) clean(path ...string) bool { return !c.touched[pathKey(path)] }

// report notes a problem of the value at a path.
func (c *checker) report(path []string, problem, allowed string) {
	c.reportAt(c.root.find(path).at, path, problem, allowed)
}

func (c *checker) reportAt(at pos, path []string, problem, allowed string) {
	c.blamed[pathKey(path)] = true
	for i := range path {
		c.touched[pathKey(path[:i+1])] = true
	}
	c.probs.add(at, c.root.show(path), problem, allowed)
}

// explain puts one violation into words.
func (c *checker) explain(e *jsonschema.ValidationError) {
	path := slices.Clone(e.InstanceLocation)
	schema := c.schemaAt(e.SchemaURL)
	v := c.root.find(path)
	if v.spoilt() {
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, key := range k.Properties {
			c.unknownKey(path, key, v, schema)
		}
	case *kind.Required:
		for _, key := range k.Missing {
			c.missingKey(path, key, v, schema)
		}
	case *kind.Type:
		problem, allowed := wrongType(v, k.Want, schema)
		c.report(path, problem, allowed)
	case *kind.Enum:
		c.report(path, fmt.Sprintf("%s is not known here", v), oneOf(v, k.Want))
	case *kind.Format:
		problem, allowed, _ := strings.Cut(k.Err.Error(), "; ")
		c.report(path, problem, allowed)
	default:
		problem, allowed := outOfRange(e.ErrorKind, v, schema)
		c.report(path, problem, allowed)
	}
}

// unknownKey reports a key that the schema does not have.
func (c *checker) unknownKey(path []string, key string, v *value, schema map[string]any) {
	known := keys(schema)
	allowed := "allowed are " + strings.Join(known, ", ")
	if s := Suggest(key, known); s != "" {
		allowed = fmt.Sprintf("did you mean %q? Allowed are %s", s, strings.Join(known, ", "))
	}
	at := v.at
	if m := v.member(key); m != nil {
		at = m.at
	}
	c.reportAt(at, extend(path, key), fmt.Sprintf("unknown key %q", clip(key)), allowed)
}

// missingKey reports a required key that is not there, unless a misspelt one
// explains it.
func (c *checker) missingKey(path []string, key string, v *value, schema map[string]any) {
	known := keys(schema)
	for _, m := range v.members {
		if slices.Contains(known, m.key) || Suggest(m.key, known) != key {
			continue
		}
		c.unknownKey(path, m.key, v, schema) // noted once, however often it is found
		return
	}
	allowed := ""
	if sub := c.property(schema, key); sub != nil {
		allowed = describe(sub)
	}
	c.report(path, fmt.Sprintf("the key %q is missing", key), allowed)
}

// oneOf lists what is allowed instead of a value, the closest first.
func oneOf(v *value, want []any) string {
	var words []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			words = append(words, s)
		}
	}
	if s := Suggest(v.text(), words); s != "" {
		return fmt.Sprintf("did you mean %q? Allowed is %s", s, list(want))
	}
	return "allowed is " + list(want)
}

// schemaAt returns the part of the schema that a violation names.
func (c *checker) schemaAt(url string) map[string]any {
	_, pointer, _ := strings.Cut(url, "#")
	node := c.doc
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%").Replace(token)
		switch n := node.(type) {
		case map[string]any:
			node = n[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n) {
				return nil
			}
			node = n[i]
		}
	}
	m, _ := node.(map[string]any)
	return m
}

// property returns the schema of a key, with what it refers to.
func (c *checker) property(schema map[string]any, key string) map[string]any {
	props, _ := schema["properties"].(map[string]any)
	sub, _ := props[key].(map[string]any)
	if ref, ok := sub["$ref"].(string); ok {
		if target := c.schemaAt(ref); target != nil {
			return target
		}
	}
	return sub
}

// keys returns the keys that a schema knows, sorted.
func keys(schema map[string]any) []string {
	props, _ := schema["properties"].(map[string]any)
	out := make([]string, 0, len(props))
	for k := range props {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
