package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	stepColumns = `id, run, number, phase, workload, trial, barrier, state, attempt, start_at, reason`
	taskColumns = `id, step, position, node, spec`
)

func stepFields(st *model.Step) []any {
	return []any{(*text)(&st.ID), (*text)(&st.Run), &st.Number, (*text)(&st.Phase), (*text)(&st.Workload), &st.Trial, &st.Barrier,
		(*text)(&st.State), &st.Attempt, (*instant)(&st.StartAt), (*text)(&st.Reason)}
}

// stepTask is a task with its step.
type stepTask struct {
	model.Task
	step model.StepID
}

func taskFields(t *stepTask) []any {
	return []any{(*text)(&t.ID), (*text)(&t.step), &t.Position, (*text)(&t.Node), document{&t.Spec}}
}

// insertSteps fails for a step that is there already, unless conflict says what
// to do with it.
func (s *Store) insertSteps(ctx context.Context, tx *sql.Tx, steps []model.Step, conflict string) error {
	var stepRows, taskRows [][]any
	for i := range steps {
		stepRows = append(stepRows, stepFields(&steps[i]))
		for _, t := range steps[i].Tasks {
			taskRows = append(taskRows, taskFields(&stepTask{t, steps[i].ID}))
		}
	}
	if err := s.insert(ctx, tx, "steps ("+stepColumns+")", stepRows, conflict); err != nil {
		return err
	}
	return s.insert(ctx, tx, "tasks ("+taskColumns+")", taskRows, conflict)
}

// selectSteps returns the steps of a run from a number on, with their tasks.
func (s *Store) selectSteps(ctx context.Context, tx *sql.Tx, run model.RunID, from int) ([]model.Step, error) {
	steps, err := selectAll(ctx, s, tx, stepFields,
		`SELECT `+stepColumns+` FROM steps WHERE run = ? AND number >= ? ORDER BY number`, text(run), from)
	if err != nil {
		return nil, err
	}
	index := make(map[model.StepID]*model.Step, len(steps))
	for i := range steps {
		steps[i].Tasks = []model.Task{}
		index[steps[i].ID] = &steps[i]
	}
	tasks, err := selectAll(ctx, s, tx, taskFields, `SELECT t.id, t.step, t.position, t.node, t.spec
		FROM steps s JOIN tasks t ON t.step = s.id WHERE s.run = ? AND s.number >= ? ORDER BY s.number, t.position`, text(run), from)
	for _, t := range tasks {
		plainNumbers(t.Spec.Params)
		index[t.step].Tasks = append(index[t.step].Tasks, t.Task)
	}
	return steps, err
}

// AddSteps implements store.Writer.
func (s *Store) AddSteps(ctx context.Context, run model.RunID, steps []model.Step) error {
	doing := fmt.Sprintf("adding steps to run %s", run)
	for _, st := range steps {
		if st.Run != run {
			return s.fail(ctx, doing, fmt.Errorf("%w: step %q belongs to run %q", model.ErrUsage, st.ID, st.Run))
		}
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.runByID(ctx, tx, string(run)); err != nil {
			return err
		}
		return s.insertSteps(ctx, tx, steps, "ON CONFLICT (id) DO NOTHING")
	})
	return s.fail(ctx, doing, err)
}

// BeginAttempt implements store.Writer. The agreed start and the reason of the
// attempt before are cleared. After model.ErrUnavailable the attempt may have
// been raised: asking again then skips a number, which harms nothing.
func (s *Store) BeginAttempt(ctx context.Context, step model.StepID) (attempt int, err error) {
	const raise = `UPDATE steps SET attempt = attempt + 1, state = ?, start_at = NULL, reason = '' WHERE id = ? RETURNING attempt`
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		found := false
		err := s.each(ctx, tx, func(rows *sql.Rows) error {
			found = true
			return rows.Scan(&attempt)
		}, raise, text(model.StepRunning), text(step))
		if err == nil && !found {
			err = fmt.Errorf("%w: there is no such step", model.ErrNotFound)
		}
		return err
	})
	return attempt, s.fail(ctx, fmt.Sprintf("beginning an attempt at step %s", step), err)
}

// SetStepStart implements store.Writer.
func (s *Store) SetStepStart(ctx context.Context, step model.StepID, at time.Time) error {
	err := s.updateOne(ctx, `UPDATE steps SET start_at = ? WHERE id = ?`, instant(at), text(step))
	return s.fail(ctx, fmt.Sprintf("recording the start of step %s", step), err)
}

// SetStepState implements store.Writer.
func (s *Store) SetStepState(ctx context.Context, step model.StepID, state model.StepState, reason string) error {
	err := s.updateOne(ctx, `UPDATE steps SET state = ?, reason = ? WHERE id = ?`, text(state), text(reason), text(step))
	return s.fail(ctx, fmt.Sprintf("moving step %s to %s", step, state), err)
}
