package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// String shows a value in a message.
func (v *value) String() string {
	switch {
	case v.isObject():
		return "a group of keys"
	case v.isArray():
		return "a list"
	}
	switch s := v.scalar().(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", clip(s))
	default:
		return fmt.Sprint(s)
	}
}

// wrongType says that a value has another type than it must have, and what to
// write instead.
func wrongType(v *value, s shape) (problem, allowed string) {
	must, got, isScalar := s.kind.word(), v.String(), v.isScalar()
	switch {
	case isScalar && v.scalar() == nil:
		return "it has no value", s.describe()
	case s.isPlain():
		return "must not be " + got, s.describe()
	case isScalar && v.text() != "":
		return fmt.Sprintf("must be %s, not the text %s", must, got), s.describe()
	case isScalar && s.quantity != "":
		return got + " has no unit", s.describe()
	case isScalar && s.kind == textShape:
		return fmt.Sprintf("must be %s, not %s", must, got), fmt.Sprintf("put it in quotes: %q", got)
	}
	return fmt.Sprintf("must be %s, not %s", must, got), s.describe()
}

// wrongEntry says that a value is no group of keys with a kind; words are the
// kinds. A kind alone is what people write first.
func wrongEntry(v *value, path []string, kinds []kind) (problem, allowed string) {
	problem, allowed = wrongType(v, shape{kind: groupShape})
	var words []string
	for _, k := range kinds {
		words = append(words, k.name)
	}
	word := v.text()
	if !slices.Contains(words, word) {
		word = num.Suggest(word, words)
	}
	if last := path[len(path)-1]; word == "" {
		return problem, allowed + ", the first of them kind: " + strings.Join(words, ", ")
	} else if _, err := strconv.Atoi(last); err != nil {
		return problem, fmt.Sprintf("write %s: {kind: %s}", last, word)
	}
	return problem, fmt.Sprintf("write {kind: %s}", word)
}

// wanted says what to write where the key is missing: of a text that may be any,
// what it is for.
func (f field) wanted() string {
	s := f.shape
	if s.kind != textShape || s.quantity != "" || s.pattern != nil || len(s.enum) > 0 || f.about == "" {
		return s.describe()
	}
	about, _, _ := strings.Cut(strings.TrimSuffix(f.about, "."), ". ")
	about, _, _ = strings.Cut(about, ": ")
	return fmt.Sprintf("add it: %s", about)
}

func (s shape) describe() string {
	switch {
	case s.unit != "":
		return fmt.Sprintf("use a number with the unit %s, such as 250%s", s.unit, s.unit)
	case len(s.enum) > 0:
		return "use " + strings.Join(s.enum, ", ")
	case s.quantity != "":
		return "use " + s.quantity
	case s.kind == wholeShape, s.kind == numberShape:
		return "use " + s.kind.word() + s.bounds()
	case s.kind == boolShape:
		return "use true or false"
	case s.kind == textShape:
		return "use text" + s.length("characters")
	case s.kind == listShape:
		return "use a list" + s.length("entries")
	case s.exactly > 0:
		return fmt.Sprintf("use exactly %d of %s", s.exactly, strings.Join(s.keys, ", "))
	case s.kind == groupShape && len(s.plain) > 0:
		return "use " + strings.Join(s.alternatives(), ", or ")
	case s.kind == groupShape && len(s.keys) > 0:
		return "use the keys " + strings.Join(s.keys, ", ")
	case s.kind == groupShape:
		return "use a group of keys"
	}
	return ""
}

// alternatives are what a struct with plain fields takes: their forms, then its keys.
func (s shape) alternatives() (all []string) {
	for _, f := range s.plain {
		for _, word := range strings.Split(strings.TrimPrefix(f.shape.describe(), "use "), ", or ") {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	if len(s.keys) > 0 {
		all = append(all, "the keys "+strings.Join(s.keys, ", "))
	}
	return all
}

func (s shape) bounds() string {
	switch {
	case s.low != "" && s.high != "":
		return fmt.Sprintf(" from %s to %s", s.low, s.high)
	case s.above != "" && s.high != "":
		return fmt.Sprintf(" greater than %s and at most %s", s.above, s.high)
	case s.above != "" && s.below != "":
		return fmt.Sprintf(" greater than %s and less than %s", s.above, s.below)
	case s.low != "":
		return " of at least " + string(s.low)
	case s.high != "":
		return " of at most " + string(s.high)
	case s.above != "":
		return " greater than " + string(s.above)
	case s.below != "":
		return " less than " + string(s.below)
	}
	return ""
}

func (s shape) length(what string) string {
	form := ""
	if s.pattern != nil {
		form = " of the form " + s.pattern.String()
	}
	switch {
	case s.least == 1 && s.most < 0:
		return form + " that is not empty"
	case s.least > 0 && s.most >= 0:
		return fmt.Sprintf("%s with %d to %d %s", form, s.least, s.most, what)
	case s.least > 0:
		return fmt.Sprintf("%s with at least %d %s", form, s.least, what)
	case s.most >= 0:
		return fmt.Sprintf("%s with at most %d %s", form, s.most, what)
	}
	return form
}

// oneOf lists what is allowed instead of a word, the closest first.
func oneOf(word string, allowed []string) string {
	all := strings.Join(allowed, ", ")
	if s := num.Suggest(word, allowed); s != "" {
		return fmt.Sprintf("did you mean %q? Use %s", s, all)
	}
	return "use " + all
}
