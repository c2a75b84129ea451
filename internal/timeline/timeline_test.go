package timeline

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/tiers"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestSignalNames: what is read is what services record under that name.
func TestSignalNames(t *testing.T) {
	recorded := make(map[string]bool)
	for _, s := range tiers.Signals() {
		recorded[s.Name] = true
	}
	for _, name := range bottleneck.Signals() {
		if !recorded[name] {
			t.Errorf("%q is read, and no service records it", name)
		}
	}
}

// TestRareReadings: a rate is the mean between two readings of the run, however far apart
// they are; whether a processor was full in a second they do not tell; and a counter of
// failures is known at all times.
func TestRareReadings(t *testing.T) {
	rare := func(name string) model.HostSeries {
		h := model.HostSeries{Metric: "db:" + name, Counter: true}
		for at := 0.0; at <= 40; at += 4 {
			h.Offsets, h.Values = append(h.Offsets, int64(at*1e9)), append(h.Values, 10*at)
		}
		return h
	}
	failed := model.HostSeries{Metric: "db:" + bottleneck.SignalProbeFailed, Counter: true, Offsets: []int64{0, 5e9, 15e9, 60e9}, Values: []float64{0, 3, 4, 9}}
	x := model.Result{Started: time.Unix(0, 0), Host: []model.HostSeries{rare(bottleneck.SignalRequests), rare(bottleneck.SignalCPU), failed}}
	got := Window{time.Unix(10, 0), time.Unix(30, 0)}.Services(x, []string{"db"}, time.Second)[0].Signals
	sum := 0.0
	for i := range 20 {
		want := math.NaN() // readings of the run are from 12 s to 28 s
		if i >= 2 && i < 18 {
			want = 10
		}
		if v := got[bottleneck.SignalRequests][i]; v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Errorf("requests in second %d are %v, want %v", i, v, want)
		}
		if v := got[bottleneck.SignalCPU][i]; !math.IsNaN(v) {
			t.Errorf("the processor in second %d is %v, want it not known", i, v)
		}
		sum += got[bottleneck.SignalProbeFailed][i]
	}
	if sum != 1 {
		t.Errorf("%v failures, want the one of the run", sum)
	}
}

// TestTimelineOfTier: what was recorded of a tier has a line, and nothing else.
func TestTimelineOfTier(t *testing.T) {
	long := func(v float64) []float64 { return slices.Repeat([]float64{v}, bottleneck.FewestSeconds) }
	host := func(queue float64) bottleneck.Service {
		return bottleneck.Service{Tier: "db", Signals: map[string][]float64{bottleneck.SignalSent: long(50), bottleneck.SignalLink: long(100),
			bottleneck.SignalPool: long(3), bottleneck.SignalPoolMax: long(6), bottleneck.SignalSendQueue: long(queue),
			bottleneck.SignalReceiveQueue: long(3 * queue)}}
	}
	var got Timeline
	got.ofTier("db", func(string) ([]bottleneck.Service, time.Duration) {
		return []bottleneck.Service{host(10), host(20)}, time.Second
	})
	text := ""
	for _, l := range got.Lines {
		text += fmt.Sprintf("%s %v %s; ", l.Name, l.Y[0], l.Unit)
	}
	if want := "outgoing link of db 50 %; connection pool of db 50 %; Send-Q of a host of db 15 byte; " +
		"Recv-Q of a host of db 45 byte; "; text != want {
		t.Errorf("lines %s, want %s", text, want)
	}
}

