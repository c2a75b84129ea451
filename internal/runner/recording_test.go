package runner

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestRecording: what a workload recorded arrives as it is, and what could not
// be stored makes the task fail.
func TestRecording(t *testing.T) {
	good := model.HostSeries{Metric: "rtt", Unit: "s", Offsets: []int64{1, 5, 5}, Values: []float64{.1, .3, .2}}
	var pipe bytes.Buffer
	r := newReporter(&lineWriter{w: &pipe})
	r.Recording(good)
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := newLineReader(&pipe).next(&got); err != nil {
		t.Fatal(err)
	}
	var d data
	d.take(got)
	if diff := cmp.Diff([]model.HostSeries{good}, d.outcome().Host); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]model.HostSeries{
		"no metric":   {Unit: "s"},
		"no unit":     {Metric: "rtt"},
		"unequal":     {Metric: "rtt", Unit: "s", Offsets: []int64{1}},
		"not numbers": {Metric: "rtt", Unit: "s", Offsets: []int64{1}, Values: []float64{math.NaN()}},
		"backwards":   {Metric: "rtt", Unit: "s", Offsets: []int64{2, 1}, Values: []float64{1, 1}},
	} {
		r := newReporter(&lineWriter{w: &bytes.Buffer{}})
		r.Recording(bad)
		if r.end() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
