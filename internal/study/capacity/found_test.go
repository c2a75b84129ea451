package capacity

import (
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// TestFound: what counts of a run that searched is what the search found, and not the
// mean over the windows of all loads; what ended early is a lower bound.
func TestFound(t *testing.T) {
	for name, windows := range map[string]int{"a capacity": 40, "cut short": 2} {
		x := begin(t, setup(1, "web"))
		x.run(t, capacityServer{730}, windows)
		run := observe.Of(x.data)
		searches, err := newStudy().searchesOf(run)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := study.Registry{Kind()}.Frames(run)
		if err != nil {
			t.Fatal(err)
		}
		var counts []frame.Frame
		for _, f := range frames {
			if !f.Info {
				counts = append(counts, f)
			}
		}
		if len(counts) != 1 || counts[0].Metric != "capacity" || counts[0].Len() != 1 ||
			counts[0].Better != model.Higher || counts[0].Fact(frame.FactSubject) != nil {
			t.Fatalf("%s: frames that count: %+v, want the capacity alone", name, counts)
		}
		f, a := counts[0], searches[0].Answer
		censored := f.Fact(frame.FactCensored).Level(0)
		switch {
		case a.Estimate == nil && (f.Values[0] != *a.Passed || censored != frame.Censored || f.Ends != nil ||
			len(f.Doubts) == 0):
			t.Errorf("%s: %v %s %v, want at least %v", name, f.Values, censored, f.Ends, *a.Passed)
		case a.Estimate != nil && (f.Values[0] != *a.Estimate || censored != "no" || f.Ends[0] != *a.CI):
			t.Errorf("%s: %v %s %v, want %v %v", name, f.Values, censored, f.Ends, *a.Estimate, *a.CI)
		}
		if (a.Estimate == nil) != (windows == 2) {
			t.Errorf("%s: the estimate is %v", name, a.Estimate)
		}
	}
}
