package pressure

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// counter is a host series with a reading each second, that grows by these amounts.
func counter(metric string, gains ...float64) model.HostSeries {
	s := model.HostSeries{Metric: metric, Counter: true, Offsets: []int64{0}, Values: []float64{0}}
	for i, gain := range gains {
		s.Offsets, s.Values = append(s.Offsets, int64(i+1)*1e9), append(s.Values, s.Values[i]+gain)
	}
	return s
}

// hostSeries are those of a host with a volume, disks, a network and processors.
func hostSeries(disks ...string) []model.HostSeries {
	all := []model.HostSeries{
		counter("volume.data.reads", 300, 200), counter("volume.data.read_bytes", 3000, 2000),
		counter("disk.reads", 7, 9), counter("net.rx_bytes", 50, 60), counter("net.tx_bytes", 5, 6),
		counter("cpu.user", .5, 1), counter("cpu.system", .25, .5), counter("cpu.idle", 1, 1), counter("cgroup.cpu", .25,
			.75),
		{Metric: "disk.inflight", Offsets: []int64{0, 1e9}, Values: []float64{3, 4}},
	}
	for _, d := range disks {
		all = append(all, counter("disk."+d+".reads", 3, 4), counter("disk."+d+".writes", 1, 2))
	}
	return all
}

// rates are all rates of recordings, by service and measure.
func rates(all []telemetry.Recording) map[string][]float64 {
	out := make(map[string][]float64)
	for _, r := range all {
		for m, values := range r.Rates {
			out[r.Node+"/"+r.Service+" "+string(m)] = values
		}
	}
	return out
}

func TestOfHost(t *testing.T) {
	began := time.Unix(1000, 5e8)
	common := map[string][]float64{"n1/data read_ops": {300, 200}, "n1/data read_bytes": {3000, 2000},
		"n1/network received_bytes": {50, 60}, "n1/network sent_bytes": {5, 6}, "n1/cpu cpu": {.75, 1.5}}
	tests := map[string]struct {
		disks  []string
		shared bool
		more   map[string][]float64
	}{
		"one disk is the sum": {nil, false, map[string][]float64{"n1/disk read_ops": {7, 9}}},
		"disks have their names": {[]string{"sda", "sdb"}, false, map[string][]float64{"n1/sda read_ops": {3, 4},
			"n1/sdb read_ops": {3, 4}, "n1/sda write_ops": {1, 2}, "n1/sdb write_ops": {1, 2}}},
		"disks of a machine that": {[]string{"sda", "sdb"}, true, map[string][]float64{"n1/cpu cpu": {.25, .75}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := make(map[string][]float64)
			for _, from := range []map[string][]float64{common, tt.more} {
				for k, v := range from {
					want[k] = v
				}
			}
			got := OfHost("n1", began, hostSeries(tt.disks...), tt.shared)
			if diff := cmp.Diff(want, rates(got)); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
			for _, r := range got {
				if want := r.Service == "data" && !tt.shared; r.Stacked != want {
					t.Errorf("%s lies on a disk: %v, want %v", r.Service, r.Stacked, want)
				}
				if diff := cmp.Diff([]float64{1000.5, 1001.5}, r.Begin); diff != "" {
					t.Errorf("%s begins (-want +got):\n%s", r.Service, diff)
				}
			}
		})
	}
}

