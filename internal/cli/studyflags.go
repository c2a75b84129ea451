package cli

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// paramFlags are the flags of a parameter struct: one for each field with the
// tag `flag:"name"` or `flag:"name,short"`. The field's type says what is
// accepted; `unit:"op/s"` is what a bare number is in. With `from:"file"` the
// flag names a file, and the parameter is what stands in it; with `from:"@file"`
// it does so after an @, as with curl, and is the parameter itself otherwise.
type paramFlags struct {
	flags []*paramFlag
}

// addParams defines the flags of params, a pointer to a struct that holds the
// defaults.
func addParams(f *pflag.FlagSet, params any) *paramFlags {
	return addSomeParams(f, params, func(string) bool { return true })
}

// addOptions defines the flags of options, a pointer to a struct: its fields hold
// the defaults, and then what was given.
func addOptions(f *pflag.FlagSet, options any) {
	addFields(f, options, func(string) bool { return true }, true)
}

// addSomeParams defines those flags of params of which the name is wanted.
func addSomeParams(f *pflag.FlagSet, params any, wanted func(name string) bool) *paramFlags {
	return addFields(f, params, wanted, false)
}

func addFields(f *pflag.FlagSet, params any, wanted func(name string) bool, bound bool) *paramFlags {
	out := &paramFlags{}
	v := reflect.ValueOf(params).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		tag := field.Tag.Get("flag")
		if tag == "" || !field.IsExported() {
			continue
		}
		name, short, _ := strings.Cut(tag, ",")
		if !wanted(name) {
			continue
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := &paramFlag{name: name, key: key, unit: field.Tag.Get("unit"), from: field.Tag.Get("from"), allowed: allowedIn(field.Tag.Get("jsonschema")), value: reflect.New(field.Type).Elem(), initial: v.FieldByIndex(field.Index)}
		if bound {
			p.value, p.initial = p.initial, reflect.Value{}
		}
		added := f.VarPF(p, name, short, usageOf(field, p))
		if p.value.IsZero() {
			added.DefValue = "" // none
		}
		if field.Type.Kind() == reflect.Bool {
			added.NoOptDefVal = "true"
		}
		out.flags = append(out.flags, p)
	}
	return out
}

// thresholds are those of the flags to which a result is held.
func (p *paramFlags) thresholds() *paramFlags {
	return &paramFlags{slices.DeleteFunc(slices.Clone(p.flags), func(f *paramFlag) bool { return !strings.HasPrefix(f.name, "fail-") })}
}

func usageOf(field reflect.StructField, p *paramFlag) string {
	text := strings.TrimSuffix(field.Tag.Get("jsonschema_description"), ".")
	if len(text) > 1 && !unicode.IsUpper(rune(text[1])) { // no abbreviation
		text = strings.ToLower(text[:1]) + text[1:]
	}
	if d := p.defaultText(); d != "" {
		text += " (default " + d + ")"
	}
	return text
}

// given are the parameters that were set, by their JSON keys.
func (p *paramFlags) given() (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, f := range p.flags {
		if !f.changed {
			continue
		}
		b, err := json.Marshal(f.value.Interface())
		if err != nil {
			return nil, usageError("%w", err)
		}
		out[f.key] = b
	}
	return out, nil
}

// place gives errors about what stands in the file of a flag the name of that file: the
// study knows the text alone, and names it as the flag.
func (p *paramFlags) place(err error) error {
	for _, one := range model.Single(err) {
		bad, ok := errors.AsType[*model.InputError](one)
		for _, f := range p.flags {
			if ok && f.path != "" && bad.File == f.name {
				bad.File = f.path
			}
		}
	}
	return err
}

// allowedIn are the values that a jsonschema tag lists.
func allowedIn(tag string) string {
	var all []string
	for word := range strings.SplitSeq(tag, ",") {
		if value, ok := strings.CutPrefix(word, "enum="); ok {
			all = append(all, value)
		}
	}
	return strings.Join(all, "|")
}

type paramFlag struct {
	name, key      string
	unit, from     string
	allowed        string // values, where there are only these: a|b
	value, initial reflect.Value
	changed        bool
	path           string // of the file whose text is the value; empty: there is none
}

// String implements pflag.Value. It is empty where the value is apart from the
// default, which stands in the usage.
func (p *paramFlag) String() string {
	if p.initial.IsValid() {
		return ""
	}
	return valueText(p.value)
}

func (p *paramFlag) defaultText() string {
	if !p.initial.IsValid() || p.initial.IsZero() {
		return ""
	}
	return valueText(p.initial)
}

