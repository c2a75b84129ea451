package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/scalebench/scalebench/internal/unit"
)

// String shows a value in a message.
func (v *value) String() string {
	switch v.kind {
	case objectValue:
		return "a group of keys"
	case arrayValue:
		return "a list"
	}
	switch s := v.scalar.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", clip(s))
	default:
		return fmt.Sprint(s)
	}
}

// typeWords name the JSON types for people.
var typeWords = map[string]string{
	"object": "a group of keys", "array": "a list", "string": "text",
	"integer": "a whole number", "number": "a number", "boolean": "true or false", "null": "nothing",
}

// wrongType says that a value has another type than it must have, and what to
// write instead.
func wrongType(v *value, want []string, schema map[string]any) (problem, allowed string) {
	words := make([]string, len(want))
	for i, w := range want {
		words[i] = typeWords[w]
	}
	must := strings.Join(words, " or ")
	number, isScalar := v.String(), v.kind == scalarValue
	switch {
	case isScalar && v.scalar == nil:
		return "it has no value, want " + must, describe(schema)
	case isScalar && v.text() != "":
		return fmt.Sprintf("want %s, got the text %s", must, number), describe(schema)
	case isScalar && slices.Contains(want, "string"):
		if isQuantity(schema) {
			return number + " has no unit", describe(schema)
		}
		return fmt.Sprintf("want %s, got %s", must, number), fmt.Sprintf("put it in quotes: %q", number)
	}
	return fmt.Sprintf("want %s, got %s", must, v), describe(schema)
}

// isQuantity reports whether a schema describes a number with a unit.
func isQuantity(s map[string]any) bool {
	return quantities[fmt.Sprint(s["format"])] != ""
}

// quantities are the formats of numbers with units, with what they allow.
var quantities = map[string]string{
	formatDuration: unit.DurationAllowed,
	formatSize:     unit.SizeAllowed,
	formatRate:     unit.RateAllowed,
}

// outOfRange words a violation of a bound.
func outOfRange(k jsonschema.ErrorKind, v *value, schema map[string]any) (problem, allowed string) {
	allowed = describe(schema)
	switch k := k.(type) {
	case *kind.Minimum, *kind.ExclusiveMinimum:
		return fmt.Sprintf("%s is too small", v), allowed
	case *kind.Maximum, *kind.ExclusiveMaximum:
		return fmt.Sprintf("%s is too large", v), allowed
	case *kind.MinLength:
		return "the text is too short", allowed
	case *kind.MaxLength:
		return "the text is too long", allowed
	case *kind.Pattern:
		return fmt.Sprintf("%s has not the right form", v), allowed
	case *kind.MinItems:
		return "the list is too short", allowed
	case *kind.MaxItems:
		return "the list is too long", allowed
	case *kind.UniqueItems:
		return fmt.Sprintf("the list has %s twice", v.items[k.Duplicates[1]]), "every entry may stand once"
	case *kind.MinProperties, *kind.MaxProperties:
		return fmt.Sprintf("it has %d keys", len(v.members)), allowed
	}
	// No type of ours uses another keyword; a workload that does is at least
	// told which.
	return fmt.Sprintf("%s violates %s of the schema", v, strings.Join(k.KeywordPath(), "/")), allowed
}

// describe says in words what a schema allows.
func describe(s map[string]any) string {
	if enum, ok := s["enum"].([]any); ok {
		return "allowed is " + list(enum)
	}
	if isQuantity(s) {
		return "allowed is " + quantities[fmt.Sprint(s["format"])]
	}
	switch s["type"] {
	case "integer":
		return "allowed is a whole number" + bounds(s)
	case "number":
		return "allowed is a number" + bounds(s)
	case "boolean":
		return "allowed is true or false"
	case "string":
		return "allowed is text" + extent(s, "minLength", "maxLength", "characters")
	case "array":
		return "allowed is a list" + extent(s, "minItems", "maxItems", "entries")
	case "object":
		return describeObject(s)
	}
	return ""
}

func describeObject(s map[string]any) string {
	known := strings.Join(keys(s), ", ")
	switch {
	case s["minProperties"] != nil && fmt.Sprint(s["minProperties"]) == fmt.Sprint(s["maxProperties"]):
		return fmt.Sprintf("allowed is exactly %v of %s", s["minProperties"], known)
	case known == "":
		return "allowed is a group of keys"
	}
	return "allowed are the keys " + known
}

// bounds describes the range of a number.
func bounds(s map[string]any) string {
	low, high := s["minimum"], s["maximum"]
	above, below := s["exclusiveMinimum"], s["exclusiveMaximum"]
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" from %v to %v", low, high)
	case above != nil && high != nil:
		return fmt.Sprintf(" greater than %v and at most %v", above, high)
	case low != nil:
		return fmt.Sprintf(" of at least %v", low)
	case high != nil:
		return fmt.Sprintf(" of at most %v", high)
	case above != nil:
		return fmt.Sprintf(" greater than %v", above)
	case below != nil:
		return fmt.Sprintf(" less than %v", below)
	}
	return ""
}

// extent describes how long a text or list may be.
func extent(s map[string]any, minKey, maxKey, what string) string {
	low, high := s[minKey], s[maxKey]
	form := ""
	if p, ok := s["pattern"].(string); ok {
		form = " of the form " + p
	}
	switch {
	case high == nil && fmt.Sprint(low) == "1":
		return form + " that is not empty"
	case low != nil && high != nil:
		return fmt.Sprintf("%s with %v to %v %s", form, low, high, what)
	case low != nil:
		return fmt.Sprintf("%s with at least %v %s", form, low, what)
	case high != nil:
		return fmt.Sprintf("%s with at most %v %s", form, high, what)
	}
	return form
}

// list shows the values of an enumeration.
func list(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", ")
}
