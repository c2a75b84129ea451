// Package campaign executes campaigns: experiments that are repeated on a
// schedule, a run each time.
//
//  1. [Minder.Mind] minds the campaigns of its server that are not over, each by
//     itself: [decide] says what is to be done now, from what is stored.
//  2. At a time of the schedule a repetition is recorded, with its run, in one
//     transaction: a server that is killed neither loses nor doubles one. Times
//     at which there can be no run are recorded with the reason.
//  3. When the run is over, what it measured is stored in brief ([Condense]), so
//     that a year of repetitions is read from one table ([Frames]).
//
// Between two times nothing is held: no node, no lease. What is known stands in
// the store; a server that is restarted goes on from there, and resumes the run
// that was cut.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Times are those of a schedule.
type Times interface {
	// At is when the repetition of this number, from 1, is due; false before that
	// and beyond the end. Later numbers are due later.
	At(number int) (due time.Time, ok bool)
}

// Runs are what a minder asks of the master.
type Runs interface {
	// BeginRepetition stores a repetition with its run and puts the run in line.
	// created is false for a number that is recorded already, and for a campaign
	// that is no longer active.
	BeginRepetition(ctx context.Context, c model.Campaign, rep model.Repetition) (created bool, err error)
	// Resume puts a run in line again.
	Resume(ctx context.Context, id model.RunID) error
	// Over is closed when nothing more will happen to the run by itself. here is
	// false of a run that this server does not execute.
	Over(id model.RunID) (ended <-chan struct{}, here bool)
}

// Config is what a minder needs.
type Config struct {
	Store  store.Store
	Runs   Runs
	Times  func(model.Campaign) (Times, error)
	Server string // key of this server: which campaigns are its
	// Guest: the server lives in a command, and goes with it. It minds only what
	// was begun or resumed while it ran.
	Guest bool
	Log   *slog.Logger
}

// Minder executes campaigns.
type Minder struct {
	cfg     Config
	changed chan struct{} // holds a token when campaigns were added or changed

	mu     sync.Mutex
	minded map[model.CampaignID]chan struct{} // those under way, each with its nudge
	asked  map[model.CampaignID]bool          // those that were begun or resumed while this server ran
	// began is when the campaigns were read first; zero before.
	began time.Time
}

// New prepares a minder.
func New(cfg Config) *Minder {
	return &Minder{cfg: cfg, changed: make(chan struct{}, 1), minded: make(map[model.CampaignID]chan struct{}), asked: make(map[model.CampaignID]bool)}
}

// Changed heeds what was stored of campaigns. begun is the one that was begun or
// resumed, or "".
func (m *Minder) Changed(begun model.CampaignID) {
	if begun != "" {
		m.mu.Lock()
		m.asked[begun] = true
		m.mu.Unlock()
	}
	nudge(m.changed)
}

// nudge leaves a token in a channel that holds one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Mind minds the campaigns of this server until ctx is done.
func (m *Minder) Mind(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		retry := time.Duration(0)
		if err := m.adopt(ctx, &all); err != nil && ctx.Err() == nil {
			m.cfg.Log.Warn("reading the campaigns", "err", err)
			retry = pause
		}
		select {
		case <-ctx.Done():
			return
		case <-m.changed:
		case <-after(retry):
		}
	}
}

// pause is how long a minder waits after an error of the store.
const pause = 5 * time.Second

// after fires once so much time has passed; never after 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

// adopt begins to mind campaigns that are not minded yet, and nudges the others.
func (m *Minder) adopt(ctx context.Context, all *sync.WaitGroup) error {
	list, err := m.cfg.Store.Campaigns(ctx, model.CampaignActive, model.CampaignPaused)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, changed := range m.minded { // what is over has to see it
		nudge(changed)
	}
	before := otherwise
	if m.began.IsZero() {
		before, m.began = noServer, time.Now()
	}
	for _, c := range list {
		if c.Server != m.cfg.Server || m.minded[c.ID] != nil || m.cfg.Guest && !m.asked[c.ID] {
			continue
		}
		x := &minding{Minder: m, id: c.ID, since: since{time.Now(), before}, nudge: make(chan struct{}, 1)}
		m.minded[c.ID] = x.nudge
		all.Go(func() {
			x.mind(ctx)
			m.mu.Lock()
			delete(m.minded, c.ID)
			m.mu.Unlock()
			nudge(m.changed) // it may have been taken up again meanwhile
		})
	}
	return nil
}

