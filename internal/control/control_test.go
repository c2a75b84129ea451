package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/cpu"
	"github.com/scalebench/scalebench/test/storetest"
)

// server answers questions from a store; nothing can be run on it.
type server struct {
	changes
	nodes
	answer.Asker
	answer.Store
}

type (
	changes = control.Runs // which has a method of its name
	nodes   = control.Fleet
)

func (server) StartCampaign(context.Context, control.Source) (model.CampaignID, error) {
	return "", nil
}

func (server) ChangeCampaign(context.Context, control.CampaignChange) (model.Campaign, error) {
	return model.Campaign{}, nil
}

func (server) CancelSoon(context.Context, model.RunID) error { return nil }

// wire carries requests as the queue does: as bytes.
type wire struct{ server control.Server }

func (w wire) Call(ctx context.Context, verb string, req []byte) ([]byte, error) {
	return control.Handle(ctx, w.server, verb, req)
}

func (wire) Events(context.Context, model.RunID) (<-chan model.Event, error) { return nil, nil }

const run = model.RunID("01KJ2Q8Z7V3N5XW9T4B6C8D0EF")

// newServer has a run of two nodes that lose a fifth of their capacity.
func newServer(t testing.TB) server {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	day := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	d := model.RunData{Run: model.Run{
		ID: run, Name: "two <nodes>", Kind: model.KindExperiment, State: model.RunDone, SourceName: "two.yaml",
		Source:  "fleet: {local: {nodes: 2}}\nworkloads: [{name: w, kind: cpu, duration: 1s}]\n",
		Created: day, Started: day, Finished: day.Add(time.Minute),
	}, Nodes: []model.Node{{ID: "a"}, {ID: "b"}}}
	for i, nodes := range [][]model.NodeID{{"a"}, {"b"}, {"a", "b"}} {
		s := model.Step{
			ID: model.NewStepID(run, i), Run: run, Number: i, Phase: model.Serial, Workload: "w", Trial: 1, State: model.StepComplete, Attempt: 1, StartAt: day,
		}
		value := 100.
		if len(nodes) > 1 {
			s.Phase, value = model.Parallel, 80
		}
		for k, n := range nodes {
			task := model.Task{ID: model.NewTaskID(s.ID, k), Node: n, Position: k, Spec: model.Spec{Workload: "w", Kind: "cpu"}}
			s.Tasks = append(s.Tasks, task)
			d.Results = append(d.Results, model.Result{
				Run: run, Step: s.ID, Task: task.ID, Attempt: 1, Node: n, Outcome: model.OutcomeOK, Started: day, Ended: day.Add(4 * time.Second),
				Samples: []model.Sample{{Metric: "rate", Unit: "op/s", Value: value + float64(k)/10, Better: model.Higher}},
			})
		}
		d.Steps = append(d.Steps, s)
	}
	storetest.Save(t, st, d)
	kinds := experiment.Kinds{Workloads: workload.NewRegistry(cpu.Kind()), Studies: study.Registry{cdi.Kind()}}
	return server{Asker: answer.Asker{Store: st, Kinds: kinds, Now: time.Now}, Store: st}
}

