package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// newCampaign returns a campaign; later ones are newer.
func newCampaign(seq int) model.Campaign {
	return model.Campaign{
		ID: model.CampaignID(fmt.Sprintf("01JAVB%020d", seq)), Name: "week", State: model.CampaignActive, Reason: "because",
		SourceName: "week.yaml", Source: "schedule:\n  every: 30m # ünïcode\n", Server: "NSERVER",
		Created: epoch.Add(time.Duration(seq) * time.Hour), Begin: epoch.Add(time.Minute), End: epoch.Add(31 * 24 * time.Hour), Seed: -1 << 63,
	}
}

// repetition returns one of a campaign, with its run.
func repetition(c model.Campaign, number int) (model.Repetition, Fixture) {
	f := New(0, 1, 1)
	due := c.Begin.Add(time.Duration(number) * 30 * time.Minute)
	f.Run.ID, f.Run.Campaign, f.Run.Repetition, f.Run.Created = store.RepetitionRun(c.ID, number, due), c.ID, number, due
	f.Steps = []model.Step{newStep(f, 0)}
	return model.Repetition{Campaign: c.ID, Number: number, Due: due, State: model.RepetitionRun, Run: f.Run.ID}, f
}

// repeat stores a repetition that must be new, and returns it as it is read.
func (e env) repeat(t *testing.T, c model.Campaign, number int) (model.Repetition, Fixture) {
	t.Helper()
	rep, f := repetition(c, number)
	if created, err := e.s.CreateRepetition(e.ctx, rep, f.Run, f.Nodes, f.Steps); !created || err != nil {
		t.Fatalf("CreateRepetition(%d) = %v, %v, want true, nil", number, created, err)
	}
	rep.RunState = f.Run.State
	return rep, f
}

func (e env) repetitions(t *testing.T, id model.CampaignID, from int) []model.Repetition {
	t.Helper()
	reps, err := e.s.Repetitions(e.ctx, id, from, 0)
	must(t, err)
	return reps
}

// measured reads what is stored of a campaign: "1=data 3=data".
func (e env) measured(t *testing.T, id model.CampaignID) string {
	t.Helper()
	var all []string
	for m, err := range e.s.Measured(e.ctx, id) {
		must(t, err)
		all = append(all, fmt.Sprintf("%d=%s", m.Number, m.Data))
	}
	return strings.Join(all, " ")
}

// testCampaigns: what changes in a campaign's life is replaced, what it is stays.
func testCampaigns(t *testing.T, e env) {
	a, b := newCampaign(1), newCampaign(2)
	b.State, b.End, b.Finished = model.CampaignStopped, time.Time{}, epoch
	must(t, e.s.PutCampaign(e.ctx, a))
	must(t, e.s.PutCampaign(e.ctx, b))
	a.State, a.Reason, a.Server, a.End = model.CampaignPaused, "by the user", "NOTHER", a.End.Add(time.Hour)
	must(t, e.s.PutCampaign(e.ctx, a))
	for _, tt := range []struct {
		states []model.CampaignState
		want   []model.Campaign
	}{
		{nil, []model.Campaign{b, a}},
		{[]model.CampaignState{model.CampaignPaused}, []model.Campaign{a}},
		{[]model.CampaignState{model.CampaignPaused, model.CampaignStopped}, []model.Campaign{b, a}},
		{[]model.CampaignState{model.CampaignActive}, nil},
	} {
		got, err := e.s.Campaigns(e.ctx, tt.states...)
		must(t, err)
		diff(t, fmt.Sprint("campaigns ", tt.states), tt.want, got)
	}
	for _, other := range []func(*model.Campaign){
		func(c *model.Campaign) { c.Name = "other" },
		func(c *model.Campaign) { c.Source += "# changed" },
		func(c *model.Campaign) { c.Seed++ },
		func(c *model.Campaign) { c.Begin = c.Begin.Add(1) },
	} {
		c := a
		other(&c)
		if err := e.s.PutCampaign(e.ctx, c); !errors.Is(err, model.ErrUsage) {
			t.Errorf("another campaign of the same id: %v, want model.ErrUsage", err)
		}
	}
	got, err := e.s.Campaign(e.ctx, string(a.ID))
	must(t, err)
	diff(t, "campaign", a, got)
}