// since is from when on a server minds a campaign, and why there are no
// repetitions of times before.
type since struct {
	time.Time
	before string
}

const (
	noServer  = "no server was there"
	otherwise = "the campaign was over, or no server minded it"
)

// minding is one campaign that is minded.
type minding struct {
	*Minder
	id    model.CampaignID
	since since
	nudge chan struct{} // the campaign has changed
	seen  model.Campaign
	times Times // those of the campaign as it was seen
	// settled is the number up to which every repetition has ended and is condensed.
	settled int
	// unread are repetitions with runs that cannot be read.
	unread map[int]bool
	// trouble is why the last turn failed, "" if it did not: what was due
	// meanwhile has this reason.
	trouble string
}

// mind executes a campaign until it is over, or no longer this server's.
func (x *minding) mind(ctx context.Context) {
	for ctx.Err() == nil {
		do, err := x.turn(ctx)
		wait := time.Until(do.until)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait = pause
			if text := model.Plain(err); text != x.trouble { // which may stay for days
				x.cfg.Log.Warn("campaign", "id", x.id, "err", err)
				x.trouble = text
			}
		case do.over:
			return
		default:
			x.trouble = ""
			if do.until.IsZero() {
				wait = mostWait
			}
		}
		select {
		case <-ctx.Done():
		case <-x.nudge:
		case <-do.ends:
		case <-time.After(min(wait, mostWait)): // at most, because clocks are set and machines sleep
		}
	}
}

// mostWait is how long a minder waits without looking at the clock.
const mostWait = 30 * time.Second

// waiting is what a minder waits for.
type waiting struct {
	over  bool            // for nothing more
	until time.Time       // the next time of the schedule; zero: none
	ends  <-chan struct{} // the end of the run that is under way; nil: none
}

// turn does all that is to be done now.
func (x *minding) turn(ctx context.Context) (waiting, error) {
	for {
		c, err := x.cfg.Store.Campaign(ctx, string(x.id))
		if errors.Is(err, model.ErrNotFound) || err == nil && c.Server != x.cfg.Server {
			return waiting{over: true}, nil
		}
		if err != nil {
			return waiting{}, err
		}
		so, err := x.settle(ctx, c)
		if err != nil {
			return waiting{}, err
		}
		so.trouble = x.trouble
		do := action{over: so.under == 0}
		if !c.State.Final() {
			if err := x.read(c); err != nil {
				return waiting{}, err
			}
			do = decide(c, so, x.since, time.Now(), x.times)
		}
		switch {
		case do.begin != nil:
			err = x.begin(ctx, c, *do.begin)
		case len(do.record) > 0:
			_, err = x.cfg.Store.AddRepetition(ctx, do.record...)
		case so.under == 0 && len(so.brief) > 0:
			err = x.condense(ctx, so.brief, do.until)
		case do.over && c.State.Final():
			return waiting{over: true}, nil
		case do.over:
			err = x.done(ctx, c)
		default:
			return waiting{until: do.until, ends: so.ends}, nil
		}
		if err != nil {
			return waiting{}, err
		}
	}
}

// read works out the times of a campaign, once it can be read.
func (x *minding) read(c model.Campaign) error {
	if x.times != nil && reflect.DeepEqual(c, x.seen) {
		return nil
	}
	times, err := x.cfg.Times(c)
	if err != nil {
		return err
	}
	x.times, x.seen = times, c
	return nil
}

// done ends a campaign that is as it was seen. If it has changed since, it is to be
// looked at again.
func (x *minding) done(ctx context.Context, seen model.Campaign) error {
	_, err := x.cfg.Store.ChangeCampaign(ctx, string(seen.ID), func(c *model.Campaign) error {
		if reflect.DeepEqual(*c, seen) {
			c.State, c.Finished = model.CampaignDone, time.Now().UTC()
		}
		return nil
	})
	return unlessGone(err)
}

