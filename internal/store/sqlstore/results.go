package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

type attemptKey struct {
	task    model.TaskID
	attempt int
}

// putResult is one PutResult on its way, packed and ready to insert.
type putResult struct {
	key    attemptKey
	run    model.RunID
	step   model.StepID
	node   model.NodeID
	row    []any   // the columns from node on
	points [][]any // without their first column, the number of the result's row

	at     taskState // set by the batch
	stored bool      // set by the batch; read after it
}

// PutResult implements store.Writer. A result that is stored already is
// reported as a duplicate even when its attempt is over. A result that names
// another run, step or node than its task's is model.ErrNotFound; values that
// are not finite and series of unequal lengths are model.ErrInvalid.
func (s *Store) PutResult(ctx context.Context, r model.Result) (stored bool, err error) {
	doing := fmt.Sprintf("storing result %s#%d", r.Task, r.Attempt)
	p, err := s.encodeResult(&r)
	if err != nil {
		return false, s.fail(ctx, doing, err)
	}
	if err := s.results.do(ctx, p); err != nil {
		return false, s.fail(ctx, doing, err)
	}
	return p.stored, nil
}

func (s *Store) encodeResult(r *model.Result) (*putResult, error) {
	if err := checkResult(r); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	body, bodyErr := packRecord(s.codec, r, layoutBody)
	var output []byte // NULL where nothing was printed
	var outputErr error
	if r.Stdout.Text != "" || r.Stderr.Text != "" {
		output, outputErr = packRecord(s.codec, r, layoutTexts)
	}
	points, pointsErr := s.codec.pointRows(r)
	if err := errors.Join(bodyErr, outputErr, pointsErr); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	return &putResult{
		key: attemptKey{r.Task, r.Attempt}, run: r.Run, step: r.Step, node: r.Node, points: points,
		row: []any{text(r.Node), text(r.Outcome), instant(r.Started), instant(r.Ended), body, output},
	}, nil
}

// checkResult refuses what cannot be kept as it is: JSON, and so every export,
// has no NaN and no infinity, and a pair of columns has one length. It refuses
// here, for one result, what the driver would refuse later for its whole batch.
func checkResult(r *model.Result) error {
	for _, x := range r.Samples {
		if !finite(x.Value) {
			return fmt.Errorf("sample %q is %v; only finite numbers can be stored", x.Metric, x.Value)
		}
	}
	for _, x := range r.Series {
		if err := checkSeries("series", x.Metric, x.Offsets, x.Values); err != nil {
			return err
		}
	}
	for _, x := range r.Host {
		if err := checkSeries("host series", x.Metric, x.Offsets, x.Values); err != nil {
			return err
		}
	}
	_, startErr := instant(r.Started).Value()
	_, endErr := instant(r.Ended).Value()
	return errors.Join(startErr, endErr)
}

