package cli

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/model"
)

// TestCapacityExitCodes: a capacity of the target is reported, or refused with
// whose limit was found instead; what passed is never below what it passed.
func TestCapacityExitCodes(t *testing.T) {
	passed, failed := 100., 105.
	result := func(limit capacity.Limit, names ...model.NodeID) capacity.Result {
		return capacity.Result{Limit: limit, Passed: &passed, Failed: &failed, Generators: names}
	}
	for _, c := range []struct {
		name   string
		result capacity.Result
		floor  float64
		code   int
		says   string
	}{
		{"target", result(capacity.LimitTarget), 0, exitDone, ""},
		{"target above the floor", result(capacity.LimitTarget), 100, exitDone, ""},
		{"target below the floor", result(capacity.LimitTarget), 101, exitThreshold, "less than 101"},
		{"path", result(capacity.LimitPath), 0, exitInvalid, "the path to the target was at its limit"},
		{"path above the floor", result(capacity.LimitPath), 99, exitDone, ""},
		{"path below the floor", result(capacity.LimitPath), 101, exitInvalid, "the path"},
		{"generators", result(capacity.LimitGenerator), 0, exitInvalid, "the generators were at their limit"},
		{"one of the generators", result(capacity.LimitGenerator, "n2"), 101, exitInvalid, "generator n2 was at its limit"},
		{"not over", result(capacity.LimitNone), 101, exitInvalid, "cannot be told"},
	} {
		err := checkCapacities([]capacity.Found{{Workload: "w", Result: c.result}}, c.floor)
		if got := exitCode(err); got != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, exit code %d; want %d and %q", c.name, err, got, c.code, c.says)
		}
	}
}
