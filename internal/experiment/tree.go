package experiment

import (
	"slices"
	"strconv"
)

// value is a node of a parsed file, with its position. It is what YAML and
// JSON have in common: an object, an array or a scalar.
type value struct {
	at      pos
	kind    valueKind
	scalar  any // string, int64, float64, bool or nil
	members []member
	items   []*value
	// issues are what was wrong with the value already when it was read.
	issues []issue
}

// issue is something wrong with a value, or (key) with one of its keys.
type issue struct {
	at               pos
	key              string
	problem, allowed string
}

// duplicate notes a key that is there a second time.
func (v *value) duplicate(key string, at, first pos) {
	v.issues = append(v.issues, issue{at, key, "duplicate key", "the first is " + first.where()})
}

// spoil notes that the value itself cannot be used. An empty problem is none.
func (v *value) spoil(problem, allowed string) {
	if problem != "" {
		v.issues = append(v.issues, issue{v.at, "", problem, allowed})
	}
}

// spoilt reports whether the value itself cannot be used; to say more about it
// would only confuse.
func (v *value) spoilt() bool {
	return len(v.issues) > 0 && v.kind == scalarValue
}

type valueKind int

const (
	scalarValue valueKind = iota
	objectValue
	arrayValue
)

// member is one key of an object with its value.
type member struct {
	key   string
	at    pos // of the key
	value *value
}

// get returns the value of a key of an object; nil if there is none.
func (v *value) get(key string) *value {
	if m := v.member(key); m != nil {
		return m.value
	}
	return nil
}

func (v *value) member(key string) *member {
	for i := range v.members {
		if v.members[i].key == key {
			return &v.members[i]
		}
	}
	return nil
}

// text returns a scalar string, or "" for anything else.
func (v *value) text() string {
	if v == nil {
		return ""
	}
	s, _ := v.scalar.(string)
	return s
}

// plain returns the value as encoding/json would have decoded it, except that
// whole numbers are int64.
func (v *value) plain() any {
	switch v.kind {
	case objectValue:
		m := make(map[string]any, len(v.members))
		for _, e := range v.members {
			m[e.key] = e.value.plain()
		}
		return m
	case arrayValue:
		a := make([]any, len(v.items))
		for i, e := range v.items {
			a[i] = e.plain()
		}
		return a
	}
	return v.scalar
}

// child returns the value below a key, or an index or name of a list's entry;
// nil if there is none.
func (v *value) child(token string) *value {
	if v.kind == objectValue {
		return v.get(token)
	}
	if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(v.items) {
		return v.items[i]
	}
	if i := slices.IndexFunc(v.items, func(item *value) bool { return item.entryName() == token }); i >= 0 {
		return v.items[i]
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

// has reports whether a value stands at a path.
func (v *value) has(path []string) bool {
	for _, token := range path {
		if v = v.child(token); v == nil {
			return false
		}
	}
	return true
}

// replaced returns a copy of the tree in which change has changed the value at
// a path, which must exist; what is not on the way to it is shared.
func (v *value) replaced(change func(*value), path ...string) *value {
	out := *v
	out.members, out.items = slices.Clone(v.members), slices.Clone(v.items)
	if len(path) == 0 {
		change(&out)
		return &out
	}
	if m := out.member(path[0]); m != nil {
		m.value = m.value.replaced(change, path[1:]...)
	} else if i, err := strconv.Atoi(path[0]); err == nil {
		out.items[i] = out.items[i].replaced(change, path[1:]...)
	}
	return &out
}

// moveTo gives a value and everything in it a place.
func (v *value) moveTo(at pos) {
	v.at = at
	for i := range v.members {
		v.members[i].at = at
		v.members[i].value.moveTo(at)
	}
	for _, item := range v.items {
		item.moveTo(at)
	}
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
		isArray := v.kind == arrayValue
		v = v.child(token)
		if name := v.entryName(); isArray && name != "" {
			out[i] = clip(name)
		}
	}
	return out
}

// entryName is what a list entry is called: its name, or else its kind.
func (v *value) entryName() string {
	if v == nil || v.kind != objectValue {
		return ""
	}
	if n := v.get("name").text(); n != "" {
		return n
	}
	return v.get("kind").text()
}
