package workloadtest

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// Validate checks what a workload says of parameters. A case is what an
// experiment file says, as JSON, and the field that is refused; empty: none.
func Validate(t *testing.T, kind workload.Kind, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		text, refused := c[0], c[1]
		err := Parse(t, kind, text).Validate()
		var field *model.InputError
		if errors.As(err, &field); (refused == "") != (err == nil) || field != nil && field.Path != refused {
			t.Errorf("Validate(%s) = %v, want field %q", text, err, refused)
		}
	}
}

// Parse decodes parameters over the defaults, as the runner does: strictly.
func Parse(t testing.TB, kind workload.Kind, text string) workload.Workload {
	t.Helper()
	w := kind.New()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(w); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return w
}

// Need skips a test that lacks something on this machine; in CI it fails.
func Need(t testing.TB, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("%v; scripts/deps.sh installs what tests need", missing)
	default:
		t.Skip(missing)
	}
}

// NeedTool is Need for a program on the PATH.
func NeedTool(t testing.TB, name string) {
	t.Helper()
	_, err := workload.LookPath(name, os.Environ())
	Need(t, err)
}
