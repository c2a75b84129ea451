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
	"github.com/scalebench/scalebench/internal/tiers"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestSignalNames: what is read is what services record under that name.
func TestSignalNames(t *testing.T) {
	recorded := make(map[string]bool)
	for _, s := range tiers.Signals() {
		recorded[s.Name] = true
	}
	for _, name := range signalNames {
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
	got := Window{time.Unix(10, 0), time.Unix(30, 0)}.Services(x, []string{"db"})[0].Signals
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
			bottleneck.SignalPool: long(3), bottleneck.SignalPoolMax: long(6), bottleneck.SignalSendQueue: long(queue)}}
	}
	var got Timeline
	got.ofTier("db", []bottleneck.Service{host(10), host(20)})
	text := ""
	for _, l := range got.Lines {
		text += fmt.Sprintf("%s %v %s; ", l.Name, l.Y[0], l.Unit)
	}
	if want := "outgoing link of db 50 %; connection pool of db 50 %; Send-Q of a host of db 15 byte; "; text != want {
		t.Errorf("lines %s, want %s", text, want)
	}
}

// TestLateStage: a stage begins some ms after the seconds of the users; what these
// recorded of a second is in that one, and in no neighbour.
func TestLateStage(t *testing.T) {
	record := &workloadtest.Record{T: t}
	rates := []float64{1, 2, 3, 4, 5, 6}
	if err := (session.Report{Scored: 3 * time.Second, Present: rates, Rate: rates, Failed: rates, Response: rates, Tally: session.Tally{Thinks: 1}}).Publish(record); err != nil {
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
