package experiment

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// decoder fills Go values from a tree and notes everything in it that does not
// suit them, at its position. What suits is filled in, so that the rest of a
// file can be looked at further.
type decoder struct {
	*yamlFile
	root *value
	// blamed holds the paths of all values that were complained about, touched
	// also those of everything around them.
	blamed, touched map[string]bool
	phases          []string // that texts of type model.Phase may name; none: any
}

// newDecoder notes what is wrong with the tree itself.
func newDecoder(f *yamlFile) *decoder {
	d := &decoder{yamlFile: f, root: (*value)(f.root), blamed: map[string]bool{}, touched: map[string]bool{}}
	d.sift(f.root, nil)
	return d
}

// sift notes keys and scalars that cannot be used, and takes the keys away.
func (d *decoder) sift(n *yaml.Node, path []string) {
	switch n.Kind {
	case yaml.MappingNode:
		first := make(map[string]*yaml.Node, len(n.Content)/2)
		kept := n.Content[:0:0]
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, val := n.Content[i], n.Content[i+1]
			switch was := first[key.Value]; {
			case key.Kind != yaml.ScalarNode:
				d.reportAt(d.pos(key), path, "a key must be plain text", "")
			case was != nil:
				d.reportAt(d.pos(key), extend(path, key.Value), "duplicate key", "the first is "+d.pos(was).where())
			default:
				first[key.Value] = key
				kept = append(kept, key, val)
				d.sift(val, extend(path, key.Value))
			}
		}
		n.Content = kept
	case yaml.SequenceNode:
		for i, item := range n.Content {
			d.sift(item, extend(path, strconv.Itoa(i)))
		}
	default:
		if _, problem, allowed := scalar(n); problem != "" {
			d.reportAt(d.pos(n), path, problem, allowed)
		}
	}
}

// place is where a value stands.
func (d *decoder) place(v *value) pos { return d.pos((*yaml.Node)(v)) }

// pathKey makes a path a key of a map. Keys with a NUL would be ambiguous, and
// are unknown to every type.
func pathKey(path []string) string { return strings.Join(path, "\x00") }

// clean reports whether nothing at or below a path was complained about.
func (d *decoder) clean(path ...string) bool { return !d.touched[pathKey(path)] }

func (d *decoder) report(path []string, problem, allowed string) {
	d.reportAt(d.place(d.root.find(path)), path, problem, allowed)
}

func (d *decoder) reportAt(at pos, path []string, problem, allowed string) {
	d.blamed[pathKey(path)] = true
	for i := range path {
		d.touched[pathKey(path[:i+1])] = true
	}
	d.probs.add(at, d.root.show(path), problem, allowed)
}

// decode fills dst, a settable value, from v. It reports whether all of v
// fits. If not, dst keeps its old value; only in groups of keys the valid keys
// are filled in.
func (d *decoder) decode(v *value, path []string, dst reflect.Value, s shape) bool {
	if _, problem, _ := scalar((*yaml.Node)(v)); problem != "" && v.isScalar() {
		return false // which was noted; to say more would only confuse
	}
	if s.phase {
		s.enum = d.phases
	}
	if dst.Kind() == reflect.Pointer {
		elem := reflect.New(dst.Type().Elem())
		if own, has := elem.Interface().(json.Unmarshaler); has && s.kind == groupShape {
			_ = own.UnmarshalJSON([]byte("{}")) // sets its defaults; keys are decoded below
		}
		ok := d.decode(v, path, elem.Elem(), s)
		if ok || s.kind == groupShape && v.isObject() {
			dst.Set(elem)
		}
		return ok
	}
	if !s.holds(v) {
		if i := slices.IndexFunc(s.plain, func(f field) bool { return f.shape.takes(v) }); i >= 0 {
			return d.decode(v, path, dst.FieldByIndex(s.plain[i].index), s.plain[i].shape)
		}
		problem, allowed := wrongType(v, s)
		d.report(path, problem, allowed)
		return false
	}
	switch s.kind {
	case groupShape:
		return d.group(v, path, dst, s)
	case listShape:
		return d.list(v, path, dst, s)
	case textShape:
		return d.text(v, path, dst, s)
	case wholeShape, numberShape:
		return d.number(v, path, dst, s)
	case boolShape:
		b, _ := v.scalar().(bool)
		dst.SetBool(b)
	default:
		dst.Set(reflect.ValueOf(v.plain()))
	}
	return true
}

