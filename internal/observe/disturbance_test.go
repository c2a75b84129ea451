package observe

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

var day = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// states are the metrics of the tests that are no counters.
var states = map[string]bool{"cpu.cores": true}

// oneTask is a run of one parallel task of 10 s on n1 with these host series;
// each grows evenly from 0 to its value, from 1 s before the start to 1 s after
// the end, so that 10/12 of it falls into the task.
func oneTask(grown map[string]float64) model.RunData {
	step := model.Step{
		ID: "s", Phase: model.Parallel, Workload: "w", Trial: 2, State: model.StepComplete, Attempt: 1,
		Tasks: []model.Task{{ID: "t", Node: "n1"}},
	}
	r := model.Result{
		Step: "s", Task: "t", Attempt: 1, Node: "n1", Outcome: model.OutcomeOK, Started: day, Ended: day.Add(10 * time.Second),
	}
	for _, metric := range slices.Sorted(maps.Keys(grown)) {
		s := model.HostSeries{Metric: metric, Counter: !states[metric]}
		for i := range 13 {
			s.Offsets = append(s.Offsets, int64(i-1)*1e9)
			v := grown[metric] * float64(i) / 12
			if states[metric] {
				v = grown[metric]
			}
			s.Values = append(s.Values, v)
		}
		r.Host = append(r.Host, s)
	}
	return model.RunData{Nodes: []model.Node{{ID: "n1"}}, Steps: []model.Step{step}, Results: []model.Result{r}}
}

