package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

const runColumns = `id, name, kind, state, reason, source_name, source, asked, seed, version, server, ` +
	`created, started, finished, campaign, repetition`

// newestFirst orders runs; ids decide between runs made in the same instant.
const (
	newest      = `COALESCE(created, 0) DESC, id DESC`
	newestFirst = ` ORDER BY ` + newest
)

func runFields(r *model.Run) []any {
	return []any{(*text)(&r.ID), (*text)(&r.Name), (*text)(&r.Kind), (*text)(&r.State), (*text)(&r.Reason),
		(*text)(&r.SourceName), (*text)(&r.Source), document{&r.Asked}, &r.Seed, (*text)(&r.Version), (*text)(&r.Server),
		(*instant)(&r.Created), (*instant)(&r.Started), (*instant)(&r.Finished), (*text)(&r.Campaign), &r.Repetition}
}

// CreateRun implements store.Writer. Creating the same run a second time
// changes nothing and succeeds: a caller that got model.ErrUnavailable cannot
// know whether the run was stored, and must be able to ask again.
func (s *Store) CreateRun(ctx context.Context, run model.Run, nodes []model.Node, steps []model.Step) error {
	doing := fmt.Sprintf("creating run %s", run.ID)
	if err := checkRun(run, nodes, steps); err != nil {
		return s.fail(ctx, doing, err)
	}
	return s.change(ctx, doing, func(tx *sql.Tx) error { return s.createRun(ctx, tx, run, nodes, steps) })
}

func (s *Store) createRun(ctx context.Context, tx *sql.Tx, run model.Run, nodes []model.Node, steps []model.Step) error {
	created, err := s.insertRun(ctx, tx, run)
	if err != nil || !created {
		return err
	}
	if err := s.putRunNodes(ctx, tx, run.ID, nodes); err != nil {
		return err
	}
	return s.insertSteps(ctx, tx, steps, "")
}

func checkRun(run model.Run, nodes []model.Node, steps []model.Step) error {
	if run.ID == "" {
		return fmt.Errorf("%w: the run has no id", model.ErrUsage)
	}
	seen := make(map[model.NodeID]bool, len(nodes))
	for _, n := range nodes {
		if seen[n.ID] {
			return fmt.Errorf("%w: node %q appears twice", model.ErrUsage, n.ID)
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
		err = fmt.Errorf("%w: another run already has this id", model.ErrUsage)
	}
	return false, err
}

// sameRun compares what never changes in a run's life.
func sameRun(a, b model.Run) bool {
	sameTime := a.Created.Equal(b.Created)
	for _, r := range []*model.Run{&a, &b} {
		r.State, r.Reason = "", ""
		r.Created, r.Started, r.Finished = time.Time{}, time.Time{}, time.Time{}
	}
	return sameTime && reflect.DeepEqual(a, b)
}

// Run implements store.Reader. Letters of a prefix may be in either case. A
// prefix of several runs is model.ErrUsage, and the error lists them.
func (s *Store) Run(ctx context.Context, id string) (model.Run, error) {
	return read(ctx, s, fmt.Sprintf("looking up run %q", id), func(tx *sql.Tx) (model.Run, error) {
		return s.findRun(ctx, tx, id)
	})
}

// minPrefix is how many characters of an id a person must type.
const minPrefix = 4

func (s *Store) findRun(ctx context.Context, tx *sql.Tx, id string) (model.Run, error) {
	if f, none := store.Word(id); none != nil {
		where, args := conditions(f)
		run, err := s.oneRun(ctx, tx, where+newestFirst+` LIMIT 1`, args...)
		if errors.Is(err, errNoRun) {
			err = none
		}
		return run, err
	}
	run, err := s.runByID(ctx, tx, id)
	if errors.Is(err, errNoRun) {
		run, err = s.runByName(ctx, tx, id)
	}
	if !errors.Is(err, errNoRun) {
		return run, err
	}
	if len(id) < minPrefix {
		return model.Run{}, fmt.Errorf("%w: no run has this name; give the name, at least %d characters of the id, or `latest`; `scalebench runs` lists the runs",
			model.ErrUsage, minPrefix)
	}
	// substr rather than LIKE: nothing in the prefix has a special meaning.
	prefix := strings.ToUpper(id)
	return s.oneRun(ctx, tx, ` WHERE substr(id, 1, ?) = ?`+newestFirst, len([]rune(prefix)), text(prefix))
}

var errNoRun = fmt.Errorf("%w: unknown run; `scalebench runs` lists the runs", model.ErrNotFound)

func (s *Store) runByID(ctx context.Context, tx *sql.Tx, id string) (model.Run, error) {
	return s.oneRun(ctx, tx, ` WHERE id = ?`, text(id))
}

// runByName is the newest run of a name that is over, or the newest if none is.
func (s *Store) runByName(ctx context.Context, tx *sql.Tx, name string) (model.Run, error) {
	if name == "" {
		return model.Run{}, errNoRun
	}
	const overFirst = ` ORDER BY CASE WHEN state IN (?, ?) THEN 1 ELSE 0 END, ` + newest
	return s.oneRun(ctx, tx, ` WHERE name = ?`+overFirst+` LIMIT 1`, text(name), text(model.RunPending), text(model.RunRunning))
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
		return model.Run{}, ambiguous("runs", runs, func(r model.Run) candidate { return candidate{string(r.ID), r.Created, r.Name} })
	}
	return runs[0], nil
}