func valueText(v reflect.Value) string {
	if t, ok := v.Interface().(encoding.TextMarshaler); ok {
		if b, err := t.MarshalText(); err == nil {
			return string(b)
		}
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
		return ""
	}
	return fmt.Sprint(v.Interface())
}

// Type implements pflag.Value: what help shows in place of the value.
func (p *paramFlag) Type() string {
	if p.allowed != "" {
		return p.allowed
	}
	for _, v := range []any{p.value.Addr().Interface(), p.value.Interface()} { // of a pointer, what it points at
		if named, ok := v.(interface{ Type() string }); ok {
			return named.Type()
		}
	}
	if name, ok := map[string]string{fromFile: "FILE", afterAt: "TEXT|@FILE"}[p.from]; ok {
		return name
	}
	t := p.value.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := map[string]string{"Duration": "duration", "Size": "size", "Rate": "rate"}[t.Name()]; ok {
		return name
	}
	switch t.Kind() {
	case reflect.Bool:
		return "bool" // of which help shows nothing
	case reflect.Int, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "float"
	case reflect.Map:
		return "NAME=VALUE"
	}
	return "string"
}

// Set implements pflag.Value. Lists and maps grow with each use of the flag.
func (p *paramFlag) Set(text string) error {
	p.changed = true
	path, isFile := text, p.from == fromFile
	if p.from == afterAt {
		if err := isFolder(text); err != nil {
			return err
		}
		path, isFile = strings.CutPrefix(text, "@")
	}
	if isFile {
		var err error
		if text, err = readInput(path); err != nil {
			return err
		}
		if text == "" && p.from == fromFile {
			return fmt.Errorf("%s is empty", path)
		}
		if path != "-" {
			p.path = path
		}
	}
	return p.set(p.value, text)
}

// What the tag "from" says.
const (
	fromFile = "file"
	afterAt  = "@file"
)

// mostInput is how much of a file may become a parameter, in bytes: it travels
// and is stored with the run, and again with each of its tasks.
const mostInput = 256 << 10

// isFolder refuses a folder in the place of text: the user means --data of the
// other commands.
func isFolder(text string) error {
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory, and this flag is what requests send: the data directory is --%s here", text, dataDirFlag)
	}
	return nil
}

// readInput reads a file that becomes a parameter, byte for byte; "-" is standard
// input, as with curl.
func readInput(path string) (string, error) {
	if path == "-" {
		path = "/dev/stdin"
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err //nolint:wrapcheck // it names the file, and pflag the flag
	}
	defer f.Close() //nolint:errcheck // read only
	b, err := io.ReadAll(io.LimitReader(f, mostInput+1))
	if err != nil {
		return "", err //nolint:wrapcheck // as above
	}
	if len(b) > mostInput {
		return "", fmt.Errorf("%s has more than %s, the most that can travel with a run; give a smaller file", path, unit.Size(mostInput))
	}
	return string(b), nil
}

func (p *paramFlag) set(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return p.set(v.Elem(), text)
	}
	if into, ok := v.Addr().Interface().(interface{ Set(text string) error }); ok {
		return into.Set(text)
	}
	if into, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			text += p.unit
		}
		err := into.UnmarshalText([]byte(text))
		if err != nil && p.unit != "" {
			return fmt.Errorf("must be a positive number, alone or with a unit: 2000 or 2k%s", p.unit)
		}
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return errors.New("must be a whole number")
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x != x || x-x != 0 {
			return errors.New("must be a number")
		}
		v.SetFloat(x)
	case reflect.Slice, reflect.Map:
		return p.grow(v, text)
	default:
		return fmt.Errorf("a flag cannot hold a value of type %s", v.Type())
	}
	return nil
}

func (p *paramFlag) grow(v reflect.Value, text string) error {
	if bytes, ok := v.Addr().Interface().(*[]byte); ok {
		*bytes = []byte(text)
		return nil
	}
	if v.Kind() == reflect.Slice {
		texts := []string{text}
		if v.Type().Elem().Kind() == reflect.Float64 {
			texts = strings.Split(strings.ReplaceAll(text, " ", ""), ",") // neither is part of a number
		}
		for _, one := range texts {
			item := reflect.New(v.Type().Elem()).Elem()
			if err := p.set(item, one); err != nil {
				return err
			}
			v.Set(reflect.Append(v, item))
		}
		return nil
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("must be NAME=VALUE")
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(value))
	return nil
}
