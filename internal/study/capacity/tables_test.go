package capacity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Reasons that differ in their figures are told once, with the range of each
// figure; those about other generators are not, although their names differ in
// figures only.
func TestHiddenReasons(t *testing.T) {
	late := func(node model.NodeID, lag time.Duration, busy float64) Assessment {
		w := load.Window{Generators: []load.Generator{{Node: node}, {Node: "other"}}}
		return Assessment{Verdict: Unusable, Problems: []reason{blame(w, []model.NodeID{node}, "%s sent late: by %s or more, where at most %s is tolerated; busy for %s of the time",
			took(lag), exactly(5*time.Millisecond), share(busy))}}
	}
	moved := func(second int, longer time.Duration) Assessment {
		return Assessment{Verdict: Unusable, PathChange: pathReason("in second %s of the window ", longer, count(second))}
	}
	var x Search
	x.Answer.Windows = []Assessment{
		late("10.0.0.7", 960*time.Microsecond, .095), late("10.0.0.7", 1020*time.Millisecond, 1), late("10.0.0.7", 43580*time.Microsecond, .488),
		{Verdict: Passed},
		late("10.0.0.8", 7*time.Millisecond, .095), late("10.0.0.7", 43580*time.Microsecond, .488),
		moved(3, 9*time.Millisecond), moved(12, 7*time.Millisecond), moved(4, -7*time.Millisecond),
	}
	want := []string{
		"1 to 3, 6: generator 10.0.0.7 sent late: by 960 µs to 1.02 s or more, where at most 5 ms is tolerated; busy for 9.5 % to 100 % of the time",
		"5: generator 10.0.0.8 sent late: by 7 ms or more, where at most 5 ms is tolerated; busy for 9.5 % of the time",
		"7, 8: in second 3 to 12 of the window the path to the target became 7 ms to 9 ms longer",
		"9: in second 4 of the window the path to the target became 7 ms shorter",
	}
	if diff := cmp.Diff(want, x.hiddenReasons()); diff != "" {
		t.Errorf("hiddenReasons (-want +got):\n%s", diff)
	}
	if x.Answer.Windows[0].reason() != "generator 10.0.0.7 sent late: by 960 µs or more, where at most 5 ms is tolerated; busy for 9.5 % of the time" {
		t.Errorf("the first window now says %q", x.Answer.Windows[0].reason())
	}
}
