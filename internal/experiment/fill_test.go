package experiment

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Parameters that were given apart from a file are held to the same tags, and
// leave what was not given as it is.
func TestFill(t *testing.T) {
	fill := func(text string) (*spin, error) {
		var given map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
		s := &spin{Threads: 7, Kernel: "mixed"}
		return s, Fill(s, given, nil)
	}
	got, err := fill(`{"duration": "5s", "share": 0.5, "metrics": [{"name": "m"}]}`)
	want := &spin{Threads: 7, Kernel: "mixed", Duration: unit.Duration(5 * time.Second), Share: 0.5, Metrics: []metric{{Name: "m"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Fill: %v, parameters (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		`{}`:                  "",
		`{"threads": 65}`:     "threads: 65 is too large; use a whole number from 1 to 64",
		`{"kernel": "fload"}`: `kernel: unknown value "fload"; did you mean "float"? Use integer, float, mixed`,
		`{"thread": 1}`: `thread: unknown key "thread"; did you mean "threads"? ` +
			`Known keys: duration, env, kernel, metrics, rate, share, size, small, threads, workers`,
		`{"metrics": [{}]}`: `metrics.0: the key "name" is missing; use text that is not empty`,
		`{"duration": "5"}`: `duration: "5" is not a duration: it has no unit; use ` + unit.DurationAllowed,
	} {
		_, err := fill(text)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || !errors.Is(err, model.ErrUsage)) {
			t.Errorf("Fill(%s): %v, want %q", text, err, want)
		}
	}
}
