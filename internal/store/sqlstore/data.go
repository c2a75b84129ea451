package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// Data implements store.Reader: the run as it was at one moment. Steps, tasks,
// samples and series come in their order in the run; results by step, attempt
// and position of the task; events in the order in which they were added.
func (s *Store) Data(ctx context.Context, id model.RunID) (d model.RunData, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		d, err = s.readData(ctx, tx, id)
		return err
	})
	if err != nil {
		return model.RunData{}, s.fail(ctx, fmt.Sprintf("reading run %s", id), err)
	}
	return d, nil
}

// DataFrom implements store.Store. The steps are found by an index, and all
// else through them, so that the time it takes does not depend on how many
// steps come before.
func (s *Store) DataFrom(ctx context.Context, id model.RunID, from int) (d model.RunData, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		d, err = s.readSteps(ctx, tx, span{id, from})
		return err
	})
	if err != nil {
		return model.RunData{}, s.fail(ctx, fmt.Sprintf("reading run %s from step %d on", id, from), err)
	}
	return d, nil
}

// span is the steps of a run from a number on.
type span struct {
	run  model.RunID
	from int
}

// ofSpan restricts a query on steps s to those of a span, whose args it takes.
const ofSpan = ` s.run = ? AND s.number >= ?`

func (p span) args() []any { return []any{text(p.run), p.from} }

// readSteps reads steps with their results, and the run and nodes they belong
// to.
func (s *Store) readSteps(ctx context.Context, tx *sql.Tx, p span) (d model.RunData, err error) {
	if d.Run, err = s.runByID(ctx, tx, string(p.run)); err != nil {
		return d, err
	}
	d.Nodes, err = s.selectNodes(ctx, tx, `SELECT `+nodeColumns+` FROM run_nodes WHERE run = ? ORDER BY position, id`, text(p.run))
	if err != nil {
		return d, err
	}
	if d.Steps, err = s.selectSteps(ctx, tx, p); err != nil {
		return d, err
	}
	d.Results, err = s.selectResults(ctx, tx, p)
	return d, err
}

func (s *Store) readData(ctx context.Context, tx *sql.Tx, id model.RunID) (d model.RunData, err error) {
	if d, err = s.readSteps(ctx, tx, span{run: id}); err != nil {
		return d, err
	}
	if d.Events, err = s.selectEvents(ctx, tx, id); err != nil {
		return d, err
	}
	d.Artifacts, err = s.selectArtifacts(ctx, tx, id)
	return d, err
}

func (s *Store) selectSteps(ctx context.Context, tx *sql.Tx, p span) ([]model.Step, error) {
	steps := []model.Step{}
	index := make(map[model.StepID]int)
	err := s.each(ctx, tx, func(rows *sql.Rows) error {
		st, err := scanStep(rows)
		st.Tasks = []model.Task{}
		index[st.ID] = len(steps)
		steps = append(steps, st)
		return err
	}, `SELECT `+stepColumns+` FROM steps s WHERE`+ofSpan+` ORDER BY number`, p.args()...)
	if err != nil {
		return nil, err
	}
	return steps, s.selectTasks(ctx, tx, p, func(step model.StepID, t model.Task) {
		st := &steps[index[step]]
		st.Tasks = append(st.Tasks, t)
	})
}

func (s *Store) selectTasks(ctx context.Context, tx *sql.Tx, p span, add func(model.StepID, model.Task)) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var t model.Task
		var step model.StepID
		err := rows.Scan((*text)(&t.ID), (*text)(&step), &t.Position, (*text)(&t.Node), document{&t.Spec})
		if err != nil {
			return err
		}
		plainNumbers(t.Spec.Params)
		add(step, t)
		return nil
	}, `SELECT t.id, t.step, t.position, t.node, t.spec FROM tasks t JOIN steps s ON s.id = t.step
		WHERE`+ofSpan+` ORDER BY s.number, t.position`, p.args()...)
}

