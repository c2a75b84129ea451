package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Data implements store.Reader: the run as it was at one moment. Steps, tasks,
// samples and series come in their order in the run; results by step, attempt
// and position of the task; events in the order in which they were added.
func (s *Store) Data(ctx context.Context, id model.RunID) (model.RunData, error) {
	return read(ctx, s, fmt.Sprintf("reading run %s", id), func(t tx) (d model.RunData, err error) {
		if d, err = t.run(id, 0, whole); err != nil {
			return d, err
		}
		if d.Events, err = t.events(id); err != nil {
			return d, err
		}
		d.Artifacts, err = t.artifacts(id)
		return d, err
	})
}

// DataFrom implements store.Store. Steps and results are found by an index, so
// that the time it takes does not depend on how many come before.
func (s *Store) DataFrom(ctx context.Context, id model.RunID, from int) (model.RunData, error) {
	return s.runFrom(ctx, id, from, whole)
}

// Heads implements store.Columns.
func (s *Store) Heads(ctx context.Context, id model.RunID, from int) (model.RunData, error) {
	return s.runFrom(ctx, id, from, heads)
}

// Printed implements store.Reader.
func (s *Store) Printed(ctx context.Context, id model.RunID) (model.RunData, error) {
	return s.runFrom(ctx, id, 0, printed)
}

// Head implements store.Store.
func (s *Store) Head(ctx context.Context, task model.TaskID, attempt int) (model.Result, error) {
	doing := fmt.Sprintf("reading the result %s#%d", task, attempt)
	return read(ctx, s, doing, func(t tx) (r model.Result, err error) {
		var step model.StepID
		err = t.results(&step, func(_ int64, x model.Result) { r = x },
			`SELECT r.id, r.task, r.attempt, s.id, r.node, r.outcome, r.started, r.ended, r.body, NULL
			FROM results r JOIN steps s ON s.run = r.run AND s.number = r.step
			WHERE r.task = ? AND r.attempt = ?`, task, attempt)
		if r.Run, r.Step = task.Run(), step; err == nil && r.Task == "" {
			err = model.ErrNotFound
		}
		return r, err
	})
}

// extent is how much of results is read.
type extent int

// Results without what is large, with what was printed, with points as well.
const (
	heads extent = iota
	printed
	whole
)

// Events implements store.Columns.
func (s *Store) Events(ctx context.Context, id model.RunID) ([]model.Event, error) {
	return read(ctx, s, fmt.Sprintf("reading the events of run %s", id), func(t tx) ([]model.Event, error) {
		if _, err := runTable.one(t, whereID, id); err != nil {
			return nil, err
		}
		return t.events(id)
	})
}

func (s *Store) runFrom(ctx context.Context, id model.RunID, from int, much extent) (model.RunData, error) {
	return read(ctx, s, fmt.Sprintf("reading run %s from step %d on", id, from), func(t tx) (model.RunData, error) {
		return t.run(id, from, much)
	})
}

// run reads a run with its nodes, its steps from a number on, and so much of
// their results.
func (t tx) run(id model.RunID, from int, much extent) (d model.RunData, err error) {
	if d.Run, err = runTable.one(t, whereID, id); err != nil {
		return d, err
	}
	d.Nodes, err = selectAll(t, runNodeFields,
		`SELECT `+nodeColumns+`, startups FROM run_nodes WHERE run = ? ORDER BY position, id`, id)
	if err != nil {
		return d, err
	}
	if d.Steps, err = t.steps(id, from); err != nil {
		return d, err
	}
	d.Results = []model.Result{}
	if len(d.Steps) == 0 {
		return d, nil
	}
	output := "NULL"
	if much >= printed {
		output = "output"
	}
	var step int
	var numbers []int64 // of the rows
	err = t.results(&step, func(number int64, r model.Result) {
		r.Run, r.Step = id, d.Steps[step-d.Steps[0].Number].ID
		d.Results, numbers = append(d.Results, r), append(numbers, number)
	}, `SELECT id, task, attempt, step, node, outcome, started, ended, body, `+output+` FROM results
		WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, attempt, position`,
		id, d.Steps[0].Number, d.Steps[len(d.Steps)-1].Number)
	if err != nil || much < whole {
		return d, err
	}
	index := make(map[int64]*model.Result, len(numbers))
	for i, number := range numbers {
		index[number] = &d.Results[i]
	}
	return d, t.addPoints(id, from, index)
}

