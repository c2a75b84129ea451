package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Of a workload's points every 100 ms, one a second is shown; another attempt
// has its own second, and so has how things are now. A report, which is sent after each, comes in the same
// lane, so that what was dropped is known to be dropped.
func TestProgressIsThrottled(t *testing.T) {
	got, live := make(chan float64, 100), make(chan float64, 100)
	w := newWorld(t, Handlers{
		Progress: func(p wire.Progress) {
			if v, ok := p.Live["users"]; ok {
				live <- v
				return
			}
			got <- p.Value
		},
		Report: func(wire.Report) {
			close(got)
			close(live)
		},
	})
	_, k := w.agent(t, "n")
	start := time.Now()
	clock := start
	l := must[*Link](t)(DialAgent(testCtx(t), w.conn.Info(), k, "n", DialOptions{Now: func() time.Time { return clock }}))
	defer func() { _ = l.Close() }()
	again := attempt()
	again.Attempt++
	show := func(a wire.Attempt, at time.Duration, value float64) {
		clock = start.Add(at)
		check(t, l.Progress(wire.Progress{Attempt: a, Node: "n", Progress: model.Progress{Value: value}}))
	}
	for i := range 25 {
		at := time.Duration(i) * 100 * time.Millisecond
		show(attempt(), at, float64(i))
		if i%10 == 9 { // each second, in the middle of the points, and not quite on time
			clock = start.Add(at + time.Duration(i-9)*-time.Millisecond)
			check(t, l.Progress(wire.Progress{Attempt: attempt(), Node: "n", Live: map[string]float64{"users": float64(i)}}))
			check(t, l.Progress(wire.Progress{Attempt: attempt(), Node: "n", Live: map[string]float64{"users": -1}}))
		}
	}
	show(again, 2450*time.Millisecond, 100)
	show(again, 2550*time.Millisecond, 101)
	show(attempt(), time.Second, 102) // the clock was set back
	check(t, l.Report(wire.Report{Node: "n", Event: model.Event{Text: "end"}}))
	var shown []float64
	for v := range got {
		shown = append(shown, v)
	}
	if diff := cmp.Diff([]float64{0, 10, 20, 100, 102}, shown); diff != "" {
		t.Errorf("shown points (-want +got):\n%s", diff)
	}
	shown = nil
	for v := range live {
		shown = append(shown, v)
	}
	if diff := cmp.Diff([]float64{9, 19}, shown); diff != "" {
		t.Errorf("how things are (-want +got):\n%s", diff)
	}
}
