package observe

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestCoreSpeed: a core that is busy alone has its whole speed, one of all the
// share that was calibrated, and between them it is linear.
func TestCoreSpeed(t *testing.T) {
	for _, c := range []struct {
		name     string
		busy     float64 // cores, of 4
		together float64
		want     float64
		ok       bool
	}{
		{"alone", .6, .9, 1, true},
		{"one", 1, .9, 1, true},
		{"two and a half", 2.5, .9, .95, true},
		{"all", 4, .9, .9, true},
		{"not calibrated", 4, 0, 0, false},
	} {
		d := oneTask(map[string]float64{"cpu.user": 12 * c.busy, "cpu.idle": 12 * (4 - c.busy)})
		d.Nodes[0].Facts = model.Facts{Cores: 4, CoresTogether: c.together}
		got, ok := Of(d).CoreSpeed("w", model.Parallel)
		if ok != c.ok || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: CoreSpeed = %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	// Of a sweep over sizes the largest counts, which the findings are of.
	d := oneTask(map[string]float64{"cpu.user": 48, "cpu.idle": 0})
	d.Nodes[0].Facts = model.Facts{Cores: 4, CoresTogether: .9}
	few := oneTask(map[string]float64{"cpu.user": 12, "cpu.idle": 36})
	few.Steps[0].ID, few.Steps[0].Number, few.Results[0].Step = "few", 1, "few"
	d.Steps[0].Tasks = append(d.Steps[0].Tasks, model.Task{ID: "t2", Node: "n2", Position: 1})
	d.Steps, d.Results = append(d.Steps, few.Steps...), append(d.Results, few.Results...)
	if got, ok := Of(d).CoreSpeed("w", model.Parallel); !ok || math.Abs(got-.9) > 1e-9 {
		t.Errorf("a sweep: CoreSpeed = %v, %v, want that of its largest step, .9", got, ok)
	}
	if _, ok := Of(oneTask(nil)).CoreSpeed("w", model.Serial); ok {
		t.Error("a phase without a task has a speed")
	}
}

// TestLostToOthers: what a stranger took of a task's capacity, by how much of the
// machine was idle, and when.
func TestLostToOthers(t *testing.T) {
	const cores = 2
	for _, c := range []struct {
		name   string
		idle   []float64 // share of each second
		others float64   // cores
		want   float64
	}{
		{"nothing idle", []float64{0, 0, 0, 0, 0, 0}, .5, .25},
		{"much idle", []float64{.4, .4, .4, .4, .4, .4}, .5, 0},
		{"a little idle", []float64{.2, .2, .2, .2, .2, .2}, .5, .5 / 1.6},
		{"in bursts of a second of three", []float64{0, .4, .4, 0, .4, .4}, .5, .5 / (2 * (1 - .8/3))},
		{"more than the bursts allow", []float64{0, .4, .4, .4, .4, .4}, .9, (2. / 6) / (2 * (1 - 2./6))},
		{"nobody", []float64{0, 0, 0, 0, 0, 0}, 0, 0},
	} {
		host := Host{Node: "n", End: float64(len(c.idle)), Others: c.others, Series: make(map[string]model.HostSeries)}
		user, idle := model.HostSeries{Metric: MetricUser, Offsets: []int64{0}, Values: []float64{0}}, model.HostSeries{Metric: MetricIdle, Offsets: []int64{0}, Values: []float64{0}}
		for i, share := range c.idle {
			for s, add := range map[*model.HostSeries]float64{&user: cores * (1 - share), &idle: cores * share} {
				s.Offsets, s.Values = append(s.Offsets, int64(i+1)*1e9), append(s.Values, s.Values[i]+add)
			}
		}
		host.Series[MetricUser], host.Series[MetricIdle] = user, idle
		host.Series[MetricCores] = model.HostSeries{Metric: MetricCores, Offsets: []int64{0}, Values: []float64{cores}}
		if got := lostToOthers(host); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: lostToOthers = %.4f, want %.4f", c.name, got, c.want)
		}
	}
}

// TestLostWithinALimit: a node that used all that its own limit allows lost nothing
// to others, however much these took; one that used less lost no more than the rest.
func TestLostWithinALimit(t *testing.T) {
	const seconds, cores, others = 4, 2, 1.6
	for _, c := range []struct{ used, limit, want float64 }{
		{used: .32, limit: .32, want: 0},
		{used: .33, limit: .32, want: 0}, // a quota is kept to a tick
		{used: .24, limit: .32, want: .25},
		{used: .1, limit: .8, want: others / cores}, // what others took is less
		{used: .3, limit: 0, want: others / cores},  // no limit
		{used: 0, limit: .32, want: others / cores}, // not known what was used
	} {
		host := Host{Node: "n", End: seconds, Others: others, limit: c.limit, Series: make(map[string]model.HostSeries)}
		counters := map[string]float64{MetricUser: cores, MetricIdle: 0, MetricCgroupCPU: c.used}
		if c.used == 0 {
			delete(counters, MetricCgroupCPU)
		}
		for metric, rate := range counters {
			host.Series[metric] = model.HostSeries{Metric: metric, Offsets: []int64{0, seconds * 1e9}, Values: []float64{0, rate * seconds}}
		}
		host.Series[MetricCores] = model.HostSeries{Metric: MetricCores, Offsets: []int64{0}, Values: []float64{cores}}
		if got := lostToOthers(host); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of %v used: lostToOthers = %.4f, want %.4f", c.used, c.limit, got, c.want)
		}
	}
}

// TestStrangersOfUnequalTasks: a stranger is found beside tasks that do not take
// equally long.
func TestStrangersOfUnequalTasks(t *testing.T) {
	const stranger = .3
	watched := func(node model.NodeID, seconds, busy, own float64) Host {
		h := Host{Node: node, End: seconds, Others: busy - own, Series: make(map[string]model.HostSeries)}
		h.Series[MetricUser] = model.HostSeries{Metric: MetricUser, Offsets: []int64{0, int64(seconds * 1e9)}, Values: []float64{0, busy * seconds}}
		return h
	}
	// One core each, for ten and for five seconds.
	hosts := []Host{watched("a", 10, 1.5+stranger, 1), watched("b", 5, 2+stranger, 1)}
	strangers(hosts, map[model.NodeID]string{"a": "m", "b": "m"})
	for _, h := range hosts {
		if math.Abs(h.Others-stranger) > 1e-9 {
			t.Errorf("%s: %v cores are the strangers', want %v", h.Node, h.Others, stranger)
		}
	}
}
