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

const (
	whereID = ` WHERE id = ?`
	// newest orders runs and campaigns; ids decide between those made in the same
	// instant.
	newest      = `COALESCE(created, 0) DESC, id DESC`
	newestFirst = ` ORDER BY ` + newest
)

// table is one with rows that people name.
type table[T any] struct {
	name, columns string
	fields        func(*T) []any
	// noun is what a row is, and listed says what lists them all.
	noun, listed string
	short        error                               // the kind of error of a prefix that is too short
	about        func(T) (string, time.Time, string) // id, time of creation and name
}

// errUnknown: no row is the one that is looked for.
var errUnknown = fmt.Errorf("%w: unknown", model.ErrNotFound)

func (k table[T]) unknown() error { return fmt.Errorf("%w %s; %s", errUnknown, k.noun, k.listed) }

// one returns the row that a condition is true of; several are model.ErrUsage.
func (k table[T]) one(t tx, where string, args ...any) (one T, err error) {
	all, err := selectAll(t, k.fields, `SELECT `+k.columns+` FROM `+k.name+where, args...)
	switch {
	case err != nil:
		return one, err
	case len(all) == 0:
		return one, k.unknown()
	case len(all) == 1:
		return all[0], nil
	}
	const most = 10 // in an error message
	var list strings.Builder
	for i, x := range all {
		if i == most {
			fmt.Fprintf(&list, "\n  and %d more", len(all)-i)
			break
		}
		id, created, name := k.about(x)
		fmt.Fprintf(&list, "\n  %s  %s  %s", id, created.Format(time.DateTime), name)
	}
	return one, model.Usagef("%d %s begin with these characters; give more:%s", len(all), k.name, list.String())
}

// minPrefix is how many characters of an id a person must type.
const minPrefix = 4

func (k table[T]) byPrefix(t tx, id string) (one T, err error) {
	if len(id) < minPrefix {
		return one, fmt.Errorf("%w: no %s has this name; give the name, at least %d characters of the id, or `latest`; %s",
			k.short, k.noun, minPrefix, k.listed)
	}
	// substr rather than LIKE: nothing in the prefix has a special meaning.
	prefix := strings.ToUpper(id)
	return k.one(t, ` WHERE substr(id, 1, ?) = ?`+newestFirst, len([]rune(prefix)), prefix)
}

var runTable = table[model.Run]{
	name: "runs", columns: `id, name, kind, state, reason, source_name, source, asked, seed, version, server, created,
		started, finished, campaign, repetition`,
	noun: "run", listed: "`scalebench runs` lists the runs", short: model.ErrUsage,
	fields: func(r *model.Run) []any {
		return []any{&r.ID, &r.Name, &r.Kind, &r.State, &r.Reason, &r.SourceName, &r.Source, &r.Asked, &r.Seed, &r.Version,
			&r.Server, &r.Created, &r.Started, &r.Finished, &r.Campaign, &r.Repetition}
	},
	about: func(r model.Run) (string, time.Time, string) { return string(r.ID), r.Created, r.Name },
}

// CreateRun implements store.Writer. Creating the same run a second time
// changes nothing and succeeds: a caller that got model.ErrUnavailable cannot
// know whether the run was stored, and must be able to ask again.
func (s *Store) CreateRun(ctx context.Context, run model.Run, nodes []model.Node, steps []model.Step) error {
	return s.change(ctx, fmt.Sprintf("creating run %s", run.ID),
		func(t tx) error { return t.createRun(run, nodes, steps) })
}

func (t tx) createRun(run model.Run, nodes []model.Node, steps []model.Step) error {
	if run.ID == "" {
		return model.Usagef("the run has no id")
	}
	seen := make(map[model.NodeID]bool, len(nodes))
	for _, n := range nodes {
		if seen[n.ID] {
			return model.Usagef("node %q appears twice", n.ID)
		}
		seen[n.ID] = true
	}
	if err := checkSteps(run.ID, steps); err != nil {
		return err
	}
	n, err := t.insert("runs ("+runTable.columns+")", [][]any{runTable.fields(&run)}, "ON CONFLICT (id) DO NOTHING")
	if err != nil {
		return err
	}
	if n == 0 {
		old, err := runTable.one(t, whereID, run.ID)
		if err == nil && !sameRun(old, run) {
			err = model.Usagef("another run already has this id")
		}
		return err
	}
	if err := t.putRunNodes(run.ID, nodes); err != nil {
		return err
	}
	return t.insertSteps(steps, "")
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
	return read(ctx, s, fmt.Sprintf("looking up run %q", id), func(t tx) (model.Run, error) {
		if f, none := store.Word(id); none != nil {
			where, args := conditions(f)
			run, err := runTable.one(t, where+newestFirst+` LIMIT 1`, args...)
			if errors.Is(err, errUnknown) {
				err = none
			}
			return run, err
		}
		run, err := runTable.one(t, whereID, id)
		if errors.Is(err, errUnknown) && id != "" {
			// Of a name the newest that is over, or the newest if none is.
			run, err = runTable.one(t, ` WHERE name = ?
				ORDER BY CASE WHEN state IN (?, ?) THEN 1 ELSE 0 END, `+newest+` LIMIT 1`, id, model.RunPending, model.RunRunning)
		}
		if errors.Is(err, errUnknown) {
			return runTable.byPrefix(t, id)
		}
		return run, err
	})
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
	return s.change(ctx, fmt.Sprintf("moving run %s to %s", id, state), func(t tx) error {
		of, err := t.changeRun(`UPDATE runs SET state = ?, reason = ?, started = COALESCE(started, ?), finished = ?
			WHERE id = ?`,
			state, reason, started, finished, id)
		if err != nil || of.Campaign == "" || state.Final() {
			return err
		}
		return t.forgetMeasured(of.Campaign, of.Number)
	})
}

