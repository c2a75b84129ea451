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
	return read(ctx, s, fmt.Sprintf("reading run %s", id), func(tx *sql.Tx) (d model.RunData, err error) {
		if d, err = s.readSteps(ctx, tx, id, 0, whole); err != nil {
			return d, err
		}
		if d.Events, err = s.selectEvents(ctx, tx, id); err != nil {
			return d, err
		}
		d.Artifacts, err = s.selectArtifacts(ctx, tx, id)
		return d, err
	})
}

// DataFrom implements store.Store. Steps and results are found by an index, so
// that the time it takes does not depend on how many come before.
func (s *Store) DataFrom(ctx context.Context, id model.RunID, from int) (model.RunData, error) {
	return s.stepsFrom(ctx, id, from, whole)
}

// Heads implements store.Columns.
func (s *Store) Heads(ctx context.Context, id model.RunID, from int) (model.RunData, error) {
	return s.stepsFrom(ctx, id, from, heads)
}

// Printed implements store.Reader.
func (s *Store) Printed(ctx context.Context, id model.RunID) (model.RunData, error) {
	return s.stepsFrom(ctx, id, 0, printed)
}

// Head implements store.Store.
func (s *Store) Head(ctx context.Context, task model.TaskID, attempt int) (model.Result, error) {
	doing := fmt.Sprintf("reading the result %s#%d", task, attempt)
	return read(ctx, s, doing, func(tx *sql.Tx) (r model.Result, err error) {
		var w wire
		err = s.each(ctx, tx, func(rows *sql.Rows) error {
			_, err := s.scanResult(rows, &w, &r, (*text)(&r.Step))
			return err
		}, `SELECT r.id, r.task, r.attempt, s.id, r.node, r.outcome, r.started, r.ended, r.body, NULL
			FROM results r JOIN steps s ON s.run = r.run AND s.number = r.step WHERE r.task = ? AND r.attempt = ?`, text(task), attempt)
		if r.Run = task.Run(); err == nil && r.Task == "" {
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
	return read(ctx, s, fmt.Sprintf("reading the events of run %s", id), func(tx *sql.Tx) ([]model.Event, error) {
		if _, err := s.runByID(ctx, tx, string(id)); err != nil {
			return nil, err
		}
		return s.selectEvents(ctx, tx, id)
	})
}

func (s *Store) stepsFrom(ctx context.Context, id model.RunID, from int, much extent) (model.RunData, error) {
	return read(ctx, s, fmt.Sprintf("reading run %s from step %d on", id, from), func(tx *sql.Tx) (model.RunData, error) {
		return s.readSteps(ctx, tx, id, from, much)
	})
}

// readSteps reads steps with so much of their results, and the run and nodes
// they belong to.
func (s *Store) readSteps(ctx context.Context, tx *sql.Tx, id model.RunID, from int, much extent) (d model.RunData, err error) {
	if d.Run, err = s.runByID(ctx, tx, string(id)); err != nil {
		return d, err
	}
	d.Nodes, err = selectAll(ctx, s, tx, runNodeFields, `SELECT `+nodeColumns+`, startups FROM run_nodes WHERE run = ? ORDER BY position, id`, text(id))
	if err != nil {
		return d, err
	}
	if d.Steps, err = s.selectSteps(ctx, tx, id, from); err != nil {
		return d, err
	}
	var index map[int64]*model.Result
	if d.Results, index, err = s.selectResults(ctx, tx, id, d.Steps, much); err != nil || much < whole {
		return d, err
	}
	return d, s.addPoints(ctx, tx, id, from, index)
}

// selectResults returns the results of these consecutive steps of a run, and
// where each is by the number of its row.
func (s *Store) selectResults(ctx context.Context, tx *sql.Tx, id model.RunID, steps []model.Step, much extent) (
	results []model.Result, index map[int64]*model.Result, err error) {
	results = []model.Result{}
	if len(steps) == 0 {
		return results, nil, nil
	}
	output := "NULL"
	if much >= printed {
		output = "output"
	}
	var numbers []int64
	var w wire
	err = s.each(ctx, tx, func(rows *sql.Rows) error {
		r := model.Result{Run: id}
		var step int
		number, err := s.scanResult(rows, &w, &r, &step)
		if err != nil {
			return err
		}
		r.Step = steps[step-steps[0].Number].ID
		results, numbers = append(results, r), append(numbers, number)
		return nil
	}, `SELECT id, task, attempt, step, node, outcome, started, ended, body, `+output+` FROM results
		WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, attempt, position`,
		text(id), steps[0].Number, steps[len(steps)-1].Number)
	index = make(map[int64]*model.Result, len(results))
	for i, number := range numbers {
		index[number] = &results[i]
	}
	return results, index, err
}

// scanResult reads a row of results: the number of the row, the columns up to
// body and, unless it is NULL, the output. step takes the column of the step.
func (s *Store) scanResult(rows *sql.Rows, w *wire, r *model.Result, step any) (number int64, err error) {
	var body, output sql.RawBytes
	err = rows.Scan(&number, (*text)(&r.Task), &r.Attempt, step, (*text)(&r.Node), (*text)(&r.Outcome),
		(*instant)(&r.Started), (*instant)(&r.Ended), &body, &output)
	if err != nil {
		return 0, err
	}
	err = readRecord(s.codec, w, body, r, layoutBody)
	if err == nil && len(output) > 0 {
		err = readRecord(s.codec, w, output, r, layoutTexts)
	}
	if err != nil {
		return 0, fmt.Errorf("result %s#%d: %w", r.Task, r.Attempt, err)
	}
	return number, nil
}

// addPoints reads the points of all results of a run from a step on.
func (s *Store) addPoints(ctx context.Context, tx *sql.Tx, id model.RunID, from int, index map[int64]*model.Result) error {
	p := pointReader{c: s.codec}
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var kind int
		var key text
		var blob sql.RawBytes
		if err := rows.Scan(&number, &kind, &key, &blob); err != nil {
			return err
		}
		r := index[number]
		if err := p.add(r, kind, string(key), blob); err != nil {
			return fmt.Errorf("metric %q of %s#%d: %w", key, r.Task, r.Attempt, err)
		}
		return nil
	}, `SELECT p.result, p.kind, p.metric, p.packed FROM results r JOIN points p ON p.result = r.id
		WHERE r.run = ? AND r.step BETWEEN ? AND ? ORDER BY r.step, r.attempt, r.position, p.kind, p.metric`,
		text(id), from, math.MaxInt32)
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
	return func(yield func(store.Column[T], error) bool) {
		err := s.inSnapshot(ctx, func(tx *sql.Tx) error {
			if _, err := s.runByID(ctx, tx, string(id)); err != nil {
				return err
			}
			return s.eachColumn(ctx, tx, id, sel, kind, func(at store.Column[struct{}], p *pointReader, c column) error {
				x, err := build(p, c)
				if err == nil && !yield(store.Column[T]{Step: at.Step, Task: at.Task, Attempt: at.Attempt, Node: at.Node, Value: x}, nil) {
					err = errBreak
				}
				return err
			})
		})
		if err != nil && !errors.Is(err, errBreak) {
			yield(store.Column[T]{}, s.fail(ctx, fmt.Sprintf("reading columns of run %s", id), err))
		}
	}
}

// eachColumn calls fn for every column that is selected, in the order of the
// results.
func (s *Store) eachColumn(ctx context.Context, tx *sql.Tx, id model.RunID, sel store.Selection, kind int,
	fn func(store.Column[struct{}], *pointReader, column) error) error {
	p := pointReader{c: s.codec}
	scan := func(rows *sql.Rows) error {
		var at store.Column[struct{}]
		var key text
		var blob sql.RawBytes
		if err := rows.Scan(&at.Step, (*text)(&at.Task), &at.Attempt, (*text)(&at.Node), &key, &blob); err != nil {
			return err
		}
		list, err := p.read(string(key), blob)
		for _, c := range list {
			if err == nil {
				err = fn(at, &p, c)
			}
		}
		if err != nil {
			return fmt.Errorf("metric %q of %s#%d: %w", key, at.Task, at.Attempt, err)
		}
		return nil
	}
	query := `SELECT r.step, r.task, r.attempt, r.node, p.metric, p.packed FROM results r JOIN points p ON p.result = r.id
		WHERE r.run = ? AND r.step BETWEEN ? AND ? AND p.kind = ?`
	var keys []any
	if sel.Metrics != nil {
		names := []string{timesKey}
		for _, metric := range sel.Metrics {
			names = append(names, metricKey(metric))
		}
		keys = texts(slices.Compact(slices.Sorted(slices.Values(names))))
		query += ` AND p.metric IN (` + marks(len(keys)) + `)`
	}
	query += ` ORDER BY r.step, r.attempt, r.position, p.metric`
	read := func(from, to int) error {
		return s.each(ctx, tx, scan, query, append([]any{text(id), from, to, kind}, keys...)...)
	}
	if sel.Steps == nil {
		return read(0, math.MaxInt32)
	}
	for _, number := range sel.Steps {
		if err := read(number, number); err != nil {
			return err
		}
	}
	return nil
}
