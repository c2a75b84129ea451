package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
)

// server is what a minder asks of a master, of a server that executes only what
// it is told here.
type server struct {
	st      store.Store
	under   map[model.RunID]chan struct{}
	resumed []model.RunID
	begun   []int
}

func (s *server) BeginRepetition(ctx context.Context, c model.Campaign, rep model.Repetition) (bool, error) {
	s.begun = append(s.begun, rep.Number)
	s.under[rep.Run] = make(chan struct{})
	return s.st.CreateRepetition(ctx, rep, runOf(c, rep, "own"), nil, nil)
}

func (s *server) Resume(_ context.Context, id model.RunID) error {
	s.resumed = append(s.resumed, id)
	s.under[id] = make(chan struct{})
	return nil
}

func (s *server) Over(id model.RunID) (<-chan struct{}, bool) {
	ended, here := s.under[id]
	return ended, here
}

func runOf(c model.Campaign, rep model.Repetition, server string) model.Run {
	return model.Run{ID: rep.Run, Kind: model.KindExperiment, State: model.RunPending, Name: c.Name, Source: c.Source, Server: server,
		Created: rep.Due, Campaign: c.ID, Repetition: rep.Number}
}

// world is a campaign in a real store, and its minding.
type world struct {
	*minding
	t *testing.T
	s *server
	c model.Campaign
}

// newWorld has a campaign of so many repetitions, the first an hour ago.
func newWorld(t *testing.T, repetitions int, over func(store.Store) store.Store) *world {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	begin := time.Now().Add(-time.Hour).UTC()
	c := model.Campaign{ID: "01KB0000000000000000000000", Name: "c", State: model.CampaignActive, Source: "s", Server: "own",
		Created: begin, Begin: begin}
	s := &server{st: st, under: make(map[model.RunID]chan struct{})}
	m := New(Config{Store: over(st), Runs: s, Server: "own", Log: slog.New(slog.DiscardHandler),
		Times: func(model.Campaign) (Times, error) { return hourly{begin, repetitions}, nil }})
	w := &world{&minding{Minder: m, id: c.ID, since: since{begin, noServer}}, t, s, c}
	w.must(st.PutCampaign(t.Context(), c))
	return w
}

type hourly struct {
	begin time.Time
	n     int
}

func (h hourly) At(number int) (time.Time, bool) {
	return h.begin.Add(time.Duration(number-1) * 50 * time.Minute), 0 < number && number <= h.n
}

func plain(st store.Store) store.Store { return st }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// add stores a repetition with a run of a server in a state.
func (w *world) add(number int, server string, state model.RunState) model.RunID {
	w.t.Helper()
	due := w.c.Begin.Add(time.Duration(number-1) * 50 * time.Minute)
	rep := model.Repetition{Campaign: w.c.ID, Number: number, Due: due, State: model.RepetitionRun, Run: store.RepetitionRun(w.c.ID, number, due)}
	_, err := w.s.st.CreateRepetition(w.t.Context(), rep, runOf(w.c, rep, server), nil, nil)
	w.must(err)
	w.must(w.s.st.SetRunState(w.t.Context(), rep.Run, state, "", due))
	return rep.Run
}

// TestRunsThatNoServerExecutes: a run of which the end was never stored is gone
// on with; one that another server left is not waited for.
func TestRunsThatNoServerExecutes(t *testing.T) {
	for _, c := range []struct {
		name      string
		server    string
		run       model.RunState
		campaign  model.CampaignState
		resumed   bool
		underThen int // the repetition that is under way afterwards
	}{
		{"own, its end was not stored", "own", model.RunRunning, model.CampaignActive, true, 1},
		{"own, cut", "own", model.RunInterrupted, model.CampaignActive, true, 1},
		{"own, cut, and the campaign is paused", "own", model.RunInterrupted, model.CampaignPaused, true, 1},
		{"own, cut, and the campaign was stopped", "own", model.RunInterrupted, model.CampaignStopped, false, 0},
		{"another server's that lives", "alive", model.RunRunning, model.CampaignActive, false, 1},
		{"another server's that is gone", "other", model.RunRunning, model.CampaignActive, true, 1},
		{"another server's that is gone, and the campaign was stopped", "other", model.RunRunning, model.CampaignStopped, false, 0},
		{"another server's, cut", "other", model.RunInterrupted, model.CampaignActive, true, 1},
		{"cancelled", "own", model.RunCancelled, model.CampaignActive, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 3, plain)
			w.must(w.s.st.Beat(t.Context(), "alive"))
			id := w.add(1, c.server, c.run)
			w.c.State = c.campaign
			so, err := w.settle(t.Context(), w.c)
			w.must(err)
			if so.under != c.underThen || slices.Contains(w.s.resumed, id) != c.resumed {
				t.Errorf("under way is %d, resumed are %v; want %d and %v", so.under, w.s.resumed, c.underThen, c.resumed)
			}
		})
	}
}

// unreadable is a store from which runs cannot be read.
type unreadable struct{ store.Store }

func (unreadable) Heads(context.Context, model.RunID, int) (model.RunData, error) {
	return model.RunData{}, fmt.Errorf("%w: the data is damaged", model.ErrInvalid)
}