// testServers: what servers that share a store know of each other, and take from
// each other: a run once, and no repetition of a campaign that one of them has
// stopped. Changes of a campaign are made one after the other.
func testServers(t *testing.T, e env) {
	other := e.open()
	must(t, e.s.Beat(e.ctx, "a"))
	for server, want := range map[string]bool{"a": true, "b": false} {
		if got, err := other.Lives(e.ctx, server); got != want || err != nil {
			t.Errorf("Lives(%s) = %v, %v, want %v", server, got, err, want)
		}
	}
	must(t, e.s.Leave(e.ctx, "a"))
	if lives, err := other.Lives(e.ctx, "a"); lives || err != nil {
		t.Errorf("after it has left Lives = %v, %v", lives, err)
	}

	c := newCampaign(1)
	must(t, e.s.PutCampaign(e.ctx, c))
	rep, _ := e.repeat(t, c, 1)
	must(t, e.s.SetRunState(e.ctx, rep.Run, model.RunInterrupted, "cut", epoch))
	must(t, e.s.PutMeasured(e.ctx, c.ID, 1, []byte("a part")))
	seen, err := e.s.Run(e.ctx, string(rep.Run))
	must(t, err)
	must(t, other.TakeRun(e.ctx, seen, "b"))
	if err := e.s.TakeRun(e.ctx, seen, "a"); !errors.Is(err, model.ErrStale) {
		t.Errorf("taking a run that another server has taken: %v, want model.ErrStale", err)
	}
	run, err := e.s.Run(e.ctx, string(rep.Run))
	must(t, err)
	seen.State, seen.Reason, seen.Server, seen.Finished = model.RunPending, "", "b", time.Time{}
	diff(t, "the run that was taken", seen, run)
	if got := e.measured(t, c.ID); got != "" {
		t.Errorf("what it had measured before is still %q", got)
	}

	var changes sync.WaitGroup
	for i := range 16 {
		changes.Go(func() {
			_, err := []store.Store{e.s, other}[i%2].ChangeCampaign(e.ctx, "week", func(c *model.Campaign) error {
				c.End = c.End.Add(time.Hour)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	changes.Wait()
	refused := errors.New("refused")
	if _, err := e.s.ChangeCampaign(e.ctx, "week", func(c *model.Campaign) error { c.State = model.CampaignDone; return refused }); !errors.Is(err, refused) {
		t.Errorf("a change that is refused: %v", err)
	}
	c.State = model.CampaignStopped
	got, err := e.s.ChangeCampaign(e.ctx, "week", func(got *model.Campaign) error { got.State = c.State; return nil })
	must(t, err)
	c.End = c.End.Add(16 * time.Hour)
	diff(t, "the campaign after 17 changes", c, got)
	rep, f := repetition(c, 2)
	if created, err := other.CreateRepetition(e.ctx, rep, f.Run, f.Nodes, f.Steps); created || err != nil {
		t.Errorf("CreateRepetition of a campaign that is stopped = %v, %v, want false", created, err)
	}
}

func testCampaignLookup(t *testing.T, e env) {
	for i, c := range []struct{ id, name string }{
		{"01ABCDEFGH0000000000000001", "week"},
		{"01ABCDEFGH0000000000000002", "week"},
		{"01ABXXXXXX0000000000000003", "01ABCDEFGH0000000000000001"}, // an id goes before a name
		{"01ACXXXXXX0000000000000004", "01AB"},                       // and a name before a prefix
	} {
		m := newCampaign(i)
		m.ID, m.Name = model.CampaignID(c.id), c.name
		must(t, e.s.PutCampaign(e.ctx, m))
	}
	for _, tt := range []struct {
		id   string
		want string // its last character
		kind error
	}{
		{"01ABCDEFGH0000000000000001", "1", nil},
		{"week", "2", nil}, // the latest of that name
		{"01abx", "3", nil},
		{"01AB", "4", nil},
		{"latest", "4", nil},
		{"01ABC", "", model.ErrUsage}, // two
		{"wee", "", model.ErrNotFound},
		{"", "", model.ErrNotFound},
		{"month", "", model.ErrNotFound},
		{"01A%", "", model.ErrNotFound},
	} {
		got, err := e.s.Campaign(e.ctx, tt.id)
		if !strings.HasSuffix(string(got.ID), tt.want) || (got.ID == "") != (tt.want == "") || !errors.Is(err, tt.kind) {
			t.Errorf("Campaign(%q) = %q, %v, want …%s, %v", tt.id, got.ID, err, tt.want, tt.kind)
		}
	}
}

// testRepetitions: each number is stored once, whatever is said of it later,
// with its run or not at all.
func testRepetitions(t *testing.T, e env) {
	t.Run("once", func(t *testing.T) { testOnce(t, e, newCampaign(1)) })
	t.Run("whole", func(t *testing.T) { testWhole(t, e, newCampaign(2)) })
}

func testOnce(t *testing.T, e env, c model.Campaign) {
	must(t, e.s.PutCampaign(e.ctx, c))
	var want []model.Repetition
	first, f := e.repeat(t, c, 1)
	skipped := model.Repetition{Campaign: c.ID, Number: 2, Due: epoch, State: model.RepetitionSkipped, Reason: "repetition 1 had not ended"}
	missed := model.Repetition{Campaign: c.ID, Number: 3, Due: epoch, State: model.RepetitionMissed}
	added, err := e.s.AddRepetition(e.ctx, skipped, missed)
	if added != 2 || err != nil {
		t.Errorf("AddRepetition = %d, %v, want 2", added, err)
	}
	fifth, _ := e.repeat(t, c, 5)
	want = append(want, first, skipped, missed, fifth)

	started, ended := epoch.Add(time.Second), epoch.Add(time.Minute)
	must(t, e.s.SetRunState(e.ctx, first.Run, model.RunRunning, "", started))
	must(t, e.s.SetRunState(e.ctx, first.Run, model.RunIncomplete, "", ended))
	want[0].RunState, want[0].Started, want[0].Finished = model.RunIncomplete, started, ended

	again := missed
	again.Number, again.Due = 1, epoch
	paused := missed
	paused.Number, paused.State = 4, model.RepetitionPaused
	if added, err := e.s.AddRepetition(e.ctx, again, skipped, paused); added != 1 || err != nil {
		t.Errorf("AddRepetition of numbers that are there, and one that is not = %d, %v, want 1", added, err)
	}
	want = append(want[:3:3], paused, fifth)
	for _, number := range []int{1, 2} {
		rep, f := repetition(c, number)
		f.Run.ID, rep.Run = "01ANOTHER", "01ANOTHER"
		f.Steps = nil
		if created, err := e.s.CreateRepetition(e.ctx, rep, f.Run, f.Nodes, nil); created || err != nil {
			t.Errorf("CreateRepetition of number %d again = %v, %v, want false, nil", number, created, err)
		}
	}
	diff(t, "repetitions", want, e.repetitions(t, c.ID, 0))
	diff(t, "repetitions from 4 on", want[3:], e.repetitions(t, c.ID, 4))
	diff(t, "the run's steps", f.Steps, e.data(t, e.s, first.Run).Steps)
	run, err := e.s.Run(e.ctx, string(first.Run))
	must(t, err)
	if run.Campaign != c.ID || run.Repetition != 1 {
		t.Errorf("the run is repetition %d of %q", run.Repetition, run.Campaign)
	}
	progress, err := e.s.Progress(e.ctx, c.ID)
	must(t, err)
	diff(t, "progress", model.CampaignProgress{
		Last: 5,
		States: map[model.RepetitionState]int{
			model.RepetitionRun: 2, model.RepetitionSkipped: 1, model.RepetitionMissed: 1, model.RepetitionPaused: 1,
		},
		Runs: map[model.RunState]int{model.RunIncomplete: 1, model.RunPending: 1},
	}, progress)
}

// testWhole: a repetition that cannot be stored whole leaves nothing.
func testWhole(t *testing.T, e env, c model.Campaign) {
	rep, f := repetition(c, 1)
	if _, err := e.s.CreateRepetition(e.ctx, rep, f.Run, f.Nodes, f.Steps); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a repetition of no campaign: %v, want model.ErrNotFound", err)
	}
	missed := model.Repetition{Campaign: c.ID, Number: 2, State: model.RepetitionMissed}
	if _, err := e.s.AddRepetition(e.ctx, missed); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a missed time of no campaign: %v, want model.ErrNotFound", err)
	}
	must(t, e.s.PutCampaign(e.ctx, c))
	twice := append(f.Steps[:1:1], f.Steps[0])
	if created, err := e.s.CreateRepetition(e.ctx, rep, f.Run, f.Nodes, twice); err == nil || created {
		t.Errorf("with a step that is there twice: %v, %v", created, err)
	}
	for _, wrong := range []func(*model.Repetition, *model.Run){
		func(rep *model.Repetition, _ *model.Run) { rep.Number = 2 },
		func(rep *model.Repetition, _ *model.Run) { rep.Run = "other" },
		func(rep *model.Repetition, _ *model.Run) { rep.State = model.RepetitionMissed },
		func(rep *model.Repetition, run *model.Run) { rep.Number, run.Repetition = 0, 0 },
		func(_ *model.Repetition, run *model.Run) { run.Campaign = "" },
	} {
		rep, run := rep, f.Run
		wrong(&rep, &run)
		if _, err := e.s.CreateRepetition(e.ctx, rep, run, f.Nodes, f.Steps); !errors.Is(err, model.ErrUsage) {
			t.Errorf("CreateRepetition(%+v): %v, want model.ErrUsage", rep, err)
		}
	}
	for _, wrong := range []func(*model.Repetition){
		func(rep *model.Repetition) { rep.Number = 0 },
		func(rep *model.Repetition) { rep.State = model.RepetitionRun },
		func(rep *model.Repetition) { rep.Run = f.Run.ID },
	} {
		rep := missed
		wrong(&rep)
		if _, err := e.s.AddRepetition(e.ctx, missed, rep); !errors.Is(err, model.ErrUsage) {
			t.Errorf("AddRepetition(%+v): %v, want model.ErrUsage", rep, err)
		}
	}
	if reps := e.repetitions(t, c.ID, 0); len(reps) != 0 {
		t.Errorf("there are repetitions: %+v", reps)
	}
	if _, err := e.s.Run(e.ctx, string(f.Run.ID)); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("its run: %v, want model.ErrNotFound", err)
	}
}

func testConcurrentRepetitions(t *testing.T, e env) {
	stores := []store.Store{e.s, e.open()}
	t.Run("create", func(t *testing.T) { testCreateAtOnce(t, e, stores) })
	t.Run("delete", func(t *testing.T) { testCreateAgainstDelete(t, e, stores) })
	t.Run("resume", func(t *testing.T) { testMeasuredAgainstResume(t, e, stores) })
}

// testCreateAtOnce: of many who create a repetition one does.
func testCreateAtOnce(t *testing.T, e env, stores []store.Store) {
	c := newCampaign(100)
	must(t, e.s.PutCampaign(e.ctx, c))
	var created atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		rep, f := repetition(c, 1)
		wg.Go(func() {
			ok, err := stores[i%2].CreateRepetition(e.ctx, rep, f.Run, f.Nodes, f.Steps)
			if err != nil {
				t.Error(err)
			}
			if ok {
				created.Add(1)
			}
		})
	}
	wg.Wait()
	if reps := e.repetitions(t, c.ID, 0); created.Load() != 1 || len(reps) != 1 {
		t.Errorf("%d have created it, and there are %d", created.Load(), len(reps))
	}
}

// testMeasured: what a repetition measured is there while its run is over and
// there, and only as this version wrote it.
func testMeasured(t *testing.T, e env) {
	c, other := newCampaign(1), newCampaign(2)
	must(t, e.s.PutCampaign(e.ctx, c))
	must(t, e.s.PutCampaign(e.ctx, other))
	var reps []model.Repetition
	for i := range 4 {
		rep, _ := e.repeat(t, c, i+1)
		reps = append(reps, rep)
	}
	put := func(number int, data string) error { return e.s.PutMeasured(e.ctx, c.ID, number, []byte(data)) }
	if err := put(1, "early"); !errors.Is(err, model.ErrStale) {
		t.Errorf("PutMeasured before the run has ended: %v, want model.ErrStale", err)
	}
	for _, number := range []int{3, 1, 2} {
		must(t, e.s.SetRunState(e.ctx, reps[number-1].Run, model.RunDone, "", epoch))
		must(t, put(number, "first"))
	}
	long := strings.Repeat("0123456789", 1000)
	must(t, put(2, long))
	added, err := e.s.AddRepetition(e.ctx, model.Repetition{Campaign: c.ID, Number: 5, State: model.RepetitionMissed})
	if added != 1 || err != nil {
		t.Fatal(added, err)
	}
	for _, number := range []int{5, 6} {
		if err := put(number, "none"); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("PutMeasured without a run: %v, want model.ErrNotFound", err)
		}
	}
	if got, want := e.measured(t, c.ID), "1=first 2="+long+" 3=first"; got != want {
		t.Errorf("Measured = %.80q …, want %.80q …", got, want)
	}
	if got := e.measured(t, other.ID); got != "" {
		t.Errorf("Measured of another campaign = %q", got)
	}
	for i, rep := range e.repetitions(t, c.ID, 1) {
		if rep.Measured != (i < 3) {
			t.Errorf("repetition %d: measured = %v", rep.Number, rep.Measured)
		}
	}
	for _, err := range e.s.Measured(e.ctx, c.ID) {
		must(t, err)
		break // lets the connection go
	}

	must(t, e.s.SetRunState(e.ctx, reps[0].Run, model.RunRunning, "resumed", epoch))
	must(t, e.s.DeleteRun(e.ctx, reps[1].Run))
	if got, want := e.measured(t, c.ID), "3=first"; got != want {
		t.Errorf("Measured when one run was resumed and one deleted = %q, want %q", got, want)
	}
	progress, err := e.s.Progress(e.ctx, c.ID)
	must(t, err)
	if progress.Measured != 1 {
		t.Errorf("Progress = %+v, want 1 measured", progress)
	}
}