// TestFastReadings: what was read several times a second is told in parts of a second, in
// whole periods of a quota, and in as many values as a page can show.
func TestFastReadings(t *testing.T) {
	for name, c := range map[string]struct{ every, trial, step, most, least float64 }{
		"each 50 ms":         {.05, 20, .1, 100, 20},
		"each 200 ms":        {.2, 20, .2, 100, 20},
		"each 700 ms":        {.7, 20, 1, 40, 20},
		"each second":        {1, 20, 1, 40, 20},
		"for ten minutes":    {.05, 600, .2, 100, 20},
		"for twenty minutes": {.05, 1200, .4, 70, 20},
		"for an hour":        {.05, 3600, 1, 40, 20},
	} {
		t.Run(name, func(t *testing.T) {
			run, step := paused(c.every, c.trial)
			lines := Of(run, step, []string{"db"}).Lines
			if len(lines) != 2 || lines[0].Name != "processor of db" || lines[1].Name != "threads of db" || lines[1].Step != 1 {
				t.Fatalf("lines %+v, want that of the processor, and that of the threads by second", lines)
			}
			got := lines[0]
			if n := int(c.trial / c.step); got.Step != c.step || len(got.Y) != n {
				t.Errorf("%d values, each %v s, want %d, each %v s", len(got.Y), got.Step, n, c.step)
			}
			known := slices.DeleteFunc(slices.Clone(got.Y), math.IsNaN)
			if most, least := slices.Max(known), slices.Min(known); math.Abs(most-c.most) > 12 || math.Abs(least-c.least) > 12 {
				t.Errorf("between %.0f %% and %.0f %% busy, want %v %% and %v %%", least, most, c.least, c.most)
			}
		})
	}
}

// paused is a step of a database that is busy for 250 ms every 2 s, and else for a fifth of
// the time, with a reading of its processor each so many seconds, and of its threads each
// second.
func paused(every, trial float64) (*observe.Run, model.Step) {
	start := time.Unix(1000, 0)
	cpu := model.HostSeries{Metric: "db:" + bottleneck.SignalCPU, Counter: true}
	quota := model.HostSeries{Metric: "db:" + bottleneck.SignalQuota}
	for i := range int(trial/every) + 1 {
		at := float64(i) * every
		cycle := math.Mod(at+1e-9, 2)
		used := (at-cycle)/2*(.25+.2*1.75) + math.Min(cycle, .25) + .2*math.Max(0, cycle-.25)
		cpu.Offsets, cpu.Values = append(cpu.Offsets, int64(at*1e9)), append(cpu.Values, used)
		quota.Offsets, quota.Values = append(quota.Offsets, int64(at*1e9)), append(quota.Values, 1)
	}
	host := []model.HostSeries{cpu, quota}
	for name, v := range map[string]float64{bottleneck.SignalThreads: 3, bottleneck.SignalThreadsMax: 9} {
		h := model.HostSeries{Metric: "db:" + name}
		for at := range int(trial) {
			h.Offsets, h.Values = append(h.Offsets, int64(at)*1e9), append(h.Values, v)
		}
		host = append(host, h)
	}
	step := model.Step{ID: "S", Run: "R", State: model.StepComplete, Attempt: 1,
		Tasks: []model.Task{{ID: "T", Spec: model.Spec{Kind: "service", Role: model.RoleServe}}}}
	result := model.Result{Run: "R", Step: "S", Task: "T", Attempt: 1, Outcome: model.OutcomeOK, Started: start,
		Ended: start.Add(time.Duration(trial * 1e9)), Host: host}
	data := model.RunData{Run: model.Run{ID: "R"}, Steps: []model.Step{step}, Results: []model.Result{result}}
	return observe.Of(data), step
}

// TestLateStage: a stage begins some ms after the seconds of the users; what these
// recorded of a second is in that one, and in no neighbour.
func TestLateStage(t *testing.T) {
	record := &workloadtest.Record{T: t}
	rates := []float64{1, 2, 3, 4, 5, 6}
	report := session.Report{Present: rates, Rate: rates, Failed: rates, Response: rates, Tally: session.Tally{Thinks: 1}}
	report.Scored = 3 * time.Second
	if err := report.Publish(record); err != nil {
		t.Fatal(err)
	}
	x := record.Result()
	x.Started, x.Host = time.Unix(100, 0), record.Recordings
	x.Stages = []model.Stage{{Name: StageRun, Started: 2_007_000_000, Ended: 5_012_000_000}}
	var w Window
	w.Take(x)
	got := w.Responses([]model.Result{x})
	for i := range got {
		got[i] = math.Round(got[i] * 1e6)
	}
	if !slices.Equal(got, []float64{3000, 4000, 5000}) {
		t.Errorf("response times of the run are %v, want those of its seconds, 3000, 4000 and 5000 µs", got)
	}
}
