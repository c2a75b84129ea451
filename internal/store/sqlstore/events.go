package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// AddEvents implements store.Writer. Events of the kind model.EventProgress
// are live only and are left out. An event without a run concerns the fleet; it
// is kept, and no run's data shows it. All of a call are stored, or none.
// Events have no identity: one that is added again after model.ErrUnavailable
// may be there twice.
func (s *Store) AddEvents(ctx context.Context, events ...model.Event) error {
	var kept []model.Event
	for _, e := range events {
		if e.Kind != model.EventProgress {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return s.fail(ctx, "adding events", s.events.do(ctx, kept))
}

func (s *Store) commitEvents(ctx context.Context, calls [][]model.Event) []error {
	return commitBatch(ctx, s, "writing", calls, func(tx *sql.Tx, calls [][]model.Event) ([]error, error) {
		return s.putEvents(ctx, tx, calls)
	})
}

func (s *Store) putEvents(ctx context.Context, tx *sql.Tx, calls [][]model.Event) ([]error, error) {
	known, err := s.existing(ctx, tx, "runs", runsOf(calls))
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(calls))
	var rows [][]any
	for i, call := range calls {
		callRows, err := eventRows(call, known)
		errs[i] = err
		rows = append(rows, callRows...)
	}
	return errs, s.insert(ctx, tx, "events (run, step, task, node, kind, severity, at, message)", rows, "")
}

// runsOf returns the runs that the events name, each once, so that the query
// for them stays small.
func runsOf(calls [][]model.Event) []string {
	seen := make(map[string]bool)
	var runs []string
	for _, call := range calls {
		for _, e := range call {
			if id := string(e.Run); id != "" && !seen[id] {
				seen[id] = true
				runs = append(runs, id)
			}
		}
	}
	return runs
}

func eventRows(events []model.Event, known map[string]bool) ([][]any, error) {
	rows := make([][]any, len(events))
	for i, e := range events {
		var run any // NULL for the fleet
		if e.Run != "" {
			if !known[string(e.Run)] {
				return nil, fmt.Errorf("%w: there is no run %s", model.ErrNotFound, e.Run)
			}
			run = text(e.Run)
		}
		rows[i] = []any{run, text(e.Step), text(e.Task), text(e.Node), text(e.Kind), text(e.Severity), instant(e.Time), text(e.Text)}
	}
	return rows, nil
}

func (s *Store) selectEvents(ctx context.Context, tx *sql.Tx, run model.RunID) ([]model.Event, error) {
	events := []model.Event{}
	err := s.each(ctx, tx, func(rows *sql.Rows) error {
		e := model.Event{Run: run}
		err := rows.Scan((*text)(&e.Step), (*text)(&e.Task), (*text)(&e.Node), (*text)(&e.Kind), (*text)(&e.Severity),
			(*instant)(&e.Time), (*text)(&e.Text))
		events = append(events, e)
		return err
	}, `SELECT step, task, node, kind, severity, at, message FROM events WHERE run = ? ORDER BY id`, text(run))
	return events, err
}