func testDeleteCampaigns(t *testing.T, e env) {
	t.Run("run", func(t *testing.T) { testDeleteRepetition(t, e, newCampaign(100)) })
	t.Run("whole", func(t *testing.T) { testDeleteCampaign(t, e) })
}

// testDeleteRepetition: the time of the schedule stays when its run goes.
func testDeleteRepetition(t *testing.T, e env, c model.Campaign) {
	must(t, e.s.PutCampaign(e.ctx, c))
	rep, _ := e.repeat(t, c, 1)
	second, _ := e.repeat(t, c, 2)
	must(t, e.s.DeleteRun(e.ctx, rep.Run))
	want := model.Repetition{Campaign: c.ID, Number: 1, Due: rep.Due, State: model.RepetitionDeleted, Reason: "its run was deleted"}
	diff(t, "repetitions", []model.Repetition{want, second}, e.repetitions(t, c.ID, 1))
	again, f := repetition(c, 1)
	if created, err := e.s.CreateRepetition(e.ctx, again, f.Run, f.Nodes, f.Steps); created || err != nil {
		t.Errorf("creating it again = %v, %v, want false, nil", created, err)
	}
}

// testDeleteCampaign: its runs stay as runs of their own unless they are to go,
// too; other campaigns are not touched.
func testDeleteCampaign(t *testing.T, e env) {
	for i, withRuns := range []bool{false, true} {
		c, other := newCampaign(10*i), newCampaign(10*i+1)
		must(t, e.s.PutCampaign(e.ctx, c))
		must(t, e.s.PutCampaign(e.ctx, other))
		rep, _ := e.repeat(t, c, 1)
		for n := range 70 * i { // more than are deleted at once
			e.repeat(t, c, n+2)
		}
		kept, _ := e.repeat(t, other, 1)
		must(t, e.s.SetRunState(e.ctx, rep.Run, model.RunDone, "", epoch))
		must(t, e.s.PutMeasured(e.ctx, c.ID, 1, []byte("data")))
		must(t, e.s.DeleteCampaign(e.ctx, c.ID, withRuns))
		if _, err := e.s.Campaign(e.ctx, string(c.ID)); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("the campaign: %v, want model.ErrNotFound", err)
		}
		run, err := e.s.Run(e.ctx, string(rep.Run))
		if withRuns != errors.Is(err, model.ErrNotFound) || run.Campaign != "" || run.Repetition != 0 {
			t.Errorf("deleted with runs: %v: its run is %+v, %v", withRuns, run, err)
		}
		list, err := e.s.Runs(e.ctx, store.Filter{Campaign: c.ID})
		if must(t, err); list.Matching != 0 {
			t.Errorf("deleted with runs: %v: it has still %d", withRuns, list.Matching)
		}
		diff(t, "the other campaign", []model.Repetition{kept}, e.repetitions(t, other.ID, 1))
		must(t, e.s.PutCampaign(e.ctx, c))
		if reps := e.repetitions(t, c.ID, 0); len(reps) != 0 || e.measured(t, c.ID) != "" {
			t.Errorf("made anew it has %+v", reps)
		}
	}
}