// TakeRun implements store.Writer.
func (s *Store) TakeRun(ctx context.Context, seen model.Run, server string) error {
	return s.change(ctx, fmt.Sprintf("taking run %s up", seen.ID), func(t tx) error {
		of, err := t.changeRun(`UPDATE runs SET state = ?, reason = '', server = ?, finished = NULL
			WHERE id = ? AND state = ? AND server = ?`,
			model.RunPending, server, seen.ID, seen.State, seen.Server)
		if errors.Is(err, errGone) {
			return fmt.Errorf("%w: it is no longer %s, or another server has taken it; look at it again", model.ErrStale, seen.State)
		}
		if err != nil || of.Campaign == "" {
			return err
		}
		return t.forgetMeasured(of.Campaign, of.Number)
	})
}

// DeleteRun implements store.Writer; the schema cascades.
func (s *Store) DeleteRun(ctx context.Context, id model.RunID) error {
	return s.change(ctx, fmt.Sprintf("deleting run %s", id), func(t tx) error {
		of, err := t.changeRun(`DELETE FROM runs WHERE id = ?`, id)
		if err != nil || of.Campaign == "" {
			return err
		}
		if err := t.runsDeleted(of.Campaign, []int{of.Number}); err != nil {
			return err
		}
		return t.forgetMeasured(of.Campaign, of.Number)
	})
}

// changeRun runs a statement that changes one run, and says which repetition
// the run is.
func (t tx) changeRun(query string, args ...any) (of model.Repetition, err error) {
	err = t.first([]any{&of.Campaign, &of.Number}, query+` RETURNING campaign, repetition`, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = errGone
	}
	return of, err
}

const stepColumns = `id, run, number, phase, workload, trial, barrier, state, attempt, start_at, reason, treatment`

func stepFields(st *model.Step) []any {
	return []any{&st.ID, &st.Run, &st.Number, &st.Phase, &st.Workload, &st.Trial, &st.Barrier,
		&st.State, &st.Attempt, &st.StartAt, &st.Reason, &st.Treatment}
}

type stepTask struct {
	model.Task
	step model.StepID
}

func taskFields(t *stepTask) []any { return []any{&t.ID, &t.step, &t.Position, &t.Node, &t.Spec} }

// insertSteps fails for a step that is there already, unless conflict says what
// to do with it.
func (t tx) insertSteps(steps []model.Step, conflict string) error {
	var stepRows, taskRows [][]any
	for i := range steps {
		st := &steps[i]
		stepRows = append(stepRows, stepFields(st))
		for _, task := range st.Tasks {
			taskRows = append(taskRows, taskFields(&stepTask{task, st.ID}))
		}
	}
	_, err := t.insert("steps ("+stepColumns+")", stepRows, conflict)
	if err == nil {
		_, err = t.insert("tasks (id, step, position, node, spec)", taskRows, conflict)
	}
	return err
}

func checkSteps(run model.RunID, steps []model.Step) error {
	for _, st := range steps {
		if st.Run != run {
			return model.Usagef("step %q belongs to run %q", st.ID, st.Run)
		}
	}
	return nil
}

// steps returns the steps of a run from a number on, with their tasks.
func (t tx) steps(run model.RunID, from int) ([]model.Step, error) {
	steps, err := selectAll(t, stepFields, `SELECT `+stepColumns+` FROM steps
		WHERE run = ? AND number >= ? ORDER BY number`, run, from)
	if err != nil {
		return nil, err
	}
	index := make(map[model.StepID]*model.Step, len(steps))
	for i := range steps {
		steps[i].Tasks = []model.Task{}
		index[steps[i].ID] = &steps[i]
	}
	tasks, err := selectAll(t, taskFields, `SELECT t.id, t.step, t.position, t.node, t.spec
		FROM steps s JOIN tasks t ON t.step = s.id
		WHERE s.run = ? AND s.number >= ? ORDER BY s.number, t.position`, run, from)
	for _, task := range tasks {
		index[task.step].Tasks = append(index[task.step].Tasks, task.Task)
	}
	return steps, err
}