// maxCandidates bounds the list in an error message.
const maxCandidates = 10

// candidate is one of several that a prefix may mean.
type candidate struct {
	id      string
	created time.Time
	name    string
}

// ambiguous is the error for a prefix of several; what is their plural.
func ambiguous[T any](what string, all []T, as func(T) candidate) error {
	var b strings.Builder
	for i, x := range all {
		if i == maxCandidates {
			fmt.Fprintf(&b, "\n  and %d more", len(all)-i)
			break
		}
		c := as(x)
		fmt.Fprintf(&b, "\n  %s  %s  %s", c.id, c.created.Format(time.DateTime), c.name)
	}
	return fmt.Errorf("%w: %d %s begin with these characters; give more:%s", model.ErrUsage, len(all), what, b.String())
}

// SetRunState implements store.Writer. A run that goes on after a final state
// (it was resumed) is no longer finished: Finished becomes zero, and what it
// measured as a repetition is to be computed again.
func (s *Store) SetRunState(ctx context.Context, id model.RunID, state model.RunState, reason string, at time.Time) error {
	var started, finished time.Time
	if state == model.RunRunning {
		started = at
	}
	if state.Final() {
		finished = at
	}
	return s.change(ctx, fmt.Sprintf("moving run %s to %s", id, state), func(tx *sql.Tx) error {
		of, err := s.changeRun(ctx, tx, `UPDATE runs SET state = ?, reason = ?, started = COALESCE(started, ?), finished = ? WHERE id = ?`,
			text(state), text(reason), instant(started), instant(finished), text(id))
		if err != nil || of.Campaign == "" || state.Final() {
			return err
		}
		return s.forgetMeasured(ctx, tx, of.Campaign, of.Number)
	})
}

// TakeRun implements store.Writer.
func (s *Store) TakeRun(ctx context.Context, seen model.Run, server string) error {
	return s.change(ctx, fmt.Sprintf("taking run %s up", seen.ID), func(tx *sql.Tx) error {
		of, err := s.changeRun(ctx, tx, `UPDATE runs SET state = ?, reason = '', server = ?, finished = NULL WHERE id = ? AND state = ? AND server = ?`,
			text(model.RunPending), text(server), text(seen.ID), text(seen.State), text(seen.Server))
		if errors.Is(err, errGone) {
			return fmt.Errorf("%w: it is no longer %s, or another server has taken it; look at it again", model.ErrStale, seen.State)
		}
		if err != nil || of.Campaign == "" {
			return err
		}
		return s.forgetMeasured(ctx, tx, of.Campaign, of.Number)
	})
}

// DeleteRun implements store.Writer; the schema cascades.
func (s *Store) DeleteRun(ctx context.Context, id model.RunID) error {
	return s.change(ctx, fmt.Sprintf("deleting run %s", id), func(tx *sql.Tx) error {
		of, err := s.changeRun(ctx, tx, `DELETE FROM runs WHERE id = ?`, text(id))
		if err != nil || of.Campaign == "" {
			return err
		}
		if err := s.runsDeleted(ctx, tx, of.Campaign, []any{of.Number}); err != nil {
			return err
		}
		return s.forgetMeasured(ctx, tx, of.Campaign, of.Number)
	})
}

// changeRun runs a statement that changes one run, and says which repetition
// the run is.
func (s *Store) changeRun(ctx context.Context, tx *sql.Tx, query string, args ...any) (of model.Repetition, err error) {
	err = tx.QueryRowContext(ctx, s.d.bind(query+` RETURNING campaign, repetition`), args...).Scan((*text)(&of.Campaign), &of.Number)
	if errors.Is(err, sql.ErrNoRows) {
		err = errGone
	}
	return of, err
}

const (
	stepColumns = `id, run, number, phase, workload, trial, barrier, state, attempt, start_at, reason, treatment`
	taskColumns = `id, step, position, node, spec`
)

func stepFields(st *model.Step) []any {
	return []any{(*text)(&st.ID), (*text)(&st.Run), &st.Number, (*text)(&st.Phase), (*text)(&st.Workload), &st.Trial, &st.Barrier,
		(*text)(&st.State), &st.Attempt, (*instant)(&st.StartAt), (*text)(&st.Reason), document{&st.Treatment}}
}

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
	return s.change(ctx, doing, func(tx *sql.Tx) error {
		if _, err := s.runByID(ctx, tx, string(run)); err != nil {
			return err
		}
		return s.insertSteps(ctx, tx, steps, "ON CONFLICT (id) DO NOTHING")
	})
}

