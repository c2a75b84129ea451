package experiment

import (
	"iter"
	"strconv"

	yaml "go.yaml.in/yaml/v4"
)

// value is a node of a parsed file: an object, an array or a scalar.
type value yaml.Node

func (v *value) isObject() bool { return v.Kind == yaml.MappingNode }
func (v *value) isArray() bool  { return v.Kind == yaml.SequenceNode }
func (v *value) isScalar() bool { return !v.isObject() && !v.isArray() }

// members are the keys of an object with their values.
func (v *value) members() iter.Seq2[*value, *value] {
	return func(yield func(key, val *value) bool) {
		for i := 0; v.isObject() && i+1 < len(v.Content); i += 2 {
			if !yield((*value)(v.Content[i]), (*value)(v.Content[i+1])) {
				return
			}
		}
	}
}

// items are those of an array.
func (v *value) items() []*value {
	if !v.isArray() {
		return nil
	}
	items := make([]*value, len(v.Content))
	for i, n := range v.Content {
		items[i] = (*value)(n)
	}
	return items
}

// key returns the key with this name of an object; nil if there is none.
func (v *value) key(name string) *value {
	if i := keyIndex(v, name); i >= 0 {
		return (*value)(v.Content[i])
	}
	return nil
}

func (v *value) get(key string) *value {
	if i := keyIndex(v, key); i >= 0 {
		return (*value)(v.Content[i+1])
	}
	return nil
}

// keyIndex is the position of a key among the content of an object; -1 if it is
// not there.
func keyIndex(v *value, key string) int {
	for i := 0; v.isObject() && i+1 < len(v.Content); i += 2 {
		if v.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// scalar is the value of a scalar: string, int64, float64, bool or nil.
func (v *value) scalar() any {
	x, _, _ := scalar((*yaml.Node)(v))
	return x
}

// text returns a scalar string, or "" for anything else.
func (v *value) text() string {
	if v == nil {
		return ""
	}
	s, _ := v.scalar().(string)
	return s
}

// plain returns the value as encoding/json would have decoded it, except that
// whole numbers are int64.
func (v *value) plain() any {
	switch {
	case v.isObject():
		m := make(map[string]any, len(v.Content)/2)
		for key, val := range v.members() {
			m[key.Value] = val.plain()
		}
		return m
	case v.isArray():
		a := make([]any, len(v.Content))
		for i, item := range v.items() {
			a[i] = item.plain()
		}
		return a
	}
	return v.scalar()
}

// child returns the value below a key, or an index or name of a list's entry;
// nil if there is none.
func (v *value) child(token string) *value {
	if v.isObject() {
		return v.get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && v.isArray() && i >= 0 && i < len(v.Content) {
		return (*value)(v.Content[i])
	}
	for _, item := range v.items() {
		if item.entryName() == token {
			return item
		}
	}
	return nil
}

// find walks down a path as far as it exists and returns the last value.
func (v *value) find(path []string) *value {
	for _, token := range path {
		c := v.child(token)
		if c == nil {
			break
		}
		v = c
	}
	return v
}

func (v *value) has(path []string) bool {
	for _, token := range path {
		if v = v.child(token); v == nil {
			return false
		}
	}
	return true
}

// show turns a path of keys and indices into the notation of --set, in which
// a list entry goes by its name where it has one.
func (v *value) show(path []string) []string {
	out := make([]string, len(path))
	for i, token := range path {
		out[i] = clip(token)
		if v == nil {
			continue
		}
		isArray := v.isArray()
		v = v.child(token)
		if name := v.entryName(); isArray && name != "" {
			out[i] = clip(name)
		}
	}
	return out
}

// entryName is what a list entry is called: its name, or else its kind.
func (v *value) entryName() string {
	if v == nil {
		return ""
	}
	if n := v.get("name").text(); n != "" {
		return n
	}
	return v.get("kind").text()
}
