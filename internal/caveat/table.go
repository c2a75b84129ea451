package caveat

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Def defines a caveat: a code, the type A of its arguments, and its text. A is
// a struct of numbers, durations, enumerations, names, [Verbatim], and slices
// and structs of these. Definitions of one code differ in A.
type Def[A any] struct {
	code Code
	text func(about Caveat, args A) string
}

// Define makes a definition. text returns a sentence without its full stop. It
// need not name the workload or the run: [Table.Fill] does where that is not clear.
func Define[A any](code Code, text func(args A) string) Def[A] {
	return Def[A]{code: code, text: func(_ Caveat, args A) string { return text(args) }}
}

// DefineAbout makes a definition of which the text depends on more than the
// arguments: on the subject, or on what the caveat explains.
func DefineAbout[A any](code Code, text func(about Caveat, args A) string) Def[A] {
	return Def[A]{code: code, text: text}
}

// At is a caveat of this kind.
func (d Def[A]) At(severity model.Severity, subject Subject, args A) Caveat {
	c := Caveat{Code: d.code, Severity: severity, Subject: subject}
	if reflect.TypeFor[A]().Size() > 0 {
		c.Args = args
	}
	return c
}

// Warn is one that leaves the answer as it is, about everything.
func (d Def[A]) Warn(args A) Caveat { return d.At(model.Warning, Subject{}, args) }

// Problem is one that leaves no verdict, about everything.
func (d Def[A]) Problem(args A) Caveat { return d.At(model.Problem, Subject{}, args) }

// Definition is a [Def] of whatever arguments: a row of a [Table].
type Definition interface {
	// fill returns the text of a caveat, if it is one of this definition.
	fill(c Caveat) (text string, ok bool)
	// row names code and type of arguments.
	row() (Code, reflect.Type)
}

func (d Def[A]) row() (Code, reflect.Type) { return d.code, reflect.TypeFor[A]() }

func (d Def[A]) fill(c Caveat) (string, bool) {
	args, ok := c.Args.(A)
	if c.Code != d.code || !ok && (c.Args != nil || reflect.TypeFor[A]().Size() > 0) {
		return "", false
	}
	return d.text(c, args), true
}

// Table is the definitions of a package, or of all that a study can say.
type Table []Definition

// Fill makes the texts that are still missing. place is what the result says
// already of itself: a caveat about something else names that first. The text of
// a problem begins with [Unknown]. A caveat without a definition, which a test keeps
// from happening, is shown by its code and arguments.
func (t Table) Fill(place Subject, list []Caveat) {
	for i, c := range list {
		if c.Text != "" {
			continue
		}
		text := t.text(c)
		if c.Severity == model.Problem {
			text = Unknown + text
		}
		if c.Workload != "" && c.Workload != place.Workload {
			text = c.Workload + ": " + text
		}
		if c.Run != "" && c.Run != place.Run {
			text = "run " + string(c.Run) + ": " + text
		}
		list[i].Text = Text(text)
	}
}

// Unknown begins the text of a caveat that leaves no verdict.
const Unknown = "verdict unknown: "

// text is what a caveat says by itself.
func (t Table) text(c Caveat) string {
	for _, d := range t {
		if text, ok := d.fill(c); ok {
			return text
		}
	}
	args, _ := json.Marshal(c.Args)
	return fmt.Sprintf("%s %s", c.Code, args)
}

// Reason is the text of a caveat that has none yet, without what [Table.Fill] puts in
// front of it, for a sentence that says that itself.
func (t Table) Reason(c Caveat) Text { return Text(t.text(c)) }

// Check returns what is wrong with the definitions: a code that is none, two
// definitions that nothing tells apart, arguments of a type that is no data.
func (t Table) Check() []string {
	type key struct {
		code Code
		args reflect.Type
	}
	var out []string
	seen := map[key]bool{}
	for _, d := range t {
		code, args := d.row()
		if code == "" || strings.ContainsFunc(string(code), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			out = append(out, fmt.Sprintf("code %q: use small letters and _", code))
		}
		if seen[key{code, args}] {
			out = append(out, fmt.Sprintf("code %s: two definitions have the arguments %v", code, args))
		}
		seen[key{code, args}] = true
		if problem := notData(args); problem != "" {
			out = append(out, fmt.Sprintf("code %s: arguments %v: %s", code, args, problem))
		}
	}
	return out
}

// notData says why a type is none of arguments; empty: it is.
func notData(t reflect.Type) string {
	if t == reflect.TypeFor[Caveat]() { // one may be the reason of another
		return ""
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ""
	case reflect.String:
		switch t {
		case reflect.TypeFor[string]():
			return "a plain string may be a sentence; use a named type, or Verbatim for what stands in the input"
		case reflect.TypeFor[Text]():
			return "a text is not data"
		}
		return ""
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return notData(t.Elem())
	case reflect.Map:
		if problem := notData(t.Key()); problem != "" {
			return problem
		}
		return notData(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				return "field " + f.Name + " does not reach JSON"
			}
			if problem := notData(f.Type); problem != "" {
				return "field " + f.Name + ": " + problem
			}
		}
		return ""
	default:
		return t.String() + " is no data"
	}
}
