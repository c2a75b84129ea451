package doc

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/stats"
)

// Flatten makes the table for programs from a result, by the tags of its JSON form.
//
// rows is where the rows are: keys of slices, divided by dots, as "metrics.runs"; each
// element of the last one is a row. "": the result is a slice, or is the only row.
//
// A row has a column for each key, in the order of the fields. The keys of an object in
// it are joined to its own by "_": {"a": {"mean": 1}} is a_mean. An interval [lo, hi]
// becomes key_lo and key_hi, and a list of texts becomes one text, divided by "; ".
// Other lists, and maps, are no columns. What is null in JSON, in objects too, has no
// value. "omitempty" omits nothing, for all rows have the same columns.
//
// columns are what to take, and in which order: "key", or "name=key" for a column with
// another name. A key that a row lacks is one of what holds the row: of the element of
// the slice around it, or of the result. None: all keys of a row itself.
//
// Flatten panics if there is no such slice or key, in a result without rows, too: a
// test of any result finds a word that is misspelt.
func Flatten(result any, rows string, columns ...string) *Table {
	v := reflect.Indirect(reflect.ValueOf(result))
	var path []string
	if rows != "" || v.Kind() == reflect.Slice {
		path = strings.Split(rows, ".")
	}
	held := make([][]leaf, len(path)+1) // keys of the result, and of an element of each slice
	lists, t := make([]func(reflect.Value) reflect.Value, len(path)), v.Type()
	for i, key := range path {
		lists[i], t = sliceAt(t, key)
		held[i+1] = leaves(t)
	}
	if v.Kind() == reflect.Struct {
		held[0] = leaves(v.Type())
	}
	if columns == nil {
		for _, l := range held[len(path)] {
			columns = append(columns, l.key)
		}
	}
	table, get := &Table{}, make([]func([]reflect.Value) any, len(columns))
	for i, c := range columns {
		name, key, renamed := strings.Cut(c, "=")
		if !renamed {
			key = name
		}
		table.Columns = append(table.Columns, Column{Key: name, For: Programs})
		get[i] = find(held, key)
	}
	var add func(holders []reflect.Value)
	add = func(holders []reflect.Value) {
		last := len(holders) - 1
		if last == len(path) {
			cells := make([]Cell, len(get))
			for i := range get {
				cells[i] = Of(get[i](holders))
			}
			table.Add(cells...)
			return
		}
		if all := lists[last](holders[last]); all.IsValid() {
			for i := range all.Len() {
				add(append(holders[:last+1:last+1], all.Index(i)))
			}
		}
	}
	add([]reflect.Value{v})
	return table
}

// find is the value of a key in the innermost of what holds it.
func find(held [][]leaf, key string) func([]reflect.Value) any {
	for i := len(held) - 1; i >= 0; i-- {
		for _, l := range held[i] {
			if l.key == key {
				return func(holders []reflect.Value) any { return l.value(holders[i]) }
			}
		}
	}
	panic(fmt.Sprintf("doc.Flatten: no row, nor what holds it, has the key %q", key))
}

// sliceAt is how the slice of a key is found in a value of a type, and the type of its
// elements. "" is the value itself.
func sliceAt(t reflect.Type, key string) (get func(reflect.Value) reflect.Value, element reflect.Type) {
	if key == "" && t.Kind() == reflect.Slice {
		return func(v reflect.Value) reflect.Value { return v }, t.Elem()
	}
	for _, f := range fields(t) {
		if f.Name == key && f.Type.Kind() == reflect.Slice {
			return func(v reflect.Value) reflect.Value { return field(v, f.Index) }, f.Type.Elem()
		}
	}
	panic(fmt.Sprintf("doc.Flatten: %v has no slice %q", t, key))
}

// leaf is one key of a row, and its value in one, which may be any that [Of] takes.
type leaf struct {
	key   string
	value func(reflect.Value) any
}

// leaves are the keys of a type of struct.
func leaves(t reflect.Type) (out []leaf) {
	for _, f := range fields(t) {
		for _, l := range leavesOf(f.Type) {
			key := f.Name
			if l.key != "" {
				key += "_" + l.key
			}
			out = append(out, leaf{key, func(v reflect.Value) any {
				if v = field(v, f.Index); !v.IsValid() {
					return nil
				}
				return l.value(v)
			}})
		}
	}
	return out
}

// leavesOf are the keys that a field of a type adds to its own; none: it is no column.
func leavesOf(t reflect.Type) []leaf {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	itself := func(value func(reflect.Value) any) []leaf { return []leaf{{"", value}} }
	switch {
	case t == reflect.TypeFor[stats.Interval](), t.Kind() == reflect.Array && t.Len() == 2 &&
		t.Elem().Kind() == reflect.Float64:
		end := func(i int) func(reflect.Value) any {
			return func(v reflect.Value) any {
				if v.Kind() == reflect.Struct {
					return v.Field(i).Float()
				}
				return v.Index(i).Float()
			}
		}
		return []leaf{{"lo", end(0)}, {"hi", end(1)}}
	case t == reflect.TypeFor[time.Time]():
		return itself(reflect.Value.Interface)
	case t.Implements(reflect.TypeFor[json.Marshaler]()), t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return itself(marshalled)
	case t.Kind() == reflect.Struct:
		return leaves(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return itself(func(v reflect.Value) any {
			texts := make([]string, v.Len())
			for i := range texts {
				texts[i] = v.Index(i).String()
			}
			return strings.Join(texts, "; ")
		})
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		return nil
	}
	return itself(reflect.Value.Interface)
}

// marshalled is the value that JSON has.
func marshalled(v reflect.Value) (out any) {
	data, err := json.Marshal(v.Interface())
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("doc.Flatten: %v: %v", v.Type(), err))
	}
	return out
}

// fields are those that JSON has of a type of struct, or of a pointer to one, with their
// keys for names: fields of embedded structs as if they were its own, of two with one
// key that which is less deep.
func fields(t reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	var add func(t reflect.Type, index []int)
	add = func(t reflect.Type, index []int) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for i := range t.NumField() {
			f := t.Field(i)
			f.Index = append(slices.Clip(index), i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && key == "":
				add(f.Type, f.Index)
			case f.IsExported() && key != "" && key != "-":
				f.Name = key
				all = append(all, f)
			}
		}
	}
	add(t, nil)
	hidden := func(f reflect.StructField) bool {
		return slices.ContainsFunc(all, func(o reflect.StructField) bool {
			return o.Name == f.Name &&
				len(o.Index) < len(f.Index)
		})
	}
	var out []reflect.StructField
	for _, f := range all {
		if !hidden(f) {
			out = append(out, f)
		}
	}
	return out
}

// field is a field of a struct, or of a pointer to one, without its pointer; not valid
// where a pointer on the way is nil.
func field(v reflect.Value, index []int) reflect.Value {
	if v = reflect.Indirect(v); !v.IsValid() {
		return v
	}
	f, err := v.FieldByIndexErr(index)
	if err != nil { // an embedded pointer is nil
		return reflect.Value{}
	}
	return reflect.Indirect(f)
}