// BeginAttempt implements store.Writer. The agreed start and the reason of the
// attempt before are cleared. After model.ErrUnavailable the attempt may have
// been raised: asking again then skips a number, which harms nothing.
func (s *Store) BeginAttempt(ctx context.Context, step model.StepID) (attempt int, err error) {
	err = s.change(ctx, fmt.Sprintf("beginning an attempt at step %s", step), func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, s.d.bind(`UPDATE steps SET attempt = attempt + 1, state = ?, start_at = NULL, reason = ''
			WHERE id = ? RETURNING attempt`), text(model.StepRunning), text(step)).Scan(&attempt)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: unknown step", model.ErrNotFound)
		}
		return err
	})
	return attempt, err
}

// SetStepStart implements store.Writer.
func (s *Store) SetStepStart(ctx context.Context, step model.StepID, at time.Time) error {
	return s.updateOne(ctx, fmt.Sprintf("recording the start of step %s", step),
		`UPDATE steps SET start_at = ? WHERE id = ?`, instant(at), text(step))
}

// SetStepState implements store.Writer.
func (s *Store) SetStepState(ctx context.Context, step model.StepID, state model.StepState, reason string) error {
	return s.updateOne(ctx, fmt.Sprintf("moving step %s to %s", step, state),
		`UPDATE steps SET state = ?, reason = ? WHERE id = ?`, text(state), text(reason), text(step))
}

const (
	nodeColumns = `id, public_key, labels, facts, registered`
	// replaceNode is what a node's newer description changes.
	replaceNode = `public_key = excluded.public_key, labels = excluded.labels, facts = excluded.facts, registered = excluded.registered`
)

// runNodeFields are those of the table run_nodes: how it came up is nothing of the
// fleet.
func runNodeFields(n *model.Node) []any { return append(nodeFields(n), document{&n.Startups}) }

func nodeFields(n *model.Node) []any {
	return []any{(*text)(&n.ID), (*text)(&n.PublicKey), document{&n.Labels}, document{&n.Facts}, (*instant)(&n.Registered)}
}

// fleetFields are those of the table nodes: when a node left is nothing of a run.
func fleetFields(n *model.Node) []any { return append(nodeFields(n), (*instant)(&n.Left)) }

// PutNode implements store.Fleet.
func (s *Store) PutNode(ctx context.Context, n model.Node) error {
	return s.change(ctx, fmt.Sprintf("storing node %s", n.ID), func(tx *sql.Tx) error {
		return s.insert(ctx, tx, "nodes ("+nodeColumns+", left_at)", [][]any{fleetFields(&n)},
			"ON CONFLICT (id) DO UPDATE SET "+replaceNode+", left_at = excluded.left_at")
	})
}

// Nodes implements store.Fleet. Ids are ordered byte by byte, whatever the
// database's locale.
func (s *Store) Nodes(ctx context.Context) ([]model.Node, error) {
	return read(ctx, s, "listing nodes", func(tx *sql.Tx) ([]model.Node, error) {
		return selectAll(ctx, s, tx, fleetFields, `SELECT `+nodeColumns+`, left_at FROM nodes ORDER BY id`)
	})
}

// RemoveNode implements store.Fleet. A node that is not there is
// model.ErrNotFound.
func (s *Store) RemoveNode(ctx context.Context, id model.NodeID) error {
	return s.updateOne(ctx, fmt.Sprintf("removing node %s", id), `DELETE FROM nodes WHERE id = ?`, text(id))
}

// PutRunNodes implements store.Writer. Nodes that the run does not have yet
// come after those that it has.
func (s *Store) PutRunNodes(ctx context.Context, id model.RunID, nodes []model.Node) error {
	return s.change(ctx, fmt.Sprintf("storing the nodes of run %s", id), func(tx *sql.Tx) error {
		if _, err := s.runByID(ctx, tx, string(id)); err != nil {
			return err
		}
		return s.putRunNodes(ctx, tx, id, nodes)
	})
}

// putRunNodes keeps the position of a node that it replaces. One statement a
// node: a statement may not touch the same node twice.
func (s *Store) putRunNodes(ctx context.Context, tx *sql.Tx, run model.RunID, nodes []model.Node) error {
	var next int
	row := tx.QueryRowContext(ctx, s.d.bind(`SELECT COALESCE(MAX(position) + 1, 0) FROM run_nodes WHERE run = ?`), text(run))
	if err := row.Scan(&next); err != nil {
		return err
	}
	for i := range nodes {
		row := append([]any{text(run), next + i}, runNodeFields(&nodes[i])...)
		err := s.insert(ctx, tx, "run_nodes (run, position, "+nodeColumns+", startups)", [][]any{row},
			"ON CONFLICT (run, id) DO UPDATE SET "+replaceNode+", startups = excluded.startups")
		if err != nil {
			return err
		}
	}
	return nil
}