// TestUnreadableRun: a run that cannot be condensed keeps no repetition from
// beginning, and the campaign from no end.
func TestUnreadableRun(t *testing.T) {
	w := newWorld(t, 2, func(st store.Store) store.Store { return unreadable{st} })
	w.add(1, "own", model.RunDone)
	do, err := w.turn(t.Context())
	w.must(err)
	if !slices.Equal(w.s.begun, []int{2}) || do.over || do.ends == nil {
		t.Fatalf("begun are %v, then %+v; want repetition 2, and its end waited for", w.s.begun, do)
	}
	for id := range w.s.under {
		w.must(w.s.st.SetRunState(t.Context(), id, model.RunDone, "", time.Now()))
		delete(w.s.under, id)
	}
	if do, err = w.turn(t.Context()); !do.over || err != nil {
		t.Errorf("after the last repetition: %+v, %v, want it over", do, err)
	}
	if c, err := w.s.st.Campaign(t.Context(), string(w.c.ID)); c.State != model.CampaignDone || err != nil {
		t.Errorf("the campaign is %s, %v", c.State, err)
	}
}

// TestChangedMeanwhile: nothing is begun of a campaign that was stopped after it
// was read.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t, 3, plain)
	seen, err := w.s.st.Campaign(t.Context(), "c")
	w.must(err)
	stopped := seen
	stopped.State = model.CampaignStopped
	w.must(w.s.st.PutCampaign(t.Context(), stopped))
	w.must(w.read(seen))
	w.must(w.begin(t.Context(), seen, model.Repetition{Campaign: seen.ID, Number: 1, Due: seen.Begin, State: model.RepetitionRun}))
	if reps, err := w.s.st.Repetitions(t.Context(), seen.ID, 1, 0); len(reps) > 0 || err != nil {
		t.Errorf("of a campaign that is stopped began %+v, %v", reps, err)
	}
	w.must(w.done(t.Context(), seen))
	if c, err := w.s.st.Campaign(t.Context(), "c"); c.State != model.CampaignStopped || err != nil {
		t.Errorf("a campaign that is stopped became %s, %v", c.State, err)
	}
	w.must(w.s.st.DeleteCampaign(t.Context(), seen.ID, false))
	if do, err := w.turn(t.Context()); !do.over || err != nil {
		t.Errorf("after its deletion: %+v, %v, want it over", do, err)
	}
}

// TestFramesOfRepetitions: doubts are counted over the repetitions that ran, and a
// fact that only later ones have is not known of those before.
func TestFramesOfRepetitions(t *testing.T) {
	w := newWorld(t, 3, plain)
	for number, facts := range map[int]string{1: `{"name":"zone","levels":["","a"],"codes":[1]}`,
		2: `{"name":"zone","levels":["","a"],"codes":[1]},{"name":"late","levels":["","x"],"codes":[1]}`} {
		w.add(number, "own", model.RunDone)
		text := fmt.Sprintf(`[{"metric":"m","unit":"s","values":[%d],"times":[%d],"facts":[%s],"doubts":[{"code":"d","text":"odd"}]}]`, number, number, facts)
		w.must(w.s.st.PutMeasured(t.Context(), w.c.ID, number, []byte(text)))
	}
	_, err := w.s.st.AddRepetition(t.Context(), model.Repetition{Campaign: w.c.ID, Number: 3, Due: time.Now(), State: model.RepetitionMissed})
	w.must(err)
	frames, err := Frames(t.Context(), w.s.st, w.c.ID)
	w.must(err)
	if len(frames) != 1 || !slices.Equal(frames[0].Values, []float64{1, 2}) {
		t.Fatalf("frames are %+v", frames)
	}
	f := &frames[0]
	if zone, late, rep := f.Fact("zone"), f.Fact("late"), f.Fact("repetition"); zone.Level(0) != "a" || zone.Level(1) != "a" ||
		late.Level(0) != "" || late.Level(1) != "x" || rep.Level(1) != "2" {
		t.Errorf("facts are %+v", f.Facts)
	}
	if len(f.Doubts) != 1 || !strings.HasPrefix(f.Doubts[0].Text, "in 2 of 2 repetitions") {
		t.Errorf("doubts are %+v, want one, of 2 of 2 repetitions", f.Doubts)
	}
}

// TestUnreadable: a campaign of which the file cannot be read is so each time that
// it is looked at, until it can be.
func TestUnreadable(t *testing.T) {
	broken := model.ErrUsage
	x := &minding{Minder: New(Config{Times: func(model.Campaign) (Times, error) {
		if broken != nil {
			return (*hourly)(nil), broken
		}
		return hourly{zero, 3}, nil
	}})}
	for range 2 {
		if err := x.read(model.Campaign{ID: "c"}); !errors.Is(err, model.ErrUsage) {
			t.Fatalf("read() = %v, want %v", err, broken)
		}
	}
	broken = nil
	if err := x.read(model.Campaign{ID: "c"}); err != nil || x.times == nil {
		t.Errorf("read() = %v, want the times", err)
	}
}
