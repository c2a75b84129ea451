package sqlstore

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// fill gives every field below v a value that is not zero and that no other
// has.
func fill(t *testing.T, v reflect.Value, next *int64) {
	t.Helper()
	*next++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(0, *next).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i), next)
		}
	case reflect.String:
		v.SetString("text " + time.Duration(*next).String())
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), next)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, next)
		fill(t, value, next)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		t.Fatalf("a %v cannot be filled", v.Type())
	}
}

// TestPackedComplete: every field of a result that is not an index column is in
// a packed record. It fails if a field is added to the model but to no layout.
func TestPackedComplete(t *testing.T) {
	var want model.Result
	var next int64
	fill(t, reflect.ValueOf(&want).Elem(), &next)
	got := model.Result{ // the index columns
		Run: want.Run, Step: want.Step, Task: want.Task, Attempt: want.Attempt, Node: want.Node,
		Outcome: want.Outcome, Started: want.Started, Ended: want.Ended,
	}
	s := &Store{codec: testCodec(t)}
	p, err := s.encodeResult(&want)
	if err != nil {
		t.Fatal(err)
	}
	var w wire
	body, output := p.row[4].([]byte), p.row[5].([]byte)
	if err := readRecord(s.codec, &w, body, &got, layoutBody); err != nil {
		t.Fatal(err)
	}
	if err := readRecord(s.codec, &w, output, &got, layoutTexts); err != nil {
		t.Fatal(err)
	}
	reader := pointReader{c: s.codec}
	for _, row := range p.points {
		if err := reader.add(&got, row[0].(int), row[1].(string), row[2].([]byte)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("a result that was packed and read differs (-want +got):\n%s", d)
	}
}

// FuzzBody: a damaged record is an error, never a panic, and what is accepted
// survives another round trip.
func FuzzBody(f *testing.F) {
	code := -3
	for _, r := range []model.Result{{}, {
		Error: "why", ClockOffset: math.MinInt64, ClockError: math.MaxInt64, ExitCode: &code, Stdout: model.Output{Total: 1 << 40, Artifact: "stdout"},
		Samples: []model.Sample{{Metric: "m", Value: math.Pi, Labels: map[string]string{"b": "2", "a": "1"}}, {Info: true}},
	}} {
		w := wire{}
		layoutBody(&w, &r)
		f.Add(w.buf)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, again model.Result
		r := wire{buf: data, reading: true}
		if layoutBody(&r, &first); r.err != nil {
			return
		}
		w := wire{}
		layoutBody(&w, &first)
		r = wire{buf: w.buf, reading: true}
		layoutBody(&r, &again)
		if d := cmp.Diff(first, again, cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })); r.err != nil || d != "" {
			t.Errorf("round trip: %v (-first +again):\n%s", r.err, d)
		}
	})
}