// testRunsOfCampaigns: lists of runs with and without repetitions.
func testRunsOfCampaigns(t *testing.T, e env) {
	c := newCampaign(1)
	must(t, e.s.PutCampaign(e.ctx, c))
	own := New(1, 1, 1)
	must(t, e.s.CreateRun(e.ctx, own.Run, own.Nodes, own.Steps))
	must(t, e.s.SetRunState(e.ctx, own.Run.ID, model.RunDone, "", epoch))
	for number := range 3 {
		e.repeat(t, c, number+1)
	}
	if got, err := e.s.Run(e.ctx, "latest"); err != nil || got.ID != own.Run.ID {
		t.Errorf(`Run("latest") = %s, %v, want %s, which is no repetition`, got.ID, err, own.Run.ID)
	}
	for _, tt := range []struct {
		f        store.Filter
		want     string
		matching int
	}{
		{store.Filter{}, "3201", 4}, // 0: the run of its own
		{store.Filter{WithoutRepetitions: true}, "0", 1},
		{store.Filter{Campaign: c.ID}, "321", 3},
		{store.Filter{Campaign: c.ID, Limit: 2}, "32", 3},
		{store.Filter{Campaign: "other"}, "", 0},
	} {
		list, err := e.s.Runs(e.ctx, tt.f)
		must(t, err)
		got := ""
		for _, r := range list.Runs {
			got += fmt.Sprint(r.Repetition)
		}
		if got != tt.want || list.Matching != tt.matching {
			t.Errorf("Runs(%+v) = %q of %d, want %q of %d", tt.f, got, list.Matching, tt.want, tt.matching)
		}
	}
}

