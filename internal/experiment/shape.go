package experiment

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

type field struct {
	key   string
	index []int
	shape shape
	// skip: the entries have a shape of their own, which the caller knows.
	skip bool
	// at is the kind of workload that may have the key in place of the study.
	at string
	// about says what the key is for, for people.
	about string
}

// fieldsOf lists the fields of a struct that have keys, those of embedded
// structs included.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" || !f.IsExported() {
			continue
		}
		s := shapeOf(f.Type, f.Tag.Get("jsonschema"))
		s.unit = f.Tag.Get("unit")
		out = append(out, field{
			key: key, index: f.Index, shape: s, at: f.Tag.Get("at"), about: f.Tag.Get("jsonschema_description"),
			skip: f.Type == reflect.TypeFor[[]Workload]() || f.Type == reflect.TypeFor[*StudyEntry](),
		})
	}
	return out
}

// plainOf lists the fields of a struct that a value without keys sets: those with
// the tag plain:"true". So "rate: 300" may stand for "rate: {base: 300}".
func plainOf(t reflect.Type) (out []field) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("plain") == "true" {
			out = append(out, field{index: f.Index, shape: shapeOf(f.Type, f.Tag.Get("jsonschema"))})
		}
	}
	return out
}

func keysOf(fields []field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.key)
	}
	slices.Sort(out)
	return out
}

// shapeOf describes a type with the constraints of its tag, as the schema has
// them: those of a list that speak of single values hold for its items.
func shapeOf(t reflect.Type, tag string) shape {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := shape{most: -1, phase: t == reflect.TypeFor[model.Phase]()}
	switch t {
	case reflect.TypeFor[unit.Duration]():
		s.kind, s.format, s.quantity = textShape, formatDuration, unit.DurationAllowed
		return s.tagged(tag)
	case reflect.TypeFor[unit.Size]():
		s.kind, s.format, s.quantity = textShape, formatSize, unit.SizeAllowed
		return s.tagged(tag)
	case reflect.TypeFor[unit.Rate]():
		s.kind, s.format, s.quantity = textShape, formatRate, unit.RateAllowed
		return s.tagged(tag)
	case reflect.TypeFor[workload.PerCore]():
		s.quantity = `all, or text such as "2 per core"`
	case reflect.TypeFor[Fleet]():
		s.exactly = 1
	}
	switch t.Kind() {
	case reflect.Struct:
		s.kind, s.keys, s.plain = groupShape, keysOf(fieldsOf(t)), plainOf(t)
	case reflect.Map:
		item := shapeOf(t.Elem(), "")
		s.kind, s.item = groupShape, &item
	case reflect.Slice:
		own, ofItems := splitTag(tag)
		item := shapeOf(t.Elem(), ofItems)
		s.kind, s.item, tag = listShape, &item, own
	case reflect.String:
		s.kind = textShape
	case reflect.Bool:
		s.kind = boolShape
	case reflect.Float32, reflect.Float64:
		s.kind = numberShape
	case reflect.Interface:
		s.kind = anyShape
	default:
		s.kind = wholeShape
	}
	return s.tagged(tag)
}

// splitTag divides the tag of a list into what holds for the list and what for
// its items.
func splitTag(tag string) (own, items string) {
	isOwn := func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return slices.Contains([]string{"minItems", "maxItems", "uniqueItems", "required"}, name)
	}
	words := strings.Split(tag, ",")
	return strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !isOwn(w) }), ","),
		strings.Join(slices.DeleteFunc(words, isOwn), ",")
}

func (s shape) tagged(tag string) shape {
	for word := range strings.SplitSeq(tag, ",") {
		name, text, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(text)
		switch name {
		case "required":
			s.required = true
		case "enum":
			if !slices.Contains(s.enum, text) {
				s.enum = append(s.enum, text)
			}
		case "format":
			s.format = text
		case "pattern":
			s.pattern = regexp.MustCompile(text)
		case "uniqueItems":
			s.unique = true
		case "minLength", "minItems":
			s.least = n
		case "maxLength", "maxItems":
			s.most = n
		case "minimum":
			s.low = bound(text)
		case "maximum":
			s.high = bound(text)
		case "exclusiveMinimum":
			s.above = bound(text)
		case "exclusiveMaximum":
			s.below = bound(text)
		}
	}
	return s
}
