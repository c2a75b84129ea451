package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
)

// shared is a campaign in a store that two servers share.
type shared struct {
	t     *testing.T
	id    model.CampaignID
	begin time.Time
	atOne atomic.Int32 // repetitions that are executed at this moment
	begun atomic.Int32
}

// peer is a server with its own connection to the store. It executes a run by
// waiting for a moment.
type peer struct {
	*shared
	st     store.Store
	key    string
	minder *campaign.Minder
	kill   func()

	mu    sync.Mutex
	under map[model.RunID]chan struct{}
	all   sync.WaitGroup
	ctx   context.Context
}

const gap = 20 * time.Millisecond

// ticks are the times of the campaign.
type ticks struct{ begin, end time.Time }

func (x ticks) At(number int) (time.Time, bool) {
	due := x.begin.Add(time.Duration(number-1) * gap)
	return due, number > 0 && due.Before(x.end)
}

// start starts a server as after a kill: what it had under way is interrupted.
func (s *shared) start(st store.Store, key string) *peer {
	p := &peer{shared: s, st: st, key: key, under: make(map[model.RunID]chan struct{})}
	s.must(st.Beat(s.t.Context(), key))
	list, err := st.Runs(s.t.Context(), store.Filter{States: []model.RunState{model.RunPending, model.RunRunning}})
	s.must(err)
	for _, r := range list.Runs {
		if r.Server == key {
			s.must(st.SetRunState(s.t.Context(), r.ID, model.RunInterrupted, "", time.Now()))
		}
	}
	p.minder = campaign.New(campaign.Config{Store: st, Runs: p, Server: key, Log: slog.New(slog.DiscardHandler),
		Times: func(c model.Campaign) (campaign.Times, error) { return ticks{c.Begin, c.End}, nil }})
	var cancel func()
	p.ctx, cancel = context.WithCancel(s.t.Context())
	p.all.Go(func() { p.minder.Mind(p.ctx) })
	p.kill = func() {
		cancel()
		p.all.Wait()
		s.must(st.Leave(context.WithoutCancel(s.t.Context()), key)) // as when it was not heard for long
	}
	return p
}

func (s *shared) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Error(err)
	}
}

func (p *peer) BeginRepetition(ctx context.Context, c model.Campaign, rep model.Repetition) (bool, error) {
	created, err := p.st.CreateRepetition(ctx, rep, model.Run{ID: rep.Run, Kind: model.KindExperiment, State: model.RunPending, Name: c.Name,
		Source: c.Source, Server: p.key, Created: rep.Due, Campaign: c.ID, Repetition: rep.Number}, nil, nil)
	if created {
		p.begun.Add(1)
		p.execute(rep.Run) //nolint:contextcheck // it goes on until the server is killed
	}
	return created, err
}

func (p *peer) Resume(ctx context.Context, id model.RunID) error {
	run, err := p.st.Run(ctx, string(id))
	if err == nil {
		err = p.st.TakeRun(ctx, run, p.key)
	}
	if err == nil {
		p.execute(id) //nolint:contextcheck // it goes on until the server is killed
	}
	return err
}

func (p *peer) execute(id model.RunID) {
	ended := make(chan struct{})
	p.mu.Lock()
	p.under[id] = ended
	p.mu.Unlock()
	p.all.Go(func() {
		if n := p.atOne.Add(1); n > 1 {
			p.t.Errorf("%d repetitions at once: %s", n, id)
		}
		select {
		case <-time.After(rand.N(2 * gap)):
		case <-p.ctx.Done(): // killed
		}
		p.atOne.Add(-1)
		if p.ctx.Err() == nil {
			p.must(p.st.SetRunState(context.WithoutCancel(p.ctx), id, model.RunDone, "", time.Now()))
		}
		p.mu.Lock()
		delete(p.under, id)
		p.mu.Unlock()
		close(ended)
	})
}

func (p *peer) Over(id model.RunID) (<-chan struct{}, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended, here := p.under[id]
	return ended, here
}