// ofSteps restricts a query on results r to those of a span of steps.
const ofSteps = ` JOIN tasks t ON t.id = r.task JOIN steps s ON s.id = t.step WHERE` + ofSpan

// resultSet collects the parts of results, which come from several tables.
type resultSet struct {
	results []model.Result
	index   map[int64]int // by the number of the result's row
}

func (rs *resultSet) at(number int64) *model.Result { return &rs.results[rs.index[number]] }

func (s *Store) selectResults(ctx context.Context, tx *sql.Tx, p span) ([]model.Result, error) {
	rs := &resultSet{results: []model.Result{}, index: make(map[int64]int)}
	for _, part := range []func(context.Context, *sql.Tx, span, *resultSet) error{
		s.selectResultRows, s.selectOutputs, s.selectSamples, s.selectSeries, s.selectHost, s.selectHistograms,
	} {
		if err := part(ctx, tx, p, rs); err != nil {
			return nil, err
		}
	}
	return rs.results, nil
}

func (s *Store) selectResultRows(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		r := model.Result{Run: p.run}
		var number int64
		err := rows.Scan(&number, (*text)(&r.Step), (*text)(&r.Node), (*text)(&r.Task), &r.Attempt, (*text)(&r.Outcome), (*text)(&r.Error),
			(*instant)(&r.Started), (*instant)(&r.Ended), (*int64)(&r.ClockOffset), (*int64)(&r.ClockError), &r.ExitCode)
		rs.index[number] = len(rs.results)
		rs.results = append(rs.results, r)
		return err
	}, `SELECT r.id, s.id, t.node, r.task, r.attempt, r.outcome, r.error, r.started, r.ended, r.clock_offset, r.clock_error, r.exit_code
		FROM results r`+ofSteps+` ORDER BY s.number, r.attempt, t.position`, p.args()...)
}

func (s *Store) selectOutputs(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var stream string
		var o model.Output
		var blob []byte
		err := rows.Scan(&number, &stream, &o.Total, &o.Truncated, (*text)(&o.Artifact), &o.ArtifactCut, &blob)
		if err != nil {
			return err
		}
		raw, err := s.codec.unpack(blob)
		o.Text = string(raw)
		if stream == streamStdout {
			rs.at(number).Stdout = o
		} else {
			rs.at(number).Stderr = o
		}
		return err
	}, `SELECT o.result, o.stream, o.total, o.truncated, o.artifact, o.artifact_cut, o.content
		FROM outputs o JOIN results r ON r.id = o.result`+ofSteps, p.args()...)
}

func (s *Store) selectSamples(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var x model.Sample
		err := rows.Scan(&number, (*text)(&x.Metric), (*text)(&x.Unit), &x.Value, (*text)(&x.Better), document{&x.Labels},
			(*text)(&x.Resource), &x.Info)
		if err != nil {
			return err
		}
		r := rs.at(number)
		r.Samples = append(r.Samples, x)
		return nil
	}, `SELECT x.result, x.metric, x.unit, x.value, x.better, x.labels, x.resource, x.info
		FROM samples x JOIN results r ON r.id = x.result`+ofSteps+` ORDER BY x.result, x.position`, p.args()...)
}

func (s *Store) selectSeries(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var x model.Series
		var points int
		var offsets, values []byte
		err := rows.Scan(&number, (*text)(&x.Metric), (*text)(&x.Unit), &points, &offsets, &values)
		if err != nil {
			return err
		}
		if x.Offsets, x.Values, err = s.decodeSeries(points, offsets, values); err != nil {
			return fmt.Errorf("series %q of %s: %w", x.Metric, rs.at(number).Task, err)
		}
		r := rs.at(number)
		r.Series = append(r.Series, x)
		return nil
	}, `SELECT x.result, x.metric, x.unit, x.points, x.offsets, x.counters
		FROM series x JOIN results r ON r.id = x.result`+ofSteps+` ORDER BY x.result, x.position`, p.args()...)
}
