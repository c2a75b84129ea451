package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/study"
)

// TestStoredParameters: what is stored of a study gives the same parameters again. A key that
// is left out where it is zero must be zero by default: otherwise a file that sets it to zero
// would be read back with the default.
func TestStoredParameters(t *testing.T) {
	for _, kind := range Studies() {
		s := kind.New()
		v := reflect.ValueOf(study.Parameters(s)).Elem()
		for _, f := range reflect.VisibleFields(v.Type()) {
			if _, options, _ := strings.Cut(f.Tag.Get("json"), ","); strings.Contains(options, "omitempty") &&
				!v.FieldByIndex(f.Index).IsZero() {
				t.Errorf("%s: %s is left out where it is zero, and has a default", kind.Name, f.Name)
			}
		}
		stored, err := study.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := kind.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		second, err := study.Encode(again)
		if diff := cmp.Diff(string(stored), string(second)); err != nil || diff != "" {
			t.Errorf("%s: %v, stored again (-first +second):\n%s", kind.Name, err, diff)
		}
	}
}