func (d *decoder) group(v *value, path []string, dst reflect.Value, s shape) bool {
	if n := len(v.Content) / 2; s.exactly > 0 && n != s.exactly {
		d.report(path, fmt.Sprintf("it has %d keys", n), s.describe())
	}
	if dst.Kind() == reflect.Map {
		d.mapping(v, path, dst, s)
	} else {
		d.fields(v, path, dst, fieldsOf(dst.Type()), s.keys)
		d.unknownKeys(v, path, s.keys)
	}
	return d.clean(path...)
}

func (d *decoder) mapping(v *value, path []string, dst reflect.Value, s shape) {
	m := reflect.MakeMap(dst.Type())
	for key, val := range v.members() {
		elem := reflect.New(dst.Type().Elem()).Elem()
		if d.decode(val, extend(path, key.Value), elem, *s.item) {
			m.SetMapIndex(reflect.ValueOf(key.Value), elem)
		}
	}
	dst.Set(m)
}

// fields fills the fields of a struct from their keys, and notes those that
// are missing; known are all keys that the object may have.
func (d *decoder) fields(v *value, path []string, dst reflect.Value, fields []field, known []string) {
	for _, f := range fields {
		m := v.get(f.key)
		switch {
		case m == nil && f.shape.required:
			d.missingKey(path, v, f, known)
		case m != nil && !f.skip:
			d.decode(m, extend(path, f.key), dst.FieldByIndex(f.index), f.shape)
		}
	}
}

func (d *decoder) unknownKeys(v *value, path, known []string, also ...string) {
	for key := range v.members() {
		if !slices.Contains(known, key.Value) && !slices.Contains(also, key.Value) {
			d.unknownKey(path, key, known)
		}
	}
}

func (d *decoder) unknownKey(path []string, key *value, known []string) {
	allowed := "known keys: " + strings.Join(known, ", ")
	if s := num.Suggest(key.Value, known); s != "" {
		allowed = fmt.Sprintf("did you mean %q? Known keys: %s", s, strings.Join(known, ", "))
	}
	d.reportAt(d.place(key), extend(path, key.Value), fmt.Sprintf("unknown key %q", clip(key.Value)), allowed)
}

// missingKey reports a required key that is not there, unless a misspelt one
// explains it.
func (d *decoder) missingKey(path []string, v *value, f field, known []string) {
	for key := range v.members() {
		if !slices.Contains(known, key.Value) && num.Suggest(key.Value, known) == f.key {
			d.unknownKey(path, key, known) // noted once, however often it is found
			return
		}
	}
	d.report(path, fmt.Sprintf("the key %q is missing", f.key), f.wanted())
}

// length notes a list of so many items that has too few or too many.
func (d *decoder) length(n int, path []string, s shape) {
	switch {
	case n < s.least:
		d.report(path, "the list is too short", s.describe())
	case s.most >= 0 && n > s.most:
		d.report(path, "the list is too long", s.describe())
	}
}

func (d *decoder) list(v *value, path []string, dst reflect.Value, s shape) bool {
	items := v.items()
	d.length(len(items), path, s)
	if twice := repeated(items); s.unique && twice != nil {
		d.report(path, fmt.Sprintf("the list has %s twice", twice), "use each entry once")
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		d.decode(item, extend(path, strconv.Itoa(i)), out.Index(i), *s.item)
	}
	if !d.clean(path...) {
		return false
	}
	dst.Set(out)
	return true
}

// repeated is the first item that stands in a list a second time; nil if none
// does.
func repeated(items []*value) *value {
	for i, item := range items {
		if slices.ContainsFunc(items[:i], func(other *value) bool { return reflect.DeepEqual(other.plain(), item.plain()) }) {
			return item
		}
	}
	return nil
}