// change changes the campaign at a server.
func (p *peer) change(c control.CampaignChange) error {
	c.ID = string(p.id)
	_, err := control.ChangeStored(p.t.Context(), p.st, c, p.key, time.Now().UTC())
	if err == nil {
		p.minder.Changed("")
	}
	return err
}

// TestChangesAtTwoServers pauses, resumes, extends, ends and takes over a campaign
// at two servers at random, and kills them, while its repetitions begin and end: no
// two are executed at once, each time of the schedule is recorded once, none begins
// once it is stopped, and no extension gets lost.
func TestChangesAtTwoServers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "store.db")
	s := &shared{t: t, id: "01KB0000000000000000000000", begin: time.Now().UTC()}
	var stores [2]store.Store
	var peers [2]*peer
	for i := range stores {
		st, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		stores[i] = st
	}
	end := s.begin.Add(2 * gap)
	s.must(stores[0].PutCampaign(t.Context(), model.Campaign{ID: s.id, Name: "c", State: model.CampaignActive, Source: "s", Server: "0", Created: s.begin, Begin: s.begin, End: end}))
	for i := range peers {
		peers[i] = s.start(stores[i], fmt.Sprint(i))
	}
	for until := time.Now().Add(1200 * time.Millisecond); time.Now().Before(until); time.Sleep(rand.N(gap)) { //nolint:forbidigo // the random moment
		i := draw.IntN(2)
		var err error
		switch draw.IntN(6) {
		case 0:
			peers[i].kill()
			peers[i] = s.start(stores[i], fmt.Sprint(i))
		case 1:
			err = peers[i].change(control.CampaignChange{State: model.CampaignPaused})
		case 2, 3:
			err = peers[i].change(control.CampaignChange{State: model.CampaignActive}) // which takes it over
		default:
			end = time.Now().Add(3 * gap).UTC()
			err = peers[i].change(control.CampaignChange{Until: end})
		}
		if err != nil && !errors.Is(err, model.ErrUsage) { // of one that is done
			t.Error(err)
		}
	}
	c, err := stores[0].Campaign(t.Context(), string(s.id))
	s.must(err)
	if !c.End.Equal(end) {
		t.Errorf("it ends at %v, want %v as it was extended", c.End, end)
	}
	s.must(peers[0].change(control.CampaignChange{Until: time.Now().Add(time.Hour)}))
	s.must(peers[0].change(control.CampaignChange{State: model.CampaignActive}))
	s.must(peers[1].change(control.CampaignChange{State: model.CampaignStopped}))
	before := s.begun.Load()
	time.Sleep(3 * gap) //nolint:forbidigo // in which nothing may begin
	if now := s.begun.Load(); now != before {
		t.Errorf("%d repetitions began after the campaign was stopped", now-before)
	}
	for _, p := range peers {
		p.kill()
	}
	s.check(stores[0], int(before))
	s.must(peers[0].change(control.CampaignChange{Delete: true}))
}

// check holds what is recorded to the schedule, and to how many have begun.
func (s *shared) check(st store.Store, begun int) {
	reps, err := st.Repetitions(s.t.Context(), s.id, 1, 0)
	s.must(err)
	ran := 0
	for i, r := range reps {
		if want := s.begin.Add(time.Duration(i) * gap); r.Number != i+1 || !r.Due.Equal(want) {
			s.t.Errorf("record %d is number %d, due %v; want %v", i+1, r.Number, r.Due, want)
		}
		if r.State == model.RepetitionRun {
			ran++
		}
	}
	progress, err := st.Progress(s.t.Context(), s.id)
	s.must(err)
	s.t.Logf("%d of %d repetitions ran: %v, %v", ran, len(reps), progress.States, progress.Runs)
	if ran != begun || ran < 3 || progress.States[model.RepetitionRun] != ran || progress.Last != len(reps) {
		s.t.Errorf("%d repetitions began, %d are recorded, and %+v counted", begun, ran, progress)
	}
}
