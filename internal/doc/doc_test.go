package doc

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc/chart"
)

func ptr[T any](v T) *T { return &v }

func TestOf(t *testing.T) {
	type word string
	for _, c := range []struct {
		name      string
		in, value any
	}{
		{"nothing", nil, nil}, {"nil pointer", (*float64)(nil), nil}, {"pointer", ptr(1.5), 1.5}, {"NaN", math.NaN(), nil},
		{"pointer to infinity", ptr(math.Inf(1)), nil}, {"whole float", 2.0, 2.0}, {"int", 2, 2}, {"int64", int64(-3), -3}, {"uint16", uint16(7), 7},
		{"uint64 beyond int", uint64(math.MaxUint64), float64(math.MaxUint64)}, {"float32", float32(.5), .5}, {"bool", true, true},
		{"text", "x", "x"}, {"named text", word("x"), "x"}, {"no time", time.Time{}, nil},
		{"time", time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600)), "2026-01-02T02:04:05.0000006Z"}, {"pointer to a time", ptr(time.Unix(0, 0)), "1970-01-01T00:00:00Z"},
	} {
		if got := Of(c.in).Value; !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s: Of(%v).Value = %#v, want %#v", c.name, c.in, got, c.value)
		}
	}
	if c := Of(1.0).Within(math.Inf(-1), 2); c.Lo != nil || *c.Hi != 2 {
		t.Errorf("Within(-Inf, 2) = %v, %v, want no lower end", c.Lo, c.Hi)
	}
}

// fill sets a value at random, as deep as it goes: texts are valid UTF-8, and
// empty slices are nil, as JSON has them.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		words := []string{"", "a", "<b>&\"", "\x1b[31m\u202e", "日本\n", "1.0", "null"}
		v.SetString(words[r.IntN(len(words))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(r.IntN(2000) - 1000))
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -2.5, 1e300, math.Pi, 1 << 60, math.SmallestNonzeroFloat64}[r.IntN(7)])
	case reflect.Interface:
		values := []any{nil, "x", 1.0, 1, -2, 1.5, 1e21, 1 << 60, true}
		if x := values[r.IntN(len(values))]; x != nil {
			v.Set(reflect.ValueOf(x))
		}
	case reflect.Pointer:
		if depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if n := r.IntN(4); depth > 0 && n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth-1)
			}
			if x, ok := v.Interface().(chart.Values); ok && r.IntN(2) == 0 {
				x[0] = math.Inf(2*r.IntN(2) - 1)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth-1)
		}
	}
}

// A document travels as JSON without loss: decoded, it is the same, with every
// value of its cells of the type that it had.
func FuzzJSONKeepsDocuments(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		var d, back Document
		fill(r, reflect.ValueOf(&d).Elem(), 15)
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(d, back) {
			t.Errorf("seed %d: decoded, the document differs (-want +got):\n%s", seed, cmp.Diff(d, back))
		}
	})
}

// NaN and infinities become no value in JSON, and everything else can be encoded.
func TestJSONWithoutNumbers(t *testing.T) {
	data, err := json.Marshal(Cell{Value: math.NaN(), Lines: []string{"n/a"}})
	if err != nil || strings.Contains(string(data), "value") {
		t.Errorf("a cell of NaN is %s, %v, want no value", data, err)
	}
	if err := json.Unmarshal([]byte(`{"value": 1e999}`), &Cell{}); err == nil {
		t.Error("a number beyond float64 is decoded")
	}
}

func TestFirst(t *testing.T) {
	inner := &Table{Columns: []Column{{Key: "inner"}}}
	d := &Document{Sections: []Section{
		{Blocks: []Block{Para("x"), {Part: &Section{Blocks: []Block{{Fold: &Fold{Blocks: []Block{{Table: inner}}}}}}}}},
		{Blocks: []Block{{Table: &Table{}}}},
	}}
	if got := d.Table(); got != inner {
		t.Errorf("Table = %v, want the first, in a fold of a part", got)
	}
	d.Data = &Table{}
	if got := d.Table(); got != d.Data {
		t.Errorf("Table = %v, want Data", got)
	}
	if got := d.Figure(); got != nil {
		t.Errorf("Figure = %v, want none", got)
	}
}
