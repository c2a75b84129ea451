package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

// TestStartups: each start of a node is a row, in the order of time; what the node
// was is known of its last start only. Without a fleet that was asked there is no
// such frame.
func TestStartups(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, int64(s*1e9)) }
	took := func(s, seconds float64) model.Startup {
		return model.Startup{Requested: at(s), Took: time.Duration(seconds * 1e9)}
	}
	frames := Of(model.RunData{Run: model.Run{ID: "R"}, Nodes: []model.Node{
		{ID: "a", Labels: map[string]string{"processor": "xeon"}, Startups: []model.Startup{took(10, 1.5), took(30, 2.5)}},
		{ID: "b", Labels: map[string]string{"processor": "opteron"}, Startups: []model.Startup{took(20, 3)}},
		{ID: "c"},
	}}).Frames()
	want := []frame.Frame{{
		Key: frame.Key{Workload: "startup", Metric: "startup"}, Unit: "s", Better: model.Lower,
		Values: []float64{1.5, 3, 2.5}, Times: []int64{10e9, 20e9, 30e9},
		Facts: []frame.Fact{
			{Name: "node", Levels: []string{"", "a", "b"}, Codes: []uint16{1, 2, 1}},
			{Name: "processor", Levels: []string{"", "xeon", "opteron"}, Codes: []uint16{0, 2, 1}},
			{Name: "run", Levels: []string{"", "R"}, Codes: []uint16{1, 1, 1}},
		},
	}}
	if diff := cmp.Diff(want, frames); diff != "" {
		t.Errorf("Frames() (-want +got):\n%s", diff)
	}
	if frames := Of(model.RunData{Nodes: []model.Node{{ID: "c"}}}).Frames(); len(frames) > 0 {
		t.Errorf("Frames() of agents = %+v, want none", frames)
	}
}

// TestFile: runs of other files differ in a fact, those of one file do not.
func TestFile(t *testing.T) {
	file := func(source string) string {
		f := Of(model.RunData{Run: model.Run{ID: "R", Source: source}, Nodes: []model.Node{{ID: "a", Startups: []model.Startup{{Took: time.Second}}}}}).Frames()[0]
		return f.Fact(frame.FactFile).Level(0)
	}
	if a, b, c := file("trials: 1"), file("trials: 2"), file("trials: 1"); a == b || a != c || a == "" {
		t.Errorf("files %q, %q and again the first %q", a, b, c)
	}
}
