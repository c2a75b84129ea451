package master

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// noQueue publishes events to no client. It dispatches and orders nothing:
// events do not.
type noQueue struct{ Queue }

func (noQueue) PublishEvent(model.Event) error { return nil }

func testEvents() *events {
	return newEvents(nil, noQueue{}, slog.New(slog.DiscardHandler))
}

// TestWatchTellsOfFleet: a watcher of a run sees its fleet once, however late it
// begins, and never the fleet of another run.
func TestWatchTellsOfFleet(t *testing.T) {
	up := model.Event{Run: "r1", Kind: model.EventFleetUp, Text: "lab abc"}
	for _, tt := range []struct {
		name string
		do   func(e *events) (live <-chan model.Event)
		want []string
	}{
		{"before", func(e *events) <-chan model.Event { e.emit(up); live, _ := e.watch("r1"); return live }, []string{"lab abc"}},
		{"after", func(e *events) <-chan model.Event { live, _ := e.watch("r1"); e.emit(up); return live }, []string{"lab abc"}},
		{"another run", func(e *events) <-chan model.Event { e.emit(up); live, _ := e.watch("r2"); return live }, nil},
		{"everything", func(e *events) <-chan model.Event { e.emit(up); live, _ := e.watch(""); return live }, nil},
	} {
		live := tt.do(testEvents())
		var got []string
		for len(live) > 0 {
			got = append(got, (<-live).Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestServiceEnded: the run that the service belongs to ends as failed, with the
// reason, and an event of it says so.
func TestServiceEnded(t *testing.T) {
	m := &Master{ev: testEvents()}
	begin := func(id model.RunID) *execution {
		ctx, cancel := context.WithCancelCause(t.Context())
		return &execution{Master: m, run: model.Run{ID: id}, ctx: ctx, cancel: cancel}
	}
	x, other := begin("r1"), begin("r2")
	m.active = map[model.RunID]*execution{"r1": x, "r2": other}
	live, stop := m.ev.watch("r1")
	defer stop()
	m.ServiceEnded("r1", errors.New("service web ended: exit status 3"))
	state, reason := stateAfter(x.ctx, x.ctx.Err())
	if state != model.RunFailed || !strings.Contains(reason, "service web ended: exit status 3") {
		t.Errorf("state after = %s, %q, want failed with the reason", state, reason)
	}
	ev := <-live
	if ev.Kind != model.EventServiceEnded || ev.Severity != model.Problem || ev.Run != "r1" {
		t.Errorf("event = %+v, want a problem of the run", ev)
	}
	if err := other.ctx.Err(); err != nil {
		t.Errorf("another run has ended, too: %v", err)
	}
	m.ServiceEnded("r3", errors.New("after its run")) // ends nothing
}