// TestAnswersTravel: what is asked over the queue has the answer that the server
// itself gives: results byte for byte, documents with the types of their cells,
// gates with their kinds.
func TestAnswersTravel(t *testing.T) {
	s := newServer(t)
	remote := control.NewRemote(wire{s})
	given := answer.Params{"cdi": {"fail_above": json.RawMessage("5")}}
	ctx := t.Context()
	for name, ask := range map[string]func(control.Answers) (any, error){
		"answer": func(a control.Answers) (any, error) {
			return a.Answer(ctx, answer.Question{Study: "cdi", Run: string(run), Params: given["cdi"]})
		},
		"answer, bare": func(a control.Answers) (any, error) {
			return a.Answer(ctx, answer.Question{Study: "cdi", Run: string(run), Bare: true})
		},
		"findings": func(a control.Answers) (any, error) { return a.Findings(ctx, string(run), given) },
		"show":     func(a control.Answers) (any, error) { return a.Show(ctx, string(run), given) },
		"show, nothing asked": func(a control.Answers) (any, error) {
			return a.Show(ctx, string(run), nil)
		},
		"page": func(a control.Answers) (any, error) {
			d, err := a.Page(ctx, string(run))
			if err == nil {
				d.Footer = "" // the time
			}
			return d, err
		},
	} {
		want, err := ask(s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ask(remote)
		if err != nil {
			t.Fatalf("%s from elsewhere: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s from elsewhere differs (-here +there):\n%s", name, diff)
		}
	}
	a, err := remote.Show(ctx, string(run), given)
	if err != nil || !errors.Is(a.Err(), model.ErrThreshold) {
		t.Errorf("a threshold that was missed: %v, %v", a.Err(), err)
	}
}

// TestReadingTravels: what the store has is the same from elsewhere.
func TestReadingTravels(t *testing.T) {
	s := newServer(t)
	remote := control.NewRemote(wire{s})
	want, err := s.Data(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Data(t.Context(), run)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Data: %v (-here +there):\n%s", err, diff)
	}
	if want, err = s.Printed(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	got, err = remote.Printed(t.Context(), run)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Printed: %v (-here +there):\n%s", err, diff)
	}
	runs, err := remote.Runs(t.Context(), store.Filter{Name: "two"})
	if err != nil || runs.Matching != 1 || len(runs.Runs) != 1 || runs.Runs[0].ID != run {
		t.Errorf("Runs = %v, %v", runs, err)
	}
	one, err := remote.Run(t.Context(), "latest")
	if err != nil || one.ID != run {
		t.Errorf("Run = %v, %v", one, err)
	}
}

// TestErrorsTravel: questions that cannot be answered have their kind of error.
func TestErrorsTravel(t *testing.T) {
	s := newServer(t)
	remote := control.NewRemote(wire{s})
	for _, c := range []struct {
		name string
		ask  func() error
		want error
	}{
		{"an unknown study", func() error { _, err := remote.Answer(t.Context(), answer.Question{Study: "cold"}); return err }, model.ErrUsage},
		{"an unknown run", func() error { _, err := remote.Page(t.Context(), "01ZZZZ"); return err }, model.ErrNotFound},
		{"an impossible parameter", func() error {
			_, err := remote.Findings(t.Context(), string(run), answer.Params{"cdi": {"sizes": json.RawMessage("[0]")}})
			return err
		}, model.ErrUsage},
		{"a verb of another version", func() error { _, err := control.Handle(t.Context(), s, "guess", nil); return err }, model.ErrUsage},
		{"no JSON", func() error { _, err := control.Handle(t.Context(), s, "answer", []byte("{")); return err }, model.ErrUsage},
	} {
		if err := c.ask(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want a %v", c.name, err, c.want)
		}
	}
}

// FuzzHandle: no request of a client's, whatever its verb and body, does more
// than fail. Those that would change something have no server behind them here.
func FuzzHandle(f *testing.F) {
	for _, verb := range []string{"runs", "run", "data", "printed", "artifact", "answer", "findings", "show", "page"} {
		for _, body := range []string{`""`, `0`, `{}`, `{"run":"latest","study":"cdi","params":{"cdi":{}}}`, `[{},{}]`, `{"task":"` + string(run) + `/0000/0000","attempt":1}`} {
			f.Add(verb, []byte(body))
		}
	}
	s := newServer(f)
	f.Fuzz(func(t *testing.T, verb string, body []byte) {
		switch verb {
		case "submit", "resume", "cancel", "delete", "nodes", "remove-node", "new-token":
			t.Skip("not here")
		}
		if out, err := control.Handle(t.Context(), s, verb, body); err == nil && !json.Valid(out) {
			t.Errorf("%s %s: the answer is no JSON: %s", verb, body, out)
		}
	})
}
