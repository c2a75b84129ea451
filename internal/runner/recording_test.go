package runner

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestRecording: what a workload recorded arrives as it is. What could not be
// stored is left out, which a stage that failed says; the task goes on.
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
	if diff := cmp.Diff([]model.HostSeries{good}, d.got.Host); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
	for name, bad := range map[string]model.HostSeries{
		"no metric":   {Unit: "s"},
		"no unit":     {Metric: "rtt"},
		"unequal":     {Metric: "rtt", Unit: "s", Offsets: []int64{1}},
		"not numbers": {Metric: "rtt", Unit: "s", Offsets: []int64{1}, Values: []float64{math.NaN()}},
		"backwards":   {Metric: "rtt", Unit: "s", Offsets: []int64{2, 1}, Values: []float64{1, 1}},
	} {
		var pipe bytes.Buffer
		r := newReporter(&lineWriter{w: &pipe})
		bad.Metric = strings.Replace(bad.Metric, "rtt", "web:rtt", 1)
		r.Recording(bad)
		r.Recording(good)
		if err := r.end(); err != nil {
			t.Errorf("%s: the task fails: %v", name, err)
		}
		var d data
		for lines := newLineReader(&pipe); ; {
			var got report
			if lines.next(&got) != nil {
				break
			}
			d.take(got)
		}
		if diff := cmp.Diff([]model.HostSeries{good}, d.got.Host); diff != "" {
			t.Errorf("%s: recordings (-want +got):\n%s", name, diff)
		}
		if len(d.stages) != 1 || d.stages[0].Name != "signals" || d.stages[0].State != model.StageFailed || !strings.Contains(d.stages[0].Reason, bad.Metric) {
			t.Errorf("%s: stages %v, want one that failed, of signals", name, d.stages)
		}
	}
}