func TestDisturbances(t *testing.T) {
	for _, c := range []struct {
		name  string
		grown map[string]float64
		kind  string // "" for nothing
		value float64
		words string
	}{
		{"nothing watched", nil, "", 0, ""},
		{"quiet", map[string]float64{"cpu.user": 12, "cpu.idle": 36, "cpu.steal": 0, "memory.swap_in": 0, "net.rx_packets": 10, "net.rx_drops": 0}, "", 0, ""},
		{"steal at the threshold", map[string]float64{"cpu.user": 47.52, "cpu.steal": 0.48}, "", 0, ""},
		{"steal", map[string]float64{"cpu.user": 24, "cpu.idle": 22, "cpu.steal": 2}, "steal", 2.0 / 48, "4.2 % of the CPU time was stolen"},
		{"guests are part of the time", map[string]float64{"cpu.user": 24, "cpu.guest": 24, "cpu.steal": 2}, "steal", 2.0 / 50, "4.0 % of the CPU time"},
		{"a tick of steal in half a second of CPU time", map[string]float64{"cpu.user": 0.59, "cpu.steal": 0.01}, "", 0, ""},
		{"steal of unknown time", map[string]float64{"memory.swap_in": 0}, "", 0, ""},
		{"swap", map[string]float64{"memory.swap_in": 12 << 20, "memory.swap_out": 12 << 20}, "swap", 20 << 20, "20.0 MiB of memory were swapped"},
		{"killed", map[string]float64{"memory.oom_kills": 1.2}, "oom", 1, "the kernel killed processes because memory ran out (1)"},
		{"drops", map[string]float64{"net.rx_packets": 600, "net.tx_packets": 600, "net.tx_drops": 6}, "drops", 0.005, "0.5 % of the packets were dropped"},
		{"drops without packets", map[string]float64{"net.rx_packets": 0, "net.tx_drops": 6}, "", 0, ""},
		{"drops of too few packets", map[string]float64{"net.rx_packets": 598, "net.tx_packets": 600, "net.tx_drops": 6}, "", 0, ""},
		{"retransmissions of too few segments", map[string]float64{"tcp.segments_out": 1000, "tcp.retransmits": 190}, "", 0, ""},
		{"few retransmissions", map[string]float64{"tcp.segments_out": 1200, "tcp.retransmits": 6}, "", 0, ""},
		{"retransmissions", map[string]float64{"tcp.segments_out": 1200, "tcp.retransmits": 36}, "retransmits", 36. / 1236, "2.9 % of the TCP segments"},
		{"throttled", map[string]float64{"cgroup.cpu_throttled": 6}, "throttled", 0.5, "by 0.50 s of waiting a second"},
	} {
		found := Of(oneTask(c.grown)).Disturbances()
		if c.kind == "" {
			if len(found) != 0 {
				t.Errorf("%s: Disturbances = %+v, want none", c.name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Kind != c.kind || math.Abs(found[0].Value-c.value) > 1e-9*c.value {
			t.Errorf("%s: Disturbances = %+v, want one of kind %s and value %v", c.name, found, c.kind, c.value)
			continue
		}
		if text := Of(oneTask(c.grown)).Doubts()[0].Text; !strings.Contains(text, c.words) || !strings.HasSuffix(text,
			" on n1 in parallel trial 2") {
			t.Errorf("%s: text = %q, want %q and where it was", c.name, text, c.words)
		}
	}
}

// Of many tasks the worst is named, and the rest counted.
func TestDisturbancesNameTheWorst(t *testing.T) {
	d := oneTask(map[string]float64{"cpu.user": 24, "cpu.steal": 1})
	d.Steps[0].Tasks = nil
	first := d.Results[0]
	d.Results = nil
	for i, steal := range []float64{0.01, 3, 1, 3} {
		r := oneTask(map[string]float64{"cpu.user": 24, "cpu.steal": steal}).Results[0]
		r.Task, r.Node = model.NewTaskID("s", i), model.NodeID([]string{"n1", "n2"}[i%2])
		d.Steps[0].Tasks = append(d.Steps[0].Tasks, model.Task{ID: r.Task, Node: r.Node})
		d.Results = append(d.Results, r)
	}
	bad := first // of an attempt that does not count
	bad.Attempt = 0
	d.Results = append(d.Results, bad)
	want := []Disturbance{{
		Workload: "w", Kind: "steal", Phase: model.Parallel, Trial: 2, Node: "n2", Value: 3.0 / 27, Tasks: 3, Watched: 4, Nodes: 2,
		Lost:  map[model.TaskID]float64{model.NewTaskID("s", 0): .01 / 24.01, model.NewTaskID("s", 1): 3. / 27, model.NewTaskID("s", 2): 1. / 25, model.NewTaskID("s", 3): 3. / 27},
		Where: []model.TaskID{model.NewTaskID("s", 1), model.NewTaskID("s", 2), model.NewTaskID("s", 3)},
		Steps: []int{0},
	}}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	if diff := cmp.Diff(want, Of(d).Disturbances(), near); diff != "" {
		t.Errorf("Disturbances differ (-want +got):\n%s", diff)
	}
	const text = "w: 11.1 % of the CPU time was stolen: the host of the virtual machine gave it to others on n2 in " +
		"parallel trial 2 " +
		"(the worst of 3 tasks on 2 nodes, of 4 watched)"
	if got := Of(d).Doubts()[0].Text; got != text {
		t.Errorf("it says %q, want %q", got, text)
	}
}

// The counters of a machine are read one after the other, in ticks, and those of
// idle time can go back: no share is more than all.
func TestSharesAreNoMoreThanAll(t *testing.T) {
	for kind, grown := range map[string]map[string]float64{
		"steal":       {"cpu.steal": 12, "cpu.user": -1, "cpu.idle": -2},
		"drops":       {"net.rx_drops": 4000, "net.rx_packets": 2400},
		"retransmits": {MetricRetransmits: 4000, MetricSegments: -100},
	} {
		found := Of(oneTask(grown)).Disturbances()
		if len(found) != 1 || found[0].Kind != kind || found[0].Value != 1 ||
			!strings.Contains(Of(oneTask(grown)).Doubts()[0].Text, " 100.0 % of the ") {
			t.Errorf("%s: %+v, want one of all", kind, found)
			continue
		}
		for _, lost := range found[0].Lost {
			if !(lost <= 1) {
				t.Errorf("%s: %v of the capacity is lost", kind, lost)
			}
		}
	}
}

// A clock that is known no better than the start skew says so where tasks are to
// start together.
func TestDisturbancesOfTheClock(t *testing.T) {
	for _, c := range []struct {
		name        string
		clock, skew time.Duration
		alone       bool
		want        string
	}{
		{"known well", time.Millisecond, 0, false, ""},
		{"known badly", 5 * time.Millisecond, 19 * time.Millisecond, false, "w: the clock was known to ± 5.00 ms, which does not tell the start skew on n2 in parallel trial 2"},
		{"the skew is far larger", 5 * time.Millisecond, 20 * time.Millisecond, false, ""},
		{"one task", 5 * time.Millisecond, 0, true, ""},
	} {
		d := oneTask(nil)
		if !c.alone {
			second := d.Results[0]
			second.Task, second.Node, second.Started = "u", "n2", second.Started.Add(c.skew)
			d.Steps[0].Tasks = append(d.Steps[0].Tasks, model.Task{ID: "u", Node: "n2"})
			d.Results = append(d.Results, second)
		}
		d.Results[len(d.Results)-1].ClockError = c.clock
		var got string
		for _, x := range Of(d).Doubts() {
			got += x.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A search has many steps a trial: the number is that of its table of windows,
// and of the run's steps where that is another.
func TestDisturbancesOfASearch(t *testing.T) {
	d := oneTask(map[string]float64{"memory.swap_in": 12 << 20})
	d.Steps[0].Phase, d.Steps[0].Number = model.Search, 6
	const want = "w: 10.0 MiB of memory were swapped in or out on n1 in search trial 2, window 1, step 7 of the run"
	if got := Of(d).Disturbances(); len(got) != 1 || Of(d).Doubts()[0].Text != want {
		t.Errorf("Disturbances = %+v, want %q", got, want)
	}
}

// Where nodes are on one machine, what other tasks of the step took is the fleet
// itself; what none of them took is a stranger's.
func TestDisturbancesOfOthers(t *testing.T) {
	for _, c := range []struct {
		name   string
		fleet  string
		boots  [2]string
		others float64 // cores that each task sees
		busy   float64 // cores that ran something
		want   float64 // share of the machine; 0: none is told
	}{
		{"machines of their own", "", [2]string{"a", "c"}, 1, 2, .25},
		{"machines that nothing is known of", "", [2]string{}, 1, 2, .25},
		{"machines of their own, little", "", [2]string{}, 0.1, 1, 0},
		{"one machine, the fleet itself", model.FleetLab, [2]string{}, 1, 2, 0},
		{"agents on one kernel, the fleet itself", "", [2]string{"a", "a"}, 1, 2, 0},
		{"one machine, and a stranger", model.FleetLocal, [2]string{}, 2, 3, .25},
		{"agents on one kernel, and a stranger", "", [2]string{"a", "a"}, 2, 3, .25},
	} {
		d := oneTask(map[string]float64{"cpu.cores": 4})
		d.Nodes = append(d.Nodes, model.Node{ID: "n2"})
		d.Steps[0].Phase = model.Parallel
		lasted := d.Results[0].Ended.Sub(d.Results[0].Started)
		d.Results[0].Host = append(d.Results[0].Host, model.HostSeries{
			Metric: MetricUser, Counter: true, Offsets: []int64{0, int64(lasted)}, Values: []float64{0, c.busy * lasted.Seconds()},
		})
		d.Results[0].Samples = []model.Sample{{Metric: model.MetricOtherCPU, Unit: "core", Value: c.others, Info: true}}
		second := d.Results[0]
		second.Node, second.Task = "n2", "second"
		d.Steps[0].Tasks = append(d.Steps[0].Tasks, model.Task{ID: second.Task, Node: second.Node, Position: 1})
		d.Results = append(d.Results, second)
		for i := range c.boots {
			d.Nodes[i].Labels = map[string]string{model.LabelFleet: c.fleet}
			d.Nodes[i].Facts.BootID = c.boots[i]
		}
		got := 0.0
		for _, x := range Of(d).Disturbances() {
			got = x.Value
		}
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v of the machine, want %v", c.name, got, c.want)
		}
	}
}

// The processor time of others is counted in ticks of 10 ms: those of a short
// task do not count, that of a very short one says nothing, and no task has more
// than all.
func TestDisturbancesOfOthersInTicks(t *testing.T) {
	for _, c := range []struct {
		lasted time.Duration
		cores  float64
		want   []float64
	}{
		{50 * time.Millisecond, 8.772, nil},
		{200 * time.Millisecond, 1, []float64{1./4 - ticks/0.2}},
		{200 * time.Millisecond, 0.3, nil},
		{500 * time.Millisecond, 3, []float64{3./4 - ticks/0.5}},
		{time.Second, 1, []float64{0.25}},
		{time.Second, 4.1, []float64{1}},
	} {
		d := oneTask(map[string]float64{"cpu.cores": 4})
		d.Results[0].Ended = d.Results[0].Started.Add(c.lasted)
		d.Results[0].Samples = []model.Sample{{Metric: model.MetricOtherCPU, Unit: "core", Value: c.cores, Info: true}}
		var got []float64
		for _, x := range Of(d).Disturbances() {
			got = append(got, x.Value)
		}
		if !slices.EqualFunc(got, c.want, func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }) {
			t.Errorf("%v cores in %v: shares %v, want %v", c.cores, c.lasted, got, c.want)
		}
	}
}

// A clock that was set between two tasks of a node is told, one that drifts is
// not.
func TestDisturbancesOfAClockThatIsSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset time.Duration // of the second task
		want   string
	}{
		{"the same", 5 * time.Millisecond, ""},
		{"drifts", 15 * time.Millisecond, ""},
		{"set", 1305 * time.Millisecond, "w: the clock was set by 1.29 s since the task before, or while this one waited for its start on n1 in parallel trial 2"},
		{"set back", -1295 * time.Millisecond, "w: the clock was set by 1.29 s since the task before, or while this one waited for its start on n1 in parallel trial 2"},
	} {
		d := oneTask(nil)
		first := d.Results[0]
		first.ClockOffset, first.ClockError = 5*time.Millisecond, time.Millisecond
		second := first
		second.Step, second.Task, second.ClockOffset, second.Started, second.Ended = "s2", "t2", c.offset, first.Started.Add(10*time.Second), first.Ended.Add(10*time.Second)
		next := d.Steps[0]
		next.ID, next.Number, next.Tasks = "s2", 1, []model.Task{{ID: "t2", Node: "n1"}}
		d.Steps, d.Results = append(d.Steps, next), []model.Result{first, second}
		var got string
		for _, x := range Of(d).Doubts() {
			got += x.Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A gap in the progress of a task is found against its own clock; where it
// publishes none, by the monitor's readings.
func TestDisturbancesOfPauses(t *testing.T) {
	quarter := func(from, to float64) (out []int64) {
		for at := from; at < to; at += .25 {
			out = append(out, int64(at*1e9))
		}
		return out
	}
	counted := func(offsets []int64) []float64 {
		out := make([]float64, len(offsets))
		for i := range out {
			out[i] = float64(i)
		}
		return out
	}
	for _, c := range []struct {
		name    string
		offsets []int64
		want    float64 // longest
	}{
		{"steady", quarter(0, 10), 0},
		{"stands still for a second", append(quarter(0, 4), quarter(5, 10)...), 1.25},
		{"is late once", append(quarter(0, 4), quarter(4.25, 10)...), 0},
		{"begins late", quarter(3, 10), 0},
	} {
		d := oneTask(nil)
		d.Results[0].Series = []model.Series{{Metric: "work", Offsets: c.offsets, Values: counted(c.offsets)}}
		wantPause(t, c.name, d, c.want)
	}
	// A second between points: a stop of one is a gap of two at most. What stands
	// still most of the time does not make that usual.
	for name, c := range map[string]struct {
		kind    string
		seconds []float64
		want    float64
	}{
		"a second apart":           {"disk", []float64{0, 1, 2, 3.9, 4.9, 6, 7}, 1.9},
		"late by less":             {"disk", []float64{0, 1, 2, 3.4, 4, 5, 6}, 0},
		"mostly still":             {"disk", []float64{0, 2, 4, 6, 8, 10}, 2},
		"a command":                {"command", []float64{0, 1, 2, 5, 6, 7, 8}, 0},
		"a load, by its own count": {"load", []float64{0, 1, 2, 5, 6, 7, 8}, 0},
	} {
		d := oneTask(nil)
		d.Steps[0].Tasks[0].Spec.Kind = c.kind
		var offsets []int64
		for _, s := range c.seconds {
			offsets = append(offsets, int64(s*1e9))
		}
		d.Results[0].Series = []model.Series{{Metric: "work", Offsets: offsets, Values: counted(offsets)}}
		wantPause(t, name, d, c.want)
	}
	frozen := oneTask(map[string]float64{"cpu.user": 12, "cpu.idle": 12})
	for i := range frozen.Results[0].Host {
		h := &frozen.Results[0].Host[i]
		h.Offsets, h.Values = slices.Delete(h.Offsets, 5, 7), slices.Delete(h.Values, 5, 7)
	}
	wantPause(t, "the machine, by the monitor", frozen, 3)
}

func wantPause(t *testing.T, name string, d model.RunData, want float64) {
	t.Helper()
	found := Of(d).Disturbances()
	switch {
	case want == 0 && len(found) == 0:
	case want == 0 || len(found) != 1 || found[0].Kind != "pause" || math.Abs(found[0].Value-want) > 1e-9 || !(found[0].Lost["t"] > 0):
		t.Errorf("%s: %+v, want a pause of %v s", name, found, want)
	}
}

// Events that say that something was amiss are told once, as doubts about all of
// the run.
func TestDisturbancesOfEvents(t *testing.T) {
	d := oneTask(nil)
	slow := model.Event{Kind: model.EventNodeSlow, Node: "n1", Severity: model.Info, Text: "node n1 is heard late; it may be busy"}
	d.Events = []model.Event{slow, {Kind: model.EventNodeBack, Text: "node n1 is heard again"}, slow, {Kind: model.EventServerSlow, Text: "the scalebench server stood still or was starved for 7s"}}
	want := []model.Doubt{
		{Code: "node_slow", Severity: model.Warning, Node: "n1", Text: slow.Text},
		{Code: "server_slow", Severity: model.Warning, Text: "the scalebench server stood still or was starved for 7s"},
	}
	if diff := cmp.Diff(want, Of(d).Doubts()); diff != "" {
		t.Errorf("Doubts (-want +got):\n%s", diff)
	}
}