// AddSteps implements store.Writer.
func (s *Store) AddSteps(ctx context.Context, run model.RunID, steps []model.Step) error {
	return s.change(ctx, fmt.Sprintf("adding steps to run %s", run), func(t tx) error {
		if err := checkSteps(run, steps); err != nil {
			return err
		}
		if _, err := runTable.one(t, whereID, run); err != nil {
			return err
		}
		return t.insertSteps(steps, "ON CONFLICT (id) DO NOTHING")
	})
}

// BeginAttempt implements store.Writer. The agreed start and the reason of the
// attempt before are cleared. After model.ErrUnavailable the attempt may have
// been raised: asking again then skips a number, which harms nothing.
func (s *Store) BeginAttempt(ctx context.Context, step model.StepID) (attempt int, err error) {
	err = s.change(ctx, fmt.Sprintf("beginning an attempt at step %s", step), func(t tx) error {
		err := t.first([]any{&attempt}, `UPDATE steps SET attempt = attempt + 1, state = ?, start_at = NULL, reason = ''
			WHERE id = ? RETURNING attempt`, model.StepRunning, step)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: unknown step", model.ErrNotFound)
		}
		return err
	})
	return attempt, err
}

// SetStepStart implements store.Writer.
func (s *Store) SetStepStart(ctx context.Context, step model.StepID, at time.Time) error {
	return s.changeOne(ctx, fmt.Sprintf("recording the start of step %s", step),
		`UPDATE steps SET start_at = ? WHERE id = ?`, at, step)
}

// SetStepState implements store.Writer.
func (s *Store) SetStepState(ctx context.Context, step model.StepID, state model.StepState, reason string) error {
	return s.changeOne(ctx, fmt.Sprintf("moving step %s to %s", step, state),
		`UPDATE steps SET state = ?, reason = ? WHERE id = ?`, state, reason, step)
}

const (
	nodeColumns = `id, public_key, labels, facts, registered`
	// replaceNode is what a node's newer description changes.
	replaceNode = `public_key = excluded.public_key, labels = excluded.labels, facts = excluded.facts, registered = excluded.registered`
)

// runNodeFields are those of the table run_nodes: how it came up is nothing of the
// fleet.
func runNodeFields(n *model.Node) []any { return append(nodeFields(n), &n.Startups) }

func nodeFields(n *model.Node) []any {
	return []any{&n.ID, &n.PublicKey, &n.Labels, &n.Facts, &n.Registered}
}

// fleetFields are those of the table nodes: when a node left is nothing of a run.
func fleetFields(n *model.Node) []any { return append(nodeFields(n), &n.Left) }

// PutNode implements store.Fleet.
func (s *Store) PutNode(ctx context.Context, n model.Node) error {
	return s.change(ctx, fmt.Sprintf("storing node %s", n.ID), func(t tx) error {
		_, err := t.insert("nodes ("+nodeColumns+", left_at)", [][]any{fleetFields(&n)},
			"ON CONFLICT (id) DO UPDATE SET "+replaceNode+", left_at = excluded.left_at")
		return err
	})
}

// Nodes implements store.Fleet. Ids are ordered byte by byte, whatever the
// database's locale.
func (s *Store) Nodes(ctx context.Context) ([]model.Node, error) {
	return read(ctx, s, "listing nodes", func(t tx) ([]model.Node, error) {
		return selectAll(t, fleetFields, `SELECT `+nodeColumns+`, left_at FROM nodes ORDER BY id`)
	})
}

// RemoveNode implements store.Fleet. A node that is not there is
// model.ErrNotFound.
func (s *Store) RemoveNode(ctx context.Context, id model.NodeID) error {
	return s.changeOne(ctx, fmt.Sprintf("removing node %s", id), `DELETE FROM nodes WHERE id = ?`, id)
}

// PutRunNodes implements store.Writer. Nodes that the run does not have yet
// come after those that it has.
func (s *Store) PutRunNodes(ctx context.Context, id model.RunID, nodes []model.Node) error {
	return s.change(ctx, fmt.Sprintf("storing the nodes of run %s", id), func(t tx) error {
		if _, err := runTable.one(t, whereID, id); err != nil {
			return err
		}
		return t.putRunNodes(id, nodes)
	})
}

// putRunNodes keeps the position of a node that it replaces. One statement a
// node: a statement may not touch the same node twice.
func (t tx) putRunNodes(run model.RunID, nodes []model.Node) error {
	var next int
	err := t.first([]any{&next}, `SELECT COALESCE(MAX(position) + 1, 0) FROM run_nodes WHERE run = ?`, run)
	for i := 0; err == nil && i < len(nodes); i++ {
		_, err = t.insert("run_nodes (run, position, "+nodeColumns+", startups)",
			[][]any{append([]any{run, next + i}, runNodeFields(&nodes[i])...)},
			"ON CONFLICT (run, id) DO UPDATE SET "+replaceNode+", startups = excluded.startups")
	}
	return err
}