func checkSeries(kind, metric string, offsets []int64, values []float64) error {
	if len(offsets) != len(values) {
		return fmt.Errorf("%s %q has %d offsets and %d values", kind, metric, len(offsets), len(values))
	}
	for i, v := range values {
		if !finite(v) {
			return fmt.Errorf("%s %q is %v at point %d; only finite numbers can be stored", kind, metric, v, i)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (s *Store) putResults(ctx context.Context, tx *sql.Tx, batch []*putResult) ([]error, error) {
	var tasks []string
	for _, p := range batch {
		tasks = append(tasks, string(p.key.task))
	}
	current, have, err := s.lockAttempts(ctx, tx, tasks)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(batch))
	var fresh []*putResult
	for i, p := range batch {
		p.stored = false // the transaction may be a repetition
		isNew, err := p.judge(current, have[p.key])
		errs[i] = err
		if isNew {
			have[p.key] = true // a twin later in the batch is a duplicate
			fresh = append(fresh, p)
		}
	}
	return errs, s.insertResults(ctx, tx, fresh)
}

// taskState is what a result is judged against.
type taskState struct {
	run      model.RunID
	step     model.StepID
	number   int // of the step
	position int // of the task in the step
	node     model.NodeID
	attempt  int // of the step
}

// lockAttempts reads the state of tasks, which stays as it is until the
// transaction ends, and which attempts at them have results.
func (s *Store) lockAttempts(ctx context.Context, tx *sql.Tx, tasks []string) (map[model.TaskID]taskState, map[attemptKey]bool, error) {
	// In order, so that all batches take their locks in the same order.
	slices.Sort(tasks)
	tasks = slices.Compact(tasks)
	current, err := s.lockTasks(ctx, tx, tasks)
	if err != nil {
		return nil, nil, err
	}
	have, err := s.storedAttempts(ctx, tx, tasks)
	return current, have, err
}

// lockTasks reads the state of tasks; it stays as it is until the transaction
// ends.
func (s *Store) lockTasks(ctx context.Context, tx *sql.Tx, tasks []string) (map[model.TaskID]taskState, error) {
	states := make(map[model.TaskID]taskState, len(tasks))
	err := s.eachIn(ctx, tx, func(rows *sql.Rows) error {
		var id model.TaskID
		var st taskState
		err := rows.Scan((*text)(&id), (*text)(&st.run), (*text)(&st.step), &st.number, &st.position, (*text)(&st.node), &st.attempt)
		states[id] = st
		return err
	}, `SELECT t.id, s.run, s.id, s.number, t.position, t.node, s.attempt FROM tasks t JOIN steps s ON s.id = t.step
		WHERE t.id IN (%s) ORDER BY s.id, t.id`+s.d.ForShare, tasks)
	return states, err
}

func (s *Store) storedAttempts(ctx context.Context, tx *sql.Tx, tasks []string) (map[attemptKey]bool, error) {
	have := make(map[attemptKey]bool)
	err := s.eachIn(ctx, tx, func(rows *sql.Rows) error {
		var k attemptKey
		err := rows.Scan((*text)(&k.task), &k.attempt)
		have[k] = true
		return err
	}, `SELECT task, attempt FROM results WHERE task IN (%s)`, tasks)
	return have, err
}

var errNoTask = fmt.Errorf("%w: the task does not exist, or its run was deleted", model.ErrNotFound)

// judge reports whether the result is new and must be stored; a duplicate is
// neither new nor an error.
func (p *putResult) judge(current map[model.TaskID]taskState, have bool) (isNew bool, err error) {
	st, ok := current[p.key.task]
	switch {
	case !ok:
		return false, errNoTask
	case p.run != st.run, p.step != st.step, p.node != st.node:
		return false, fmt.Errorf("%w: the task belongs to run %q, step %q, node %q; the result says run %q, step %q, node %q",
			model.ErrNotFound, st.run, st.step, st.node, p.run, p.step, p.node)
	case have:
		return false, nil
	case p.key.attempt != st.attempt:
		return false, fmt.Errorf("%w: step %s is at attempt %d", model.ErrStale, st.step, st.attempt)
	}
	p.at = st
	return true, nil
}

// insertResults inserts results with their points. One that another process
// stored since the batch looked stays unstored.
func (s *Store) insertResults(ctx context.Context, tx *sql.Tx, fresh []*putResult) error {
	rows := make([][]any, len(fresh))
	for i, p := range fresh {
		rows[i] = append([]any{text(p.key.task), p.key.attempt, text(p.run), p.at.number, p.at.position}, p.row...)
	}
	numbers := make(map[attemptKey]int64, len(fresh))
	err := split(len(rows), func(from, to int) error {
		query, args := insertQuery("results (task, attempt, run, step, position, node, outcome, started, ended, body, output)",
			rows[from:to], "ON CONFLICT DO NOTHING RETURNING id, task, attempt")
		return s.each(ctx, tx, func(rows *sql.Rows) error {
			var number int64
			var k attemptKey
			err := rows.Scan(&number, (*text)(&k.task), &k.attempt)
			numbers[k] = number
			return err
		}, query, args...)
	})
	if err != nil {
		return err
	}
	var points [][]any
	for _, p := range fresh {
		number, ok := numbers[p.key]
		if !ok {
			continue
		}
		p.stored = true
		for _, row := range p.points {
			points = append(points, append([]any{number}, row...))
		}
	}
	return s.insert(ctx, tx, "points (result, kind, metric, packed)", points, "")
}
