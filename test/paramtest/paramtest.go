// Package paramtest checks parameters of workloads as an experiment file's are:
// what the tags do not allow is refused first, and then what Validate says.
package paramtest

import (
	"encoding/json"
	"testing"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Check is why parameters are refused: what an experiment file says, as JSON.
func Check(t testing.TB, kind workload.Kind, text string) error {
	t.Helper()
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	w := kind.New()
	if err := experiment.Fill(w, given, nil); err != nil {
		return err
	}
	return w.Validate()
}

// Fields are the keys that an error names.
func Fields(err error) (out []string) {
	for _, one := range model.Single(err) {
		if field, ok := one.(*model.InputError); ok { //nolint:errorlint // each is one error
			out = append(out, field.Path)
		} else {
			out = append(out, "not a field: "+one.Error())
		}
	}
	return out
}

// Validate checks what is refused: a case is parameters, and the field that is
// refused first; empty: none.
func Validate(t *testing.T, kind workload.Kind, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		text, refused := c[0], c[1]
		err := Check(t, kind, text)
		field := ""
		if fields := Fields(err); len(fields) > 0 {
			field = fields[0]
		}
		if field != refused {
			t.Errorf("the parameters %s: %v, want field %q refused", text, err, refused)
		}
	}
}