// TestOfRun: tasks of a node become one recording of each service, and the time between
// them is a gap; attempts that do not count are left out.
func TestOfRun(t *testing.T) {
	at := time.Unix(1000, 0)
	result := func(step model.StepID, attempt int, after time.Duration, reads ...float64) model.Result {
		return model.Result{Step: step, Task: model.TaskID(string(step) + "-t"), Attempt: attempt, Node: "n1",
			Outcome: model.OutcomeOK,
			Started: at.Add(after), Host: []model.HostSeries{counter("volume.data.reads", reads...),
				counter("volume.data.writes", 0, 0)}}
	}
	step := func(id model.StepID, attempt int) model.Step {
		return model.Step{ID: id, Phase: model.Serial, State: model.StepComplete, Attempt: attempt}
	}
	run := observe.Of(model.RunData{Run: model.Run{Name: "r"}, Steps: []model.Step{step("a", 2), step("b", 1)},
		Results: []model.Result{result("b", 1, 20*time.Second, 100, 100), result("a", 1, 0, 9, 9), result("a", 2,
			5*time.Second, 300, 150)}})
	all, err := New().recordingsOf([]study.Source{{Name: "r", Run: run}})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d recordings, %v", len(all), err)
	}
	if diff := cmp.Diff([]float64{1005, 1006, 1020, 1021}, all[0].Begin); diff != "" {
		t.Errorf("periods begin (-want +got):\n%s", diff)
	}
	r := resultOf(t, params(nil, file("", "m", "limits: [{of: ops, rate: 100}]")), all...)
	s := find(t, r, "n1", "data", "ops")
	near(t, "mean", s.SLP.Mean, (3+1.5+1+1)/4)
	near(t, "the longest ends at the gap", s.MCPT.Seconds, 2)
	if _, err := New().recordingsOf([]study.Source{{Name: "empty", Run: observe.Of(model.RunData{})}}); err == nil {
		t.Error("no error of a run without volumes")
	}
}

// TestUntil: what services do after the workloads of a step have ended, as they stop, is no
// pressure of the load.
func TestUntil(t *testing.T) {
	at := time.Unix(1000, 0)
	const service, load = model.TaskID("s"), model.TaskID("l")
	step := model.Step{ID: "a", Phase: model.Parallel, State: model.StepComplete, Attempt: 1, Tasks: []model.Task{
		{ID: load, Node: "n2"}, {ID: service, Node: "n1", Spec: model.Spec{Role: model.RoleServe}}}}
	result := func(task model.TaskID, node model.NodeID, lasted time.Duration, host ...model.HostSeries) model.Result {
		return model.Result{Step: "a", Task: task, Attempt: 1, Node: node, Outcome: model.OutcomeOK, Started: at,
			Ended: at.Add(lasted), Host: host}
	}
	run := observe.Of(model.RunData{Run: model.Run{Name: "r"}, Steps: []model.Step{step}, Results: []model.Result{
		result(load, "n2", 2*time.Second),
		result(service, "n1", 4*time.Second, counter("volume.data.reads", 300, 290, 0, 9))}})
	all, err := New().recordingsOf([]study.Source{{Name: "r", Run: run}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{"n1/data read_ops": {300, 290}}
	if diff := cmp.Diff(want, rates(all)); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
}

// TestNothingIsIgnored: what a source cannot use, a source that counts twice, and prices without a growth are refused.
func TestNothingIsIgnored(t *testing.T) {
	own := []study.Source{{Name: "x.csv", Own: []byte(`[{}]`)}}
	for name, change := range map[string]func(*Params){
		"since":    func(p *Params) { p.Since = "1h" },
		"until":    func(p *Params) { p.Until = "2026-11-27T08:00:00Z" },
		"match":    func(p *Params) { p.Match = "a=b" },
		"region":   func(p *Params) { p.Region = "eu-west-1" },
		"endpoint": func(p *Params) { p.Endpoint = "http://x" },
		"prices":   func(p *Params) { p.Prices = "model,input,per_month,currency\n" },
		"requests": func(p *Params) { p.Requests = 1 },
		// No share of the time is above 100 %: such a threshold would never be missed, or always.
		"fail_above": func(p *Params) { p.FailAbove = new(study.Percent(100)) },
	} {
		p := New()
		change(p)
		_, wrong := p.Check()
		_, err := p.recordingsOf(own)
		var input *model.InputError
		if err = errors.Join(wrong, err); !errors.As(err, &input) || input.Path != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := New()
	p.Since = "1h"
	if _, err := p.recordingsOf(append(own, study.Source{Name: "cloudwatch:vol-1", Own: []byte(`[{}]`)})); err != nil {
		t.Error(err)
	}
	if _, err := New().recordingsOf(append(own, own...)); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a source twice: %v", err)
	}
}
