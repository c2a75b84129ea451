package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const stepColumns = `id, run, number, phase, workload, trial, barrier, state, attempt, start_at, reason`

func stepRow(st model.Step) []any {
	return []any{text(st.ID), text(st.Run), st.Number, text(st.Phase), text(st.Workload), st.Trial, st.Barrier,
		text(st.State), st.Attempt, instant(st.StartAt), text(st.Reason)}
}

func scanStep(rows *sql.Rows) (st model.Step, err error) {
	err = rows.Scan((*text)(&st.ID), (*text)(&st.Run), &st.Number, (*text)(&st.Phase), (*text)(&st.Workload), &st.Trial, &st.Barrier,
		(*text)(&st.State), &st.Attempt, (*instant)(&st.StartAt), (*text)(&st.Reason))
	return st, err
}

// insertSteps fails for a step that is there already, unless conflict says what
// to do with it.
func (s *Store) insertSteps(ctx context.Context, tx *sql.Tx, steps []model.Step, conflict string) error {
	var stepRows, taskRows [][]any
	for _, st := range steps {
		stepRows = append(stepRows, stepRow(st))
		for _, t := range st.Tasks {
			taskRows = append(taskRows, []any{text(t.ID), text(st.ID), t.Position, text(t.Node), document{&t.Spec}})
		}
	}
	if err := s.insert(ctx, tx, "steps ("+stepColumns+")", stepRows, conflict); err != nil {
		return err
	}
	return s.insert(ctx, tx, "tasks (id, step, position, node, spec)", taskRows, conflict)
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
		return s.insertSteps(ctx, tx, steps, keepOld)
	})
	return s.fail(ctx, doing, err)
}

// keepOld makes an insertion leave alone what is there.
const keepOld = "ON CONFLICT (id) DO NOTHING"

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
