package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sort"

	"github.com/scalebench/scalebench/internal/model"
)

// attemptKey names one attempt at a task.
type attemptKey struct {
	task    model.TaskID
	attempt int
}

// putResult is one PutResult on its way, encoded and ready to insert. Its rows
// lack their first column, the number of the result's row.
type putResult struct {
	key        attemptKey
	run        model.RunID
	step       model.StepID
	node       model.NodeID
	row        []any
	outputs    [][]any
	samples    [][]any
	series     [][]any
	host       [][]any
	histograms [][]any

	stored bool // set by the batch; read after it
}

// PutResult implements store.Writer. A result that is stored already is
// reported as a duplicate even when its attempt is over. A result that names
// another run, step or node than its task's is model.ErrNotFound; values that
// are not finite and series of unequal lengths are model.ErrInvalid.
func (s *Store) PutResult(ctx context.Context, r model.Result) (stored bool, err error) {
	doing := fmt.Sprintf("storing result %s#%d", r.Task, r.Attempt)
	p, err := s.encodeResult(r)
	if err != nil {
		return false, s.fail(ctx, doing, err)
	}
	if err := s.results.do(ctx, p); err != nil {
		return false, s.fail(ctx, doing, err)
	}
	return p.stored, nil
}

func (s *Store) commitResults(ctx context.Context, batch []*putResult) []error {
	return commitBatch(ctx, s, "writing", batch, func(tx *sql.Tx, batch []*putResult) ([]error, error) {
		return s.putResults(ctx, tx, batch)
	})
}

func (s *Store) putResults(ctx context.Context, tx *sql.Tx, batch []*putResult) ([]error, error) {
	tasks := batchTasks(batch)
	current, err := s.lockTasks(ctx, tx, tasks)
	if err != nil {
		return nil, err
	}
	have, err := s.storedAttempts(ctx, tx, tasks)
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

// batchTasks returns the tasks of a batch, each once and in order: all batches
// take their locks in the same order.
func batchTasks(batch []*putResult) []string {
	seen := make(map[model.TaskID]bool, len(batch))
	var tasks []string
	for _, p := range batch {
		if !seen[p.key.task] {
			seen[p.key.task] = true
			tasks = append(tasks, string(p.key.task))
		}
	}
	sort.Strings(tasks)
	return tasks
}

// taskState is what a result is judged against.
type taskState struct {
	run     model.RunID
	step    model.StepID
	node    model.NodeID
	attempt int // of the step
}

// lockTasks reads the state of tasks; it stays as it is until the transaction
// ends.
func (s *Store) lockTasks(ctx context.Context, tx *sql.Tx, tasks []string) (map[model.TaskID]taskState, error) {
	states := make(map[model.TaskID]taskState, len(tasks))
	err := s.eachIn(ctx, tx, func(rows *sql.Rows) error {
		var id model.TaskID
		var st taskState
		err := rows.Scan((*text)(&id), (*text)(&st.node), (*text)(&st.step), (*text)(&st.run), &st.attempt)
		states[id] = st
		return err
	}, `SELECT t.id, t.node, s.id, s.run, s.attempt FROM tasks t JOIN steps s ON s.id = t.step
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

// judge reports whether the result is new and must be stored; a duplicate is
// neither new nor an error.
func (p *putResult) judge(current map[model.TaskID]taskState, have bool) (isNew bool, err error) {
	st, ok := current[p.key.task]
	switch {
	case !ok:
		return false, fmt.Errorf("%w: there is no such task, or its run was deleted", model.ErrNotFound)
	case p.run != st.run, p.step != st.step, p.node != st.node:
		return false, fmt.Errorf("%w: the task belongs to run %q, step %q, node %q; the result says run %q, step %q, node %q",
			model.ErrNotFound, st.run, st.step, st.node, p.run, p.step, p.node)
	case have:
		return false, nil
	case p.key.attempt != st.attempt:
		return false, fmt.Errorf("%w: step %s is at attempt %d", model.ErrStale, st.step, st.attempt)
	}
	return true, nil
}

const resultColumns = `task, attempt, outcome, error, started, ended, clock_offset, clock_error, exit_code`

// insertResults inserts results and what hangs on them. One that another
// process stored since the batch looked stays unstored.
func (s *Store) insertResults(ctx context.Context, tx *sql.Tx, fresh []*putResult) error {
	numbers, err := s.insertResultRows(ctx, tx, fresh)
	if err != nil {
		return err
	}
	rows := make(map[string][][]any)
	for _, p := range fresh {
		number, ok := numbers[p.key]
		if !ok {
			continue
		}
		p.stored = true
		for _, part := range p.parts() {
			rows[part.into] = appendRows(rows[part.into], number, part.rows)
		}
	}
	for _, part := range new(putResult).parts() {
		if err := s.insert(ctx, tx, part.into, rows[part.into], ""); err != nil {
			return err
		}
	}
	return nil
}

// part is what of a result goes into one table.
type part struct {
	into string // table with its columns
	rows [][]any
}

// parts lists the tables beside results, always in the same order.
func (p *putResult) parts() []part {
	return []part{
		{"outputs (" + outputColumns + ")", p.outputs},
		{"samples (" + sampleColumns + ")", p.samples},
		{"series (" + seriesColumns + ")", p.series},
		{"host_series (" + hostColumns + ")", p.host},
		{"histograms (" + histogramColumns + ")", p.histograms},
	}
}

func (s *Store) insertResultRows(ctx context.Context, tx *sql.Tx, fresh []*putResult) (map[attemptKey]int64, error) {
	rows := make([][]any, len(fresh))
	for i, p := range fresh {
		rows[i] = p.row
	}
	numbers := make(map[attemptKey]int64, len(fresh))
	err := s.insertReturning(ctx, tx, "results ("+resultColumns+")", rows,
		`ON CONFLICT (task, attempt) DO NOTHING RETURNING id, task, attempt`,
		func(rows *sql.Rows) error {
			var number int64
			var k attemptKey
			err := rows.Scan(&number, (*text)(&k.task), &k.attempt)
			numbers[k] = number
			return err
		})
	return numbers, err
}

// appendRows puts the number of the result before every row.
func appendRows(all [][]any, number int64, rows [][]any) [][]any {
	for _, r := range rows {
		all = append(all, append([]any{number}, r...))
	}
	return all
}
