package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Reasons that differ in their figures are told once, with the range of each
// figure; those that differ in a name are not.
func TestHiddenReasons(t *testing.T) {
	unusable := func(reason string) Assessment {
		return Assessment{Verdict: Unusable, Problems: []string{reason}}
	}
	var x Search
	x.Answer.Windows = []Assessment{
		unusable("generator local-1 sent late: by 960µs or more, where at most 5ms is tolerated; busy for 9.5% of the time"),
		unusable("generator local-1 sent late: by 1.02s or more, where at most 5ms is tolerated; busy for 100% of the time"),
		unusable("generator local-1 sent late: by 43.58ms or more, where at most 5ms is tolerated; busy for 48.8% of the time"),
		{Verdict: Passed},
		unusable("generator local-2 sent late: by 7ms or more, where at most 5ms is tolerated; busy for 9.5% of the time"),
		unusable("generator local-1 sent late: by 43.58ms or more, where at most 5ms is tolerated; busy for 48.8% of the time"),
	}
	want := []string{
		"1 to 3, 6: generator local-1 sent late: by 960µs to 1.02s or more, where at most 5ms is tolerated; busy for 9.5% to 100% of the time",
		"5: generator local-2 sent late: by 7ms or more, where at most 5ms is tolerated; busy for 9.5% of the time",
	}
	if diff := cmp.Diff(want, x.hiddenReasons()); diff != "" {
		t.Errorf("hiddenReasons (-want +got):\n%s", diff)
	}
	if got, want := ranges([]int{1, 2, 4, 5, 6, 9}), "1, 2, 4 to 6, 9"; got != want {
		t.Errorf("ranges = %q, want %q", got, want)
	}
}
