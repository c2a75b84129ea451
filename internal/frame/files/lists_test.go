package files

import (
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
)

// TestListOfObjects: the rows of a report in JSON are the objects of its longest list,
// wherever other lists stand, and whatever they hold.
func TestListOfObjects(t *testing.T) {
	const results = `"results":[{"ms":1},{"ms":2},{"ms":3}]`
	for name, text := range map[string]string{
		"alone":                 `{` + results + `}`,
		"an empty list before":  `{"errors":[],` + results + `}`,
		"beside a number":       `{"version":3,"errors":[],` + results + `}`,
		"texts before":          `{"tags":["a","b","c","d"],` + results + `}`,
		"numbers before":        `{"cores":[1,2,3,4],` + results + `}`,
		"nothing before":        `{"notes":[null],` + results + `}`,
		"lists before":          `{"grid":[[1,2],[3,4]],` + results + `}`,
		"an empty list behind":  `{` + results + `,"errors":[]}`,
		"a shorter list before": `{"hosts":[{"name":"a"},{"name":"b"}],` + results + `}`,
		"a shorter list behind": `{` + results + `,"hosts":[{"name":"a"}]}`,
	} {
		frames, _, err := Read(t.Context(), "x", strings.NewReader(text), frame.Choice{}, Limits{})
		if err != nil || len(frames) != 1 || frames[0].Metric != "ms" || !slices.Equal(frames[0].Values, []float64{1, 2, 3}) {
			t.Errorf("%s: %+v, %v; want three values of ms", name, frames, err)
		}
	}
}
