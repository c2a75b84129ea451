package master

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// stillborn is a fleet of one node, "x", with an agent that ends before it has
// connected.
type stillborn struct{ ends []agentEnd }

func (f *stillborn) Nodes() []model.Node         { return []model.Node{{ID: "x"}} }
func (f *stillborn) Services() map[string]string { return nil }
func (f *stillborn) Beside() time.Duration       { return 0 }
func (f *stillborn) Down(context.Context) error  { return nil }
func (f *stillborn) Up(_ context.Context, ended func(model.NodeID, string, bool)) error {
	for _, e := range f.ends {
		ended("x", e.why, e.again)
	}
	return nil
}

// TestAgentsThatCannotStart: a run fails with what its agent said last: at once
// if that is not started again, and otherwise when its time is over.
func TestAgentsThatCannotStart(t *testing.T) {
	for _, tt := range []struct {
		name, timeout, want string
		ends                []agentEnd
	}{
		{"for good", "1h", "node x cannot start; the agent of node x ended: no such thing",
			[]agentEnd{{why: "something", again: true}, {why: "no such thing"}}},
		{"again and again", "10ms", "node x did not connect within 10ms; the agent of node x ended: held",
			[]agentEnd{{why: "held", again: true}}},
		{"silent", "10ms", "node x did not connect within 10ms", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, testStore(t))
			h.m.cfg.Fleets = func(model.RunID, *experiment.Experiment) (Fleet, error) { return &stillborn{tt.ends}, nil }
			id := model.RunID(ulid.MustNew(ulid.Now(), rand.Reader).String())
			text := "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: \"true\"}]\nevaluations: [serial]\ntimeouts: {node: " + tt.timeout + "}\n"
			if _, err := h.m.Submit(t.Context(), control.Source{ID: id, Name: "e.yaml", Text: text, Kind: model.KindExperiment}); err != nil {
				t.Fatal(err)
			}
			h.end(id)
			if r := h.run(id); r.State != model.RunFailed || r.Reason != tt.want {
				t.Errorf("the run is %s (%s), want failed (%s)", r.State, r.Reason, tt.want)
			}
		})
	}
}

// TestAgentEnded: of an agent that was up people are told that it is lost; of
// one that does not start, once what the run waits for.
func TestAgentEnded(t *testing.T) {
	m := &Master{ev: testEvents(), reg: newRegistry(defaultLease), log: slog.New(slog.DiscardHandler), tells: make(map[model.NodeID]tells)}
	m.leases = newLeases(host{}, func(model.NodeID) host { return host{} })
	m.leases.request((&claim{run: "r", nodes: []model.NodeID{"x"}}).again())
	x := &execution{Master: m, run: model.Run{ID: "r"}}
	x.ends.reset()
	live, stop := m.ev.watch("r")
	defer stop()
	m.reg.hello(wire.Hello{Node: model.Node{ID: "x"}}, time.Now())
	for range 5 {
		x.agentEnded("x", "held", true)
	}
	var got []string
	for len(live) > 0 {
		got = append(got, (<-live).Text)
	}
	want := "node x is lost: its agent has ended|waiting for node x, its agent cannot start yet and is tried again: held"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("events: %q, want %q", text, want)
	}
}
