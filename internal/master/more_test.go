package master

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/design"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/workload"
	workloadload "github.com/scalebench/scalebench/internal/workload/load"
	"github.com/scalebench/scalebench/test/skip"
)

// searches is a run of many searches in a store, executed by decideMore and servers
// that answer by arithmetic.
type searches struct {
	tb testing.TB
	x  *execution
	// measured is what was measured at a load, by workload and rate.
	measured map[string]model.Result
}

// studySource searches two servers again and again.
const studySource = `
name: a day of searches
fleet: {agents: {}}
evaluations: [search]
trials: 1000
workloads:
  - {kind: load, name: small, target: "http://192.0.2.1/", sla: p90=150ms}
  - {kind: load, name: large, target: "http://192.0.2.2/", sla: p90=150ms}
`

// capacities of the two servers, in operations per second.
var capacities = map[string]float64{"small": 130, "large": 1100}

func newSearches(tb testing.TB) *searches {
	tb.Helper()
	st, err := sqlite.Open(context.Background(), filepath.Join(tb.TempDir(), "store.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	kinds := experiment.Kinds{Workloads: workload.NewRegistry(workloadload.Kind()),
		Studies: study.Registry{legacy.Adapt(capacity.Kind())}}
	exp, err := experiment.Parse("study.yaml", []byte(studySource), kinds, nil)
	if err != nil {
		tb.Fatal(err)
	}
	run := model.Run{ID: "01JAVA00000000000000000000", Kind: model.KindExperiment, State: model.RunPending, Version: "0.0.1", Created: time.Unix(1e9, 0), Started: time.Unix(1e9, 0), Source: studySource}
	if err := st.CreateRun(context.Background(), run, []model.Node{{ID: "generator"}}, nil); err != nil {
		tb.Fatal(err)
	}
	m := New(Config{Store: st, Queue: noQueue{}, Kinds: kinds, Log: slog.New(slog.DiscardHandler)})
	s := &searches{tb: tb, x: &execution{m: m, run: run, exp: exp}, measured: make(map[string]model.Result)}
	s.anew()
	return s
}

// anew forgets what is known of the run, as a resume does.
func (s *searches) anew() {
	s.tb.Helper()
	var err error
	if s.x.sequence, err = design.NewSequence(s.x.exp, s.x.run, []model.Node{{ID: "generator"}}); err != nil {
		s.tb.Fatal(err)
	}
}

// plan plans the next window.
func (s *searches) plan() model.Step {
	s.tb.Helper()
	more, err := s.x.decideMore(context.Background())
	if err != nil || !more {
		s.tb.Fatalf("decideMore = %v, %v, want another window", more, err)
	}
	return s.x.steps[len(s.x.steps)-1]
}

// measure stores what a window has measured.
func (s *searches) measure(step model.Step) {
	s.tb.Helper()
	ctx, st := context.Background(), s.x.m.cfg.Store
	attempt, err := st.BeginAttempt(ctx, step.ID)
	if err != nil {
		s.tb.Fatal(err)
	}
	r := s.answer(step)
	r.Run, r.Step, r.Task, r.Node = step.Run, step.ID, step.Tasks[0].ID, step.Tasks[0].Node
	r.Attempt, r.Outcome = attempt, model.OutcomeOK
	if _, err := st.PutResult(ctx, r); err != nil {
		s.tb.Fatal(err)
	}
	if err := st.SetStepState(ctx, step.ID, model.StepComplete, ""); err != nil {
		s.tb.Fatal(err)
	}
}

// answer is what the load workload reports of a server that answers at once up
// to its capacity, and in a second above.
func (s *searches) answer(step model.Step) model.Result {
	offer := step.Tasks[0].Spec.Offer
	key := fmt.Sprint(step.Workload, offer.Rate)
	if r, ok := s.measured[key]; ok {
		return r
	}
	took := time.Millisecond
	if offer.Rate > capacities[step.Workload] {
		took = time.Second
	}
	const seconds = 10
	scorer := load.NewScorer(1, 0, seconds*time.Second)
	c := load.NewCollector(1, 1, scorer.Add)
	shard := c.Shard(0)
	for i := range int(offer.Rate) * seconds {
		due := time.Duration(float64(time.Second) * float64(i) / offer.Rate)
		shard.Due(0, due)
		shard.Sent(0, due, 0, due)
		shard.OK(0, due, due, due+took)
	}
	shard.Close()
	c.Wait()
	var r model.Result
	scorer.Summary([]string{"get"}, load.Usage{}).Report(sink{&r})
	s.measured[key] = r
	return r
}

// sink puts what is reported into a result.
type sink struct{ r *model.Result }

func (s sink) Sample(x model.Sample)        { s.r.Samples = append(s.r.Samples, x) }
func (s sink) Histogram(x model.Histogram)  { s.r.Histograms = append(s.r.Histograms, x) }
func (s sink) Recording(x model.HostSeries) { s.r.Host = append(s.r.Host, x) }

// TestDecideAsAnew: a plan made window by window equals the plan of a design
// that reads the whole run at once.
func TestDecideAsAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	s := newSearches(t)
	searched := make(map[string]bool)
	for range 40 {
		step := s.plan()
		data, err := s.x.dataFrom(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		data.Steps = data.Steps[:len(data.Steps)-1] // as it was before
		sequence, err := design.NewSequence(s.x.exp, data.Run, data.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		next, _, err := sequence.Next(observe.Of(data))
		if err != nil || len(next) != 1 {
			t.Fatalf("anew: %+v, %v", next, err)
		}
		if diff := cmp.Diff(next[0], step); diff != "" {
			t.Fatalf("anew and as it goes differ (-anew +as it goes):\n%s", diff)
		}
		searched[fmt.Sprint(step.Workload, step.Trial)] = true
		s.measure(step)
	}
	if len(searched) < 3 {
		t.Errorf("searches %v, want several", searched)
	}
}

// TestResumeOfAnotherVersion: a search with windows that this version would not
// ask for is refused before it waits in line, with what to do.
func TestResumeOfAnotherVersion(t *testing.T) {
	skip.IfShort(t)
	measured := make(map[string]model.Result) // takes a while: once for all
	for _, tt := range []struct {
		name string
		more func(s *searches, next model.Step)
		want string // of the error; "" for none
	}{
		{"all over", func(*searches, model.Step) {}, ""},
		{"cut", func(s *searches, next model.Step) { s.add(next) }, ""},
		{"another window is stored", func(s *searches, next model.Step) {
			next.Tasks[0].Spec.Offer.Rate += 7
			s.add(next)
			s.measure(next)
		}, "which this search has not asked for"},
		{"another window is next", func(s *searches, next model.Step) {
			next.Tasks[0].Spec.Offer.Rate = 77
			s.add(next)
		}, "its next window offered 77 op/s, but this version would offer"},
	} {
		s := newSearches(t)
		s.measured = measured
		for range 3 {
			s.measure(s.plan())
		}
		data, err := s.x.dataFrom(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		sequence, err := design.NewSequence(s.x.exp, data.Run, data.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		next, _, err := sequence.Next(observe.Of(data))
		if err != nil {
			t.Fatal(err)
		}
		tt.more(s, next[0])
		err = s.x.m.Resume(t.Context(), s.x.run.ID)
		if tt.want == "" {
			if err != nil || len(s.x.m.takeArrived()) != 1 {
				t.Errorf("%s: Resume: %v, want it in line", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "scalebench 0.0.1") {
			t.Errorf("%s: Resume: %v, want bad usage with %q and the version", tt.name, err, tt.want)
		}
		if len(s.x.m.takeArrived()) != 0 || !s.x.m.reserve(s.x.run.ID) {
			t.Errorf("%s: a run that was refused is in line", tt.name)
		}
	}
}

// add stores a step.
func (s *searches) add(step model.Step) {
	s.tb.Helper()
	if err := s.x.m.cfg.Store.AddSteps(context.Background(), step.Run, []model.Step{step}); err != nil {
		s.tb.Fatal(err)
	}
}

// BenchmarkDecideMore is what planning a window takes in a run that has had so
// many; "anew", by one who has to read the whole run, as after a resume.
func BenchmarkDecideMore(b *testing.B) {
	for _, windows := range []int{10, 100, 1000, 3000} {
		s := newSearches(b)
		for range windows {
			s.measure(s.plan())
		}
		b.Run(fmt.Sprintf("windows=%d", windows), func(b *testing.B) {
			for b.Loop() {
				step := s.plan()
				b.StopTimer()
				s.measure(step)
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("windows=%d/anew", windows), func(b *testing.B) {
			for b.Loop() {
				s.anew()
				step := s.plan()
				b.StopTimer()
				s.measure(step)
				b.StartTimer()
			}
		})
	}
}