// text fills a string, or what reads itself from one: a quantity.
func (d *decoder) text(v *value, path []string, dst reflect.Value, s shape) bool {
	text := v.text()
	if check := formats[s.format]; check != nil {
		if err := check(text); err != nil {
			problem, allowed, _ := strings.Cut(err.Error(), "; ")
			if s.unit != "" {
				problem, allowed = fmt.Sprintf("%s is not in %s", v, s.unit), s.describe()
			}
			d.report(path, problem, allowed)
			return false
		}
	}
	switch n := utf8.RuneCountInString(text); {
	case len(s.enum) > 0 && !slices.Contains(s.enum, text):
		d.report(path, fmt.Sprintf("unknown value %s", v), oneOf(text, s.enum))
	case n < s.least:
		d.report(path, "the text is too short", s.describe())
	case s.most >= 0 && n > s.most:
		d.report(path, "the text is too long", s.describe())
	case s.pattern != nil && !s.pattern.MatchString(text):
		d.report(path, fmt.Sprintf("%s does not have the right form", v), s.describe())
	default:
		if into, ok := dst.Addr().Interface().(encoding.TextUnmarshaler); ok {
			if err := into.UnmarshalText([]byte(text)); err != nil {
				d.report(path, err.Error(), "")
				return false
			}
			return true
		}
		dst.SetString(text)
		return true
	}
	return false
}

func (d *decoder) number(v *value, path []string, dst reflect.Value, s shape) bool {
	x, isFloat := v.scalar().(float64)
	whole, _ := v.scalar().(int64)
	if !isFloat {
		x = float64(whole)
	}
	switch {
	case s.tooSmall(x):
		d.report(path, fmt.Sprintf("%s is too small", v), s.describe())
		return false
	case s.tooLarge(x):
		d.report(path, fmt.Sprintf("%s is too large", v), s.describe())
		return false
	}
	fits := true
	switch {
	case dst.CanFloat():
		dst.SetFloat(x)
	case isFloat:
		fits = false // beyond every integer
	case dst.CanInt():
		if fits = !dst.OverflowInt(whole); fits {
			dst.SetInt(whole)
		}
	default:
		if fits = whole >= 0 && !dst.OverflowUint(uint64(whole)); fits {
			dst.SetUint(uint64(whole))
		}
	}
	if !fits {
		d.report(path, fmt.Sprintf("number %s is not possible", v), "")
	}
	return fits
}

// shape is what a value must look like: the type of the field that it fills,
// and the constraints of its tags.
type shape struct {
	kind     shapeKind
	required bool
	quantity string   // what a quantity allows, in words; empty for other texts
	unit     string   // the only unit of a quantity; empty: any
	format   string   // name of a format of texts
	keys     []string // of a struct, sorted
	plain    []field  // of a struct: fields that a value without keys may set; the first that takes it
	exactly  int      // so many keys; 0: any number
	item     *shape   // of lists and maps
	enum     []string
	phase    bool // the enumeration is that of the decoder's phases
	unique   bool
	// least and most are the length of a text or list; most is -1 without a
	// bound. low, high, above and below bound a number.
	least, most             int
	low, high, above, below bound
	pattern                 *regexp.Regexp
}

// bound is a limit of a number as its tag has it; empty for none.
type bound string

func (b bound) value(without float64) float64 {
	x, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return without
	}
	return x
}

func (s shape) tooSmall(x float64) bool {
	return x < s.low.value(math.Inf(-1)) || s.above != "" && x <= s.above.value(0)
}

func (s shape) tooLarge(x float64) bool {
	return x > s.high.value(math.Inf(1)) || s.below != "" && x >= s.below.value(0)
}

type shapeKind int

const (
	anyShape shapeKind = iota
	groupShape
	listShape
	textShape
	wholeShape
	numberShape
	boolShape
)

func (k shapeKind) word() string {
	return [...]string{"anything", "a group of keys", "a list", "text", "a whole number", "a number", "true or false"}[k]
}

// isPlain reports a struct that has no keys, only values in their place.
func (s shape) isPlain() bool { return len(s.plain) > 0 && len(s.keys) == 0 }

// takes reports whether a value has this shape, or one that it may have in its place.
func (s shape) takes(v *value) bool {
	return s.holds(v) || slices.ContainsFunc(s.plain, func(f field) bool { return f.shape.takes(v) })
}

func (s shape) holds(v *value) bool {
	switch s.kind {
	case groupShape:
		return v.isObject() && !s.isPlain()
	case listShape:
		return v.isArray()
	case anyShape:
		return true
	}
	if !v.isScalar() {
		return false
	}
	switch x := v.scalar().(type) {
	case string:
		return s.kind == textShape
	case bool:
		return s.kind == boolShape
	case int64:
		return s.kind == wholeShape || s.kind == numberShape
	case float64:
		return s.kind == numberShape || s.kind == wholeShape && x == math.Trunc(x)
	}
	return false
}
