package measured_test

import (
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/test/program"
)

// TestVarianceLab: a repetition of the example of a campaign, in a slow hour, has
// in its measurements what the lab was made of: nodes of two processors, pairs
// inside a group at the slow rate and pairs across below it, and the start-up of
// every node.
func TestVarianceLab(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedLab(t)
	w := program.Install(t)
	// TCP finds its rate in its first second: the windows begin after that.
	w.Run("run", "../../examples/lab-variance.yaml", "--set", "schedule=null", "--set", "fleet.lab.busy.from=0", "--set",
		"workloads.cpu.duration=500ms",
		"--set", "workloads.inside.warm_up=2s", "--set", "workloads.across.warm_up=2s")
	d := w.Data("latest")
	program.CheckComplete(t, d)
	of := make(map[string]frame.Frame)
	for _, f := range observe.Of(d).Frames() {
		of[f.Name()] = f
	}
	// fact is what a frame knows of its rows, each value once.
	fact := func(frame, name string) []string {
		f := of[frame]
		x := f.Fact(name)
		if x == nil {
			t.Fatalf("%s has no fact %s, but %v", frame, name, f.Facts)
		}
		var out []string
		for row := range f.Len() {
			out = append(out, x.Level(row))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	const cpu, inside, across = "cpu integer_rate", "inside network_receive_throughput", "across network_receive_throughput"
	for _, tt := range []struct {
		frame, fact string
		want        []string
	}{
		{cpu, "processor", []string{"opteron", "xeon"}},
		{cpu, "cpu_limit", []string{"0.2", "0.4"}},
		{inside, "same_group", []string{"yes"}},
		{inside, "processor", []string{"opteron", "xeon"}},
		{across, "same_group", []string{"no"}},
		{across, "processor", []string{"opteron | xeon"}},
		{"startup", "group", []string{"a", "b"}},
		{"startup", frame.FactSubject, []string{"lab-a-1", "lab-a-2", "lab-b-1", "lab-b-2"}},
	} {
		if got := fact(tt.frame, tt.fact); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s is %q, want %q", tt.frame, tt.fact, got, tt.want)
		}
	}
	if hour := fact(cpu, "lab_hour"); len(hour) != 1 || len(hour[0]) != 2 {
		t.Errorf("the hour is %q", hour)
	}
	const (
		payload = 1448.0 / 1514 / 8 * 1e6 // bytes a second of TCP for each Mbit/s
		// A link sends at most its burst, 4 ms, above its rate; and a packet that was lost
		// before the window began holds back what came after it, at most the 20 ms of the
		// link's queue, until it is sent again.
		ahead = 0.024 // seconds, in a window of one
	)
	var sum float64
	for i, v := range of[inside].Values {
		if v < 0.95*40*payload || v > (1+ahead)*40*payload {
			t.Errorf("inside, pair %d: %.4g byte/s, want the %.4g of a slow hour", i, v, 40*payload)
		}
	}
	for _, v := range of[across].Values {
		sum += v
	}
	if sum < 0.95*60*payload || sum > (1+ahead)*60*payload {
		t.Errorf("across: %.4g byte/s together, want the %.4g of the uplink", sum, 60*payload)
	}
}
