package experiment

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rule, either and list stand for structs that a value without keys may set.
type rule struct {
	Name string     `json:"name" jsonschema:"required"`
	Rate either     `json:"rate,omitzero"`
	Ways directions `json:"ways,omitzero"`
	Next []step     `json:"next,omitempty"`
}

type step struct {
	Of   string            `json:"of" jsonschema:"required"`
	Rate map[string]either `json:"rates,omitempty"`
}

type either struct {
	Amount amount  `json:"-" plain:"true"`
	Base   float64 `json:"base,omitempty"`
}

type amount struct {
	Number float64 `json:"-" plain:"true" jsonschema:"exclusiveMinimum=0"`
	Text   string  `json:"-" plain:"true" jsonschema:"minLength=2"`
}

func (a amount) MarshalJSON() ([]byte, error) {
	if a.Text != "" {
		return json.Marshal(a.Text)
	}
	return json.Marshal(a.Number)
}

func (e either) MarshalJSON() ([]byte, error) {
	if e.Amount != (amount{}) {
		return json.Marshal(e.Amount)
	}
	type keys either
	return json.Marshal(keys(e))
}

type directions struct {
	Each string   `json:"-" plain:"true" jsonschema:"enum=each"`
	List []string `json:"-" plain:"true" jsonschema:"minItems=1,enum=read,enum=write"`
}

func (c directions) MarshalJSON() ([]byte, error) {
	if c.Each != "" {
		return json.Marshal(c.Each)
	}
	return json.Marshal(c.List)
}

// TestReadFile: a value without keys sets the first field that takes it, and problems
// that only the caller knows stand at their place.
func TestReadFile(t *testing.T) {
	none := func(Report) {}
	for text, want := range map[string]rule{
		"name: a\nrate: 3\nways: each\n": {Name: "a", Rate: either{Amount: amount{Number: 3}},
			Ways: directions{Each: "each"}},
		"name: a\nrate: 3MiB\nways: [read, write]\n": {Name: "a", Rate: either{Amount: amount{Text: "3MiB"}},
			Ways: directions{List: []string{"read", "write"}}},
		"name: \"3\"\nrate: {base: 0.5}\nnext:\n- of: x\n  rates: {a.b: 3, \"true\": \"12\"}\n": {Name: "3",
			Rate: either{Base: .5},
			Next: []step{{"x", map[string]either{"a.b": {Amount: amount{Number: 3}}, "true": {Amount: amount{Text: "12"}}}}}},
	} {
		var got, back rule
		if err := ReadFile("f.yaml", []byte(text), &got, none); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		src, err := WriteFile(got)
		if err != nil {
			t.Fatal(err)
		}
		if err := ReadFile("back.yaml", src, &back, none); err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Errorf("%s was written (-want +got):\n%s", src, diff)
		}
	}
	checked := func(report Report) {
		report([]string{"next", "0", "rates", "a.b"}, "it is odd", "use 4")
		report([]string{"rate"}, "it is wrong", "")
	}
	for text, want := range map[string]string{
		"name: a\nrate: 3\nnext: [{of: x, rates: {a.b: 3}}]\n": "f.yaml:2:7: rate: it is wrong\nf.yaml:3:29: " +
			"next.0.rates.a.b: it is odd; use 4",
		"name: a\nrate: [3]\n": "f.yaml:2:7: rate: must be a group of keys, not a list; " +
			"use a number greater than 0, or text with at least 2 characters, or the keys base",
		"name: a\nrate: -3\n": "f.yaml:2:7: rate: -3 is too small; use a number " +
			"greater than 0",
		"name: a\nrate: x\n": "f.yaml:2:7: rate: the text is too short; use text with " +
			"at least 2 characters",
		"name: a\nways: [all]\n": `f.yaml:2:8: ways.0: unknown value "all"; use read, write`,
		"name: a\nways: []\n": "f.yaml:2:7: ways: the list is too short; use a list " +
			"that is not empty",
		"rate: 3\n": `f.yaml:1:1: the key "name" is missing; use text`,
		"name: a\nrat: 3\n": `f.yaml:2:1: rat: unknown key "rat"; did you mean ` +
			`"rate"? Known keys: name, next, rate, ways`,
		"": "f.yaml: the file is empty",
	} {
		err := ReadFile("f.yaml", []byte(text), &rule{}, checked)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n%v\nwant\n%s", text, err, want)
		}
	}
}

// TestWriteFile: the innermost groups and lists stand in one line each.
func TestWriteFile(t *testing.T) {
	got, err := WriteFile(map[string]any{"model": "m", "limits": []any{map[string]any{"of": "ops", "rate": 300}},
		"values": []float64{1, 2.5}, "inputs": map[string]any{"gib": map[string]any{}}})
	want := "inputs:\n  gib: {}\nlimits:\n- {of: ops, rate: 300}\nmodel: m\nvalues: [1, 2.5]\n"
	if err != nil || string(got) != want {
		t.Errorf("WriteFile: %v\n%s\nwant\n%s", err, got, want)
	}
}
