package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const runColumns = `id, name, kind, state, reason, source_name, source, seed, version, server, created, started, finished`

// newestFirst orders runs; ids decide between runs made in the same instant.
const newestFirst = ` ORDER BY COALESCE(created, 0) DESC, id DESC`

func runFields(r *model.Run) []any {
	return []any{(*text)(&r.ID), (*text)(&r.Name), (*text)(&r.Kind), (*text)(&r.State), (*text)(&r.Reason),
		(*text)(&r.SourceName), (*text)(&r.Source), &r.Seed, (*text)(&r.Version), (*text)(&r.Server),
		(*instant)(&r.Created), (*instant)(&r.Started), (*instant)(&r.Finished)}
}

// CreateRun implements store.Writer. Creating the same run a second time
// changes nothing and succeeds: a caller that got model.ErrUnavailable cannot
// know whether the run was stored, and must be able to ask again.
func (s *Store) CreateRun(ctx context.Context, run model.Run, nodes []model.Node, steps []model.Step) error {
	doing := fmt.Sprintf("creating run %s", run.ID)
	if err := checkRun(run, nodes, steps); err != nil {
		return s.fail(ctx, doing, err)
	}
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		created, err := s.insertRun(ctx, tx, run)
		if err != nil || !created {
			return err
		}
		if err := s.putRunNodes(ctx, tx, run.ID, nodes); err != nil {
			return err
		}
		return s.insertSteps(ctx, tx, steps, "")
	})
	return s.fail(ctx, doing, err)
}

func checkRun(run model.Run, nodes []model.Node, steps []model.Step) error {
	if run.ID == "" {
		return fmt.Errorf("%w: the run has no id", model.ErrUsage)
	}
	seen := make(map[model.NodeID]bool, len(nodes))
	for _, n := range nodes {
		if seen[n.ID] {
			return fmt.Errorf("%w: node %q is there twice", model.ErrUsage, n.ID)
		}
		seen[n.ID] = true
	}
	for _, st := range steps {
		if st.Run != run.ID {
			return fmt.Errorf("%w: step %q belongs to run %q", model.ErrUsage, st.ID, st.Run)
		}
	}
	return nil
}

// insertRun reports false when the very same run exists.
func (s *Store) insertRun(ctx context.Context, tx *sql.Tx, run model.Run) (created bool, err error) {
	query, args := insertQuery("runs ("+runColumns+")", [][]any{runFields(&run)}, "ON CONFLICT (id) DO NOTHING")
	n, err := s.exec(ctx, tx, query, args...)
	if err != nil || n == 1 {
		return n == 1, err
	}
	old, err := s.runByID(ctx, tx, string(run.ID))
	if err != nil {
		return false, err
	}
	if !sameRun(old, run) {
		return false, fmt.Errorf("%w: another run has this id already", model.ErrUsage)
	}
	return false, nil
}

// sameRun compares what never changes in a run's life.
func sameRun(a, b model.Run) bool {
	sameTime := a.Created.Equal(b.Created)
	for _, r := range []*model.Run{&a, &b} {
		r.State, r.Reason = "", ""
		r.Created, r.Started, r.Finished = time.Time{}, time.Time{}, time.Time{}
	}
	return sameTime && a == b
}

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, limit int) (runs []model.Run, err error) {
	query, args := `SELECT `+runColumns+` FROM runs`+newestFirst, []any(nil)
	if limit > 0 {
		query, args = query+` LIMIT ?`, []any{limit}
	}
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		runs, err = selectAll(ctx, s, tx, runFields, query, args...)
		return err
	})
	return runs, s.fail(ctx, "listing runs", err)
}

// Run implements store.Reader. Letters of a prefix may be in either case. A
// prefix of several runs is model.ErrUsage, and the error lists them.
func (s *Store) Run(ctx context.Context, id string) (run model.Run, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		run, err = s.findRun(ctx, tx, id)
		return err
	})
	return run, s.fail(ctx, fmt.Sprintf("looking up run %q", id), err)
}

// minPrefix is how many characters of an id a person must type.
const minPrefix = 4

func (s *Store) findRun(ctx context.Context, tx *sql.Tx, id string) (model.Run, error) {
	if id == "latest" {
		run, err := s.oneRun(ctx, tx, newestFirst+` LIMIT 1`)
		if errors.Is(err, errNoRun) {
			err = fmt.Errorf("%w: there are no runs yet", model.ErrNotFound)
		}
		return run, err
	}
	run, err := s.runByID(ctx, tx, id)
	if !errors.Is(err, errNoRun) {
		return run, err
	}
	if len(id) < minPrefix {
		return model.Run{}, fmt.Errorf("%w: give at least %d characters of the id, or `latest`; `scalebench runs` lists the runs",
			model.ErrUsage, minPrefix)
	}
	// substr rather than LIKE: nothing in the prefix has a special meaning.
	prefix := strings.ToUpper(id)
	return s.oneRun(ctx, tx, ` WHERE substr(id, 1, ?) = ?`+newestFirst, len([]rune(prefix)), text(prefix))
}

var errNoRun = fmt.Errorf("%w: there is no such run; `scalebench runs` lists them", model.ErrNotFound)

func (s *Store) runByID(ctx context.Context, tx *sql.Tx, id string) (model.Run, error) {
	return s.oneRun(ctx, tx, ` WHERE id = ?`, text(id))
}

// oneRun returns the run that a condition is true of; several are
// model.ErrUsage.
func (s *Store) oneRun(ctx context.Context, tx *sql.Tx, where string, args ...any) (model.Run, error) {
	runs, err := selectAll(ctx, s, tx, runFields, `SELECT `+runColumns+` FROM runs`+where, args...)
	switch {
	case err != nil:
		return model.Run{}, err
	case len(runs) == 0:
		return model.Run{}, errNoRun
	case len(runs) > 1:
		return model.Run{}, ambiguous(runs)
	}
	return runs[0], nil
}

// maxCandidates bounds the list in an error message.
const maxCandidates = 10

func ambiguous(runs []model.Run) error {
	var b strings.Builder
	for i, r := range runs {
		if i == maxCandidates {
			fmt.Fprintf(&b, "\n  and %d more", len(runs)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s  %s", r.ID, r.Created.Format(time.DateTime), r.Name)
	}
	return fmt.Errorf("%w: %d runs begin like this, give more characters:%s", model.ErrUsage, len(runs), b.String())
}

// SetRunState implements store.Writer. A run that goes on after a final state
// (it was resumed) is no longer finished: Finished becomes zero.
func (s *Store) SetRunState(ctx context.Context, id model.RunID, state model.RunState, reason string, at time.Time) error {
	var started, finished time.Time
	if state == model.RunRunning {
		started = at
	}
	if state.Final() {
		finished = at
	}
	err := s.updateOne(ctx, `UPDATE runs SET state = ?, reason = ?, started = COALESCE(started, ?), finished = ? WHERE id = ?`,
		text(state), text(reason), instant(started), instant(finished), text(id))
	return s.fail(ctx, fmt.Sprintf("moving run %s to %s", id, state), err)
}

// DeleteRun implements store.Writer; the schema cascades.
func (s *Store) DeleteRun(ctx context.Context, id model.RunID) error {
	err := s.updateOne(ctx, `DELETE FROM runs WHERE id = ?`, text(id))
	return s.fail(ctx, fmt.Sprintf("deleting run %s", id), err)
}