// unlessGone is the error of what was done of a campaign, unless that was deleted
// just now.
func unlessGone(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// begin begins a repetition. It is tried again while the server has no room for it
// or the store fails, as long as it would begin after a restart; then, or if it
// never can, the reason is recorded in its place. After a pause it is tried once
// more, however short the time to the next one is.
func (x *minding) begin(ctx context.Context, c model.Campaign, rep model.Repetition) error {
	next, more := x.times.At(rep.Number + 1)
	by := time.Since(rep.Due)
	late := by > 2*pause && tooLate(by, next.Sub(rep.Due), more)
	why := x.trouble
	if !late || why == "" {
		rep.Run = store.RepetitionRun(c.ID, rep.Number, rep.Due)
		_, err := x.cfg.Runs.BeginRepetition(ctx, c, rep)
		if err == nil || ctx.Err() != nil || errors.Is(err, model.ErrUnavailable) && !late {
			return err
		}
		why = model.Plain(err)
	}
	rep.State, rep.Run, rep.Reason = model.RepetitionFailed, "", why
	_, err := x.cfg.Store.AddRepetition(ctx, rep)
	return unlessGone(err)
}

// state is where a campaign stands.
type state struct {
	last  int                // the number of the last time that is recorded; 0: none
	under int                // that of the repetition under way; 0: none
	waits string             // what that waits for; "": for nothing, or nothing that is known
	ends  <-chan struct{}    // the end of the run under way; nil of another server's
	brief []model.Repetition // those that have ended and are to be condensed
	// trouble is why the turns before this one failed; "" if they did not.
	trouble string
}

// settle looks after the repetitions so far: which are under way, and which are
// to be condensed. The last one is resumed if it was cut.
func (x *minding) settle(ctx context.Context, c model.Campaign) (so state, err error) {
	reps, err := x.cfg.Store.Repetitions(ctx, c.ID, x.settled+1, 0)
	if err != nil {
		return so, err
	}
	latest := -1 // the latest with a run
	for i, rep := range reps {
		if rep.State == model.RepetitionRun {
			latest = i
		}
	}
	so.last = x.settled
	open := false // one before has not ended, or is to be condensed
	for i, rep := range reps {
		so.last = rep.Number
		if rep.State == model.RepetitionRun && !x.unread[rep.Number] {
			ends, under, err := x.goesOn(ctx, &rep, i == latest && !c.State.Final())
			switch {
			case err != nil:
				return so, err
			case under:
				so.under, so.waits, so.ends = rep.Number, rep.Reason, ends
				if ends == nil {
					so.waits = "another server is at it"
				}
			case rep.RunState.Final() && !rep.Measured:
				so.brief = append(so.brief, rep)
			}
			open = open || !rep.RunState.Final() || !rep.Measured
		}
		if !open {
			x.settled = rep.Number
		}
	}
	return so, nil
}

// goesOn reports whether the run of a repetition is under way. One that was cut
// goes on if it is to, also one of a server that is gone. One of another server
// that lives is waited for.
func (x *minding) goesOn(ctx context.Context, rep *model.Repetition, resume bool) (ends <-chan struct{}, under bool, err error) {
	if rep.RunState.Final() && (rep.RunState != model.RunInterrupted || !resume) {
		return nil, false, nil
	}
	if ends, under = x.cfg.Runs.Over(rep.Run); under {
		return ends, true, nil
	}
	// It may have ended since the repetitions were read, and then only now is it
	// certain how.
	run, err := x.cfg.Store.Run(ctx, string(rep.Run))
	if errors.Is(err, model.ErrNotFound) {
		return nil, false, fmt.Errorf("run %s was deleted just now: %w", rep.Run, model.ErrUnavailable)
	}
	if err != nil {
		return nil, false, err
	}
	rep.RunState = run.State
	switch { // the end of what this server had begun may not have been stored
	case run.State.Final() && (run.State != model.RunInterrupted || !resume):
		return nil, false, nil
	case !run.State.Final() && run.Server != x.cfg.Server:
		if under, err = x.cfg.Store.Lives(ctx, run.Server); under || err != nil {
			return nil, under, err
		}
		if !resume {
			rep.RunState = model.RunInterrupted
			return nil, false, x.cfg.Store.SetRunState(ctx, run.ID, rep.RunState, "its server is gone", time.Now().UTC())
		}
	}
	if err := x.cfg.Runs.Resume(ctx, rep.Run); err != nil {
		if errors.Is(err, model.ErrUnavailable) || errors.Is(err, model.ErrStale) {
			return nil, false, err
		}
		x.cfg.Log.Warn("resuming a repetition", "campaign", rep.Campaign, "run", rep.Run, "err", err)
		return nil, false, nil
	}
	rep.RunState = model.RunPending
	ends, under = x.cfg.Runs.Over(rep.Run)
	return ends, under, nil
}

// condense stores in brief what repetitions measured, as many as there is time
// for: what is due does not wait.
func (x *minding) condense(ctx context.Context, reps []model.Repetition, until time.Time) error {
	began := time.Now()
	for _, rep := range reps {
		err := Condense(ctx, x.cfg.Store, rep)
		switch {
		case ctx.Err() != nil || errors.Is(err, model.ErrUnavailable):
			return err
		case errors.Is(err, model.ErrStale), errors.Is(err, model.ErrNotFound):
			return nil // it was resumed or deleted just now
		case err != nil:
			x.cfg.Log.Warn("what a repetition measured cannot be read", "campaign", rep.Campaign, "repetition", rep.Number, "run", rep.Run, "err", err)
			if x.unread == nil {
				x.unread = make(map[int]bool)
			}
			x.unread[rep.Number] = true
		}
		if now := time.Now(); now.Sub(began) > mostCondensing || !until.IsZero() && now.After(until) {
			break
		}
	}
	return nil
}

// mostCondensing is how long a minder condenses without looking at what else is
// to be done.
const mostCondensing = 2 * time.Second

// action is what is to be done: begin a repetition, record times at which there
// is none, end the campaign, or wait.
type action struct {
	begin  *model.Repetition
	record []model.Repetition
	over   bool
	until  time.Time // of waiting; zero: for the end of the run under way
}

// decide says what is to be done now, from where the campaign stands, and since
// when this server minds it.
func decide(c model.Campaign, so state, since since, now time.Time, times Times) action {
	var late []model.Repetition
	for number := so.last + 1; ; number++ {
		due, ok := times.At(number)
		switch {
		case len(late) > 0 && (!ok || due.After(now) || len(late) == mostAtOnce):
			return action{record: late}
		case !ok:
			return action{over: so.under == 0}
		case due.After(now):
			return action{until: due}
		}
		rep := model.Repetition{Campaign: c.ID, Number: number, Due: due, State: model.RepetitionRun}
		next, more := times.At(number + 1)
		if before, ok := times.At(number - 1); !more && ok { // the last one is not begun later than the others
			next, more = due.Add(due.Sub(before)), true
		}
		switch {
		case c.State == model.CampaignPaused:
			rep.State = model.RepetitionPaused
		case so.trouble != "" && more && !next.After(now):
			rep.State, rep.Reason = model.RepetitionFailed, so.trouble
		case due.Before(since.Time) && tooLate(now.Sub(due), next.Sub(due), more):
			rep.State, rep.Reason = model.RepetitionMissed, since.before
		case more && !next.After(now):
			rep.State, rep.Reason = model.RepetitionMissed, stoodStill
		case so.under != 0:
			rep.State, rep.Reason = model.RepetitionSkipped, fmt.Sprintf("repetition %d had not ended", so.under)
			if so.waits != "" {
				rep.Reason += ": " + so.waits
			}
		case len(late) > 0:
			return action{record: late}
		default:
			return action{begin: &rep}
		}
		late = append(late, rep)
	}
}

// stoodStill is why times passed unseen while the server was there.
const stoodStill = "the scalebench server stood still or was busy, or its clock was set forward"

// mostAtOnce is how many times are recorded in one transaction.
const mostAtOnce = 1000

// tooLate reports whether a repetition that was due so long ago, when there was
// no server, is begun no more: it would say something of another time.
func tooLate(by, gap time.Duration, more bool) bool {
	most := time.Minute
	if more {
		most = min(most, gap/10)
	}
	return by > most
}