// testCreateAgainstDelete: no run is left of a campaign that is deleted while
// repetitions are created.
func testCreateAgainstDelete(t *testing.T, e env, stores []store.Store) {
	for round := range 8 {
		c := newCampaign(round)
		must(t, e.s.PutCampaign(e.ctx, c))
		var wg sync.WaitGroup
		for number := range 6 {
			rep, f := repetition(c, number+1)
			wg.Go(func() {
				_, err := stores[number%2].CreateRepetition(e.ctx, rep, f.Run, f.Nodes, f.Steps)
				if err != nil && !errors.Is(err, model.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if err := e.s.DeleteCampaign(e.ctx, c.ID, round%2 == 0); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		list, err := e.s.Runs(e.ctx, store.Filter{Campaign: c.ID})
		if must(t, err); list.Matching != 0 {
			t.Errorf("round %d: %d runs are left of it", round, list.Matching)
		}
	}
}

// testMeasuredAgainstResume: nothing in brief is left of a run that goes on.
func testMeasuredAgainstResume(t *testing.T, e env, stores []store.Store) {
	c := newCampaign(101)
	must(t, e.s.PutCampaign(e.ctx, c))
	rep, _ := e.repeat(t, c, 1)
	for range 8 {
		must(t, e.s.SetRunState(e.ctx, rep.Run, model.RunDone, "", epoch))
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := stores[1].PutMeasured(e.ctx, c.ID, 1, []byte("of what was before")); err != nil && !errors.Is(err, model.ErrStale) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := e.s.SetRunState(e.ctx, rep.Run, model.RunRunning, "resumed", epoch); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if got := e.measured(t, c.ID); got != "" {
			t.Errorf("of a run that goes on there is %q", got)
		}
	}
}
