package frame

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestMatches: what is printed may be asked for, by all studies alike.
func TestMatches(t *testing.T) {
	disk := Key{Workload: "disk", Metric: "rate{test=seq}", Phase: model.Serial}
	for name, want := range map[string]bool{
		disk.Name(): true, "rate{test=seq}": true, "rate": true, "disk rate": true, "disk/rate": true, "disk rate{test=seq}": true,
		"disk": false, "rat": false, "diskrate": false, "disk ": false, "": false, "cpu rate": false,
	} {
		if got := disk.Matches(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if same := (Key{Workload: "cpu", Metric: "cpu"}); !same.Matches("cpu") || same.Matches("") {
		t.Error("a metric with the name of its workload is not found by it")
	}
}
