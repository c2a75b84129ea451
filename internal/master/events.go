package master

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// events passes events on: at once to watchers, and a little later to the
// store. Watching never slows a run down.
type events struct {
	store store.Writer
	queue Queue
	log   *slog.Logger
	// answered gets the store's error, or nil, for each event.
	answered func(context.Context, error)

	sync.Mutex
	unstored []model.Event
	dropped  int
	watchers map[chan model.Event]model.RunID
	wake     chan struct{}
	// fleets are the last events about fleets that came up, of runs that are not
	// over. A client that submits a run begins to watch a moment too late for it.
	fleets map[model.RunID]model.Event
}

// Bounds: events that wait for a failing store, and events that wait for a
// slow watcher.
const (
	maxUnstored = 10000
	watchBuffer = 4096
)

func newEvents(s store.Writer, q Queue, log *slog.Logger) *events {
	return &events{
		store: s, queue: q, log: log,
		watchers: make(map[chan model.Event]model.RunID), fleets: make(map[model.RunID]model.Event),
		wake: make(chan struct{}, 1),
	}
}

// emit publishes an event; without a severity it is one of progress. An event of the fleet (without a run) reaches all
// watchers but is not stored: it belongs to no run.
func (e *events) emit(ev model.Event) {
	ev.Severity = cmp.Or(ev.Severity, model.Info)
	if ev.Time.IsZero() {
		ev.Time = time.Now().UTC()
	}
	if err := e.queue.PublishEvent(ev); err != nil {
		e.log.Debug("publishing an event", "err", err)
	}
	e.Lock()
	defer e.Unlock()
	if ev.Kind == model.EventFleetUp {
		e.fleets[ev.Run] = ev
	}
	for ch, run := range e.watchers {
		if ev.Run != "" && run != ev.Run {
			continue
		}
		select {
		case ch <- ev:
		default: // the watcher is slow; the store has the whole story
		}
	}
	if ev.Run == "" || ev.Live() {
		return
	}
	if len(e.unstored) >= maxUnstored {
		e.dropped++
		return
	}
	e.unstored = append(e.unstored, ev)
	notify(e.wake)
}

// watch returns the live events of a run until stop is called, and first what
// fleet the run has.
func (e *events) watch(run model.RunID) (live <-chan model.Event, stop func()) {
	ch := make(chan model.Event, watchBuffer)
	e.Lock()
	defer e.Unlock()
	if up, ok := e.fleets[run]; ok {
		ch <- up // the channel is empty, and has room
	}
	e.watchers[ch] = run
	return ch, func() {
		e.Lock()
		defer e.Unlock()
		delete(e.watchers, ch)
	}
}

// write stores events until ctx is done, and then what is left.
func (e *events) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			e.flush(context.WithoutCancel(ctx), lastFlush)
			return
		case <-e.wake:
		}
		if !e.flush(ctx, 5*time.Second) {
			// The store fails: the next event, or the end, tries again.
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
				notify(e.wake)
			}
		}
	}
}

// over forgets the fleet of a run that is over.
func (e *events) over(run model.RunID) {
	e.Lock()
	defer e.Unlock()
	delete(e.fleets, run)
}

// flush stores what waits, for so long at most, and reports whether nothing is
// left.
func (e *events) flush(ctx context.Context, timeout time.Duration) bool {
	e.Lock()
	batch := e.unstored
	e.unstored = nil
	dropped := e.dropped
	e.dropped = 0
	e.Unlock()
	if len(batch) == 0 {
		return true
	}
	if dropped > 0 {
		e.log.Warn("events were dropped while the store failed", "count", dropped)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	left := e.add(ctx, batch)
	if len(left) == 0 {
		return true
	}
	e.Lock()
	defer e.Unlock()
	e.unstored = append(left, e.unstored...)
	return false
}

// add stores events and returns those that must be tried again. When the
// batch as a whole is refused, the ones at fault are found and dropped, so
// that they cannot hold the others back.
func (e *events) add(ctx context.Context, batch []model.Event) (left []model.Event) {
	err := e.store.AddEvents(ctx, batch...)
	e.answered(ctx, err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, model.ErrUnavailable), ctx.Err() != nil:
		e.log.Debug("storing events", "err", err)
		return batch
	case len(batch) == 1:
		e.log.Warn("an event cannot be stored", "event", batch[0].Text, "err", err)
		return nil
	}
	for i := range batch {
		left = append(left, e.add(ctx, batch[i:i+1])...)
	}
	return left
}

// setRunState stores and tells a run's state.
func (m *Master) setRunState(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	m.storeRunState(ctx, id, state, reason)
	ev := model.Event{Run: id, Kind: model.EventRunState, Text: state.With(reason)}
	if state == model.RunFailed || state == model.RunIncomplete {
		ev.Severity = model.Problem
	}
	m.ev.emit(ev)
}

// storeRunState stores a run's state; a store that fails for good is logged, for
// the run itself can go on.
func (m *Master) storeRunState(ctx context.Context, id model.RunID, state model.RunState, reason string) {
	err := m.persist(ctx, "recording the run's state", func() error {
		return m.store.SetRunState(ctx, id, state, reason, time.Now().UTC())
	})
	if err != nil && ctx.Err() == nil { // or the next start will see that it was cut
		m.log.Error("recording the run's state", "run", id, "state", state, "err", err)
	}
}