// results reads rows of results: the number of the row, the columns up to body
// and, unless it is NULL, the output. step is the place of the column of the step.
func (t tx) results(step any, take func(number int64, r model.Result), query string, args ...any) error {
	var w wire
	var r model.Result
	var number int64
	var body, output sql.RawBytes
	places := []any{&number, &r.Task, &r.Attempt, step, &r.Node, &r.Outcome, &r.Started, &r.Ended, &body, &output}
	return t.each(places, func() error {
		err := readRecord(t.s.codec, &w, body, &r, layoutBody)
		if err == nil && len(output) > 0 {
			err = readRecord(t.s.codec, &w, output, &r, layoutTexts)
		}
		if err != nil {
			return fmt.Errorf("result %s#%d: %w", r.Task, r.Attempt, err)
		}
		take(number, r)
		r = model.Result{}
		return nil
	}, query, args...)
}

// addPoints reads the points of all results of a run from a step on, which are
// found by the numbers of their rows.
func (t tx) addPoints(id model.RunID, from int, results map[int64]*model.Result) error {
	p := pointReader{c: t.s.codec}
	var number int64
	var kind int
	var key string
	var blob sql.RawBytes
	return t.each([]any{&number, &kind, &key, &blob}, func() error {
		r := results[number]
		if err := p.add(r, kind, key, blob); err != nil {
			return fmt.Errorf("metric %q of %s#%d: %w", key, r.Task, r.Attempt, err)
		}
		return nil
	}, `SELECT p.result, p.kind, p.metric, p.packed FROM results r JOIN points p ON p.result = r.id
		WHERE r.run = ? AND r.step BETWEEN ? AND ? ORDER BY r.step, r.attempt, r.position, p.kind, p.metric`,
		id, from, math.MaxInt32)
}

// Series implements store.Columns.
func (s *Store) Series(ctx context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.Series], error] {
	return readColumns(ctx, s, id, sel, kindSeries, (*pointReader).series)
}

// Host implements store.Columns.
func (s *Store) Host(ctx context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.HostSeries], error] {
	return readColumns(ctx, s, id, sel, kindHost, (*pointReader).host)
}

// Histograms implements store.Columns.
func (s *Store) Histograms(ctx context.Context, id model.RunID, sel store.Selection) iter.Seq2[store.Column[model.Histogram], error] {
	return readColumns(ctx, s, id, sel, kindHistograms, (*pointReader).histogram)
}

// errBreak ends a reading that its loop has left.
var errBreak = errors.New("the loop has ended")

func readColumns[T any](ctx context.Context, s *Store, id model.RunID, sel store.Selection, kind int,
	build func(*pointReader, column) (T, error)) iter.Seq2[store.Column[T], error] {
	query := `SELECT r.task, r.attempt, p.metric, p.packed FROM results r JOIN points p ON p.result = r.id
		WHERE r.run = ? AND p.kind = ?`
	var keys []string
	if sel.Metrics != nil {
		keys = []string{timesKey}
		for _, metric := range sel.Metrics {
			keys = append(keys, metricKey(metric))
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		query += ` AND p.metric IN (` + marks(len(keys)) + `)`
	}
	query += ` ORDER BY r.step, r.attempt, r.position, p.metric`
	return func(yield func(store.Column[T], error) bool) {
		err := s.inSnapshot(ctx, func(t tx) error {
			if _, err := runTable.one(t, whereID, id); err != nil {
				return err
			}
			p := pointReader{c: s.codec}
			var at store.Column[T]
			var key string
			var blob sql.RawBytes
			return t.each([]any{&at.Task, &at.Attempt, &key, &blob}, func() error {
				list, err := p.read(key, blob)
				for _, c := range list {
					if err == nil {
						at.Value, err = build(&p, c)
					}
					if err == nil && !yield(at, nil) {
						err = errBreak
					}
				}
				if err != nil {
					return fmt.Errorf("metric %q of %s#%d: %w", key, at.Task, at.Attempt, err)
				}
				return nil
			}, query, append([]any{id, kind}, values(keys)...)...)
		})
		if err != nil && !errors.Is(err, errBreak) {
			yield(store.Column[T]{}, s.fail(ctx, fmt.Sprintf("reading columns of run %s", id), err))
		}
	}
}
