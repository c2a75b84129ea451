package sqlstore

import (
	"cmp"
	"context"
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
		row: []any{r.Node, r.Outcome, r.Started, r.Ended, body, output},
	}, nil
}

// checkResult refuses what cannot be kept as it is: JSON, and so every export,
// has no NaN and no infinity, and a pair of columns has one length. It refuses
// here, for one result, what the driver would refuse later for its whole batch.
func checkResult(r *model.Result) error {
	_, startErr := instant(r.Started).Value()
	_, endErr := instant(r.Ended).Value()
	err := errors.Join(startErr, endErr)
	for _, x := range r.Samples {
		if !finite(x.Value) {
			err = fmt.Errorf("sample %q is %v; only finite numbers can be stored", x.Metric, x.Value)
		}
	}
	for _, x := range r.Series {
		err = cmp.Or(err, checkSeries("series", x.Metric, x.Offsets, x.Values))
	}
	for _, x := range r.Host {
		err = cmp.Or(err, checkSeries("host series", x.Metric, x.Offsets, x.Values))
	}
	return err
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

func putResults(t tx, batch []*putResult) ([]error, error) {
	var tasks []string
	for _, p := range batch {
		tasks = append(tasks, string(p.key.task))
	}
	current, have, err := t.lockAttempts(tasks)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(batch))
	var fresh []*putResult
	for i, p := range batch {
		p.stored = false // the transaction may be a repetition
		st, ok := current[p.key.task]
		switch {
		case !ok:
			errs[i] = errNoTask
		case p.run != st.run, p.step != st.step, p.node != st.node:
			errs[i] = fmt.Errorf("%w: the task belongs to run %q, step %q, node %q; the result says run %q, step %q, node %q",
				model.ErrNotFound, st.run, st.step, st.node, p.run, p.step, p.node)
		case have[p.key]: // a duplicate is neither new nor an error
		case p.key.attempt != st.attempt:
			errs[i] = stale(st.step, st.attempt)
		default:
			have[p.key] = true // a twin later in the batch is a duplicate
			p.at = st
			fresh = append(fresh, p)
		}
	}
	return errs, t.insertResults(fresh)
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
func (t tx) lockAttempts(tasks []string) (current map[model.TaskID]taskState, have map[attemptKey]bool, err error) {
	// In order, so that all batches take their locks in the same order.
	slices.Sort(tasks)
	tasks = slices.Compact(tasks)
	current, have = make(map[model.TaskID]taskState, len(tasks)), make(map[attemptKey]bool)
	var id model.TaskID
	var st taskState
	err = t.eachIn([]any{&id, &st.run, &st.step, &st.number, &st.position, &st.node, &st.attempt},
		func() { current[id] = st },
		`SELECT t.id, s.run, s.id, s.number, t.position, t.node, s.attempt FROM tasks t JOIN steps s ON s.id = t.step
		WHERE t.id IN (%s) ORDER BY s.id, t.id`+t.s.d.ForShare, tasks)
	if err == nil {
		var k attemptKey
		err = t.eachIn([]any{&k.task, &k.attempt}, func() { have[k] = true },
			`SELECT task, attempt FROM results WHERE task IN (%s)`, tasks)
	}
	return current, have, err
}

var errNoTask = fmt.Errorf("%w: the task does not exist, or its run was deleted", model.ErrNotFound)

// stale says that an attempt is not the current one of its step.
func stale(step model.StepID, current int) error {
	return fmt.Errorf("%w: step %s is at attempt %d", model.ErrStale, step, current)
}

// insertResults inserts results with their points. One that another process
// stored since the batch looked stays unstored.
func (t tx) insertResults(fresh []*putResult) error {
	rows := make([][]any, len(fresh))
	for i, p := range fresh {
		rows[i] = append([]any{p.key.task, p.key.attempt, p.run, p.at.number, p.at.position}, p.row...)
	}
	numbers := make(map[attemptKey]int64, len(fresh))
	err := split(len(rows), func(from, to int) error {
		query, args := insertQuery("results (task, attempt, run, step, position, node, outcome, started, ended, body, output)",
			rows[from:to], "ON CONFLICT DO NOTHING RETURNING id, task, attempt")
		var number int64
		var k attemptKey
		return t.each([]any{&number, &k.task, &k.attempt}, func() error {
			numbers[k] = number
			return nil
		}, query, args...)
	})
	var points [][]any
	for _, p := range fresh {
		number, ok := numbers[p.key]
		p.stored = ok
		for _, row := range p.points {
			if ok {
				points = append(points, append([]any{number}, row...))
			}
		}
	}
	if err == nil {
		_, err = t.insert("points (result, kind, metric, packed)", points, "")
	}
	return err
}
