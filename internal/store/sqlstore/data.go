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

func (s *Store) readData(ctx context.Context, tx *sql.Tx, id model.RunID) (d model.RunData, err error) {
	if d.Run, err = s.runByID(ctx, tx, string(id)); err != nil {
		return d, err
	}
	d.Nodes, err = s.selectNodes(ctx, tx, `SELECT `+nodeColumns+` FROM run_nodes WHERE run = ? ORDER BY position, id`, text(id))
	if err != nil {
		return d, err
	}
	if d.Steps, err = s.selectSteps(ctx, tx, id); err != nil {
		return d, err
	}
	if d.Results, err = s.selectResults(ctx, tx, id); err != nil {
		return d, err
	}
	if d.Events, err = s.selectEvents(ctx, tx, id); err != nil {
		return d, err
	}
	d.Artifacts, err = s.selectArtifacts(ctx, tx, id)
	return d, err
}

func (s *Store) selectSteps(ctx context.Context, tx *sql.Tx, run model.RunID) ([]model.Step, error) {
	steps := []model.Step{}
	index := make(map[model.StepID]int)
	err := s.each(ctx, tx, func(rows *sql.Rows) error {
		st, err := scanStep(rows)
		st.Tasks = []model.Task{}
		index[st.ID] = len(steps)
		steps = append(steps, st)
		return err
	}, `SELECT `+stepColumns+` FROM steps WHERE run = ? ORDER BY number`, text(run))
	if err != nil {
		return nil, err
	}
	return steps, s.selectTasks(ctx, tx, run, func(step model.StepID, t model.Task) {
		st := &steps[index[step]]
		st.Tasks = append(st.Tasks, t)
	})
}

func (s *Store) selectTasks(ctx context.Context, tx *sql.Tx, run model.RunID, add func(model.StepID, model.Task)) error {
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
		WHERE s.run = ? ORDER BY s.number, t.position`, text(run))
}

// ofRun restricts a query on results r to those of one run.
const ofRun = ` JOIN tasks t ON t.id = r.task JOIN steps s ON s.id = t.step WHERE s.run = ?`

// resultSet collects the parts of results, which come from several tables.
type resultSet struct {
	results []model.Result
	index   map[int64]int // by the number of the result's row
}

func (rs *resultSet) at(number int64) *model.Result { return &rs.results[rs.index[number]] }

func (s *Store) selectResults(ctx context.Context, tx *sql.Tx, run model.RunID) ([]model.Result, error) {
	rs := &resultSet{results: []model.Result{}, index: make(map[int64]int)}
	for _, part := range []func(context.Context, *sql.Tx, model.RunID, *resultSet) error{
		s.selectResultRows, s.selectOutputs, s.selectSamples, s.selectSeries, s.selectHost, s.selectHistograms,
	} {
		if err := part(ctx, tx, run, rs); err != nil {
			return nil, err
		}
	}
	return rs.results, nil
}

func (s *Store) selectResultRows(ctx context.Context, tx *sql.Tx, run model.RunID, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		r := model.Result{Run: run}
		var number int64
		err := rows.Scan(&number, (*text)(&r.Step), (*text)(&r.Node), (*text)(&r.Task), &r.Attempt, (*text)(&r.Outcome), (*text)(&r.Error),
			(*instant)(&r.Started), (*instant)(&r.Ended), (*int64)(&r.ClockOffset), (*int64)(&r.ClockError), &r.ExitCode)
		rs.index[number] = len(rs.results)
		rs.results = append(rs.results, r)
		return err
	}, `SELECT r.id, s.id, t.node, r.task, r.attempt, r.outcome, r.error, r.started, r.ended, r.clock_offset, r.clock_error, r.exit_code
		FROM results r`+ofRun+` ORDER BY s.number, r.attempt, t.position`, text(run))
}

func (s *Store) selectOutputs(ctx context.Context, tx *sql.Tx, run model.RunID, rs *resultSet) error {
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
		FROM outputs o JOIN results r ON r.id = o.result`+ofRun, text(run))
}

func (s *Store) selectSamples(ctx context.Context, tx *sql.Tx, run model.RunID, rs *resultSet) error {
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
		FROM samples x JOIN results r ON r.id = x.result`+ofRun+` ORDER BY x.result, x.position`, text(run))
}

func (s *Store) selectSeries(ctx context.Context, tx *sql.Tx, run model.RunID, rs *resultSet) error {
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
		FROM series x JOIN results r ON r.id = x.result`+ofRun+` ORDER BY x.result, x.position`, text(run))
}
