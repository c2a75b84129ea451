package sqlstore

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	outputColumns = `result, stream, total, truncated, artifact, artifact_cut, content`
	sampleColumns = `result, position, metric, unit, value, better, labels, resource, info`
	seriesColumns = `result, position, metric, unit, points, offsets, counters`
)

// The streams of a process.
const (
	streamStdout = "stdout"
	streamStderr = "stderr"
)

// encodeResult checks a result and prepares its rows.
func (s *Store) encodeResult(r model.Result) (*putResult, error) {
	if err := checkResult(r); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	p := &putResult{
		key: attemptKey{r.Task, r.Attempt}, run: r.Run, step: r.Step, node: r.Node,
		row: []any{text(r.Task), r.Attempt, text(r.Outcome), text(r.Error), instant(r.Started), instant(r.Ended),
			int64(r.ClockOffset), int64(r.ClockError), r.ExitCode},
		samples: sampleRows(r.Samples),
	}
	var err error
	if p.outputs, err = s.outputRows(r.Stdout, r.Stderr); err != nil {
		return nil, fmt.Errorf("%w: its output: %w", model.ErrInvalid, err)
	}
	if p.series, err = s.seriesRows(r.Series); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	if p.host, err = s.hostRows(r.Host); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	if p.histograms, err = s.histogramRows(r.Histograms); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrInvalid, err)
	}
	return p, checkTimes(r)
}

// checkResult refuses what cannot be kept as it is: JSON, and so every export,
// has no NaN and no infinity, and a pair of columns has one length.
func checkResult(r model.Result) error {
	for _, s := range r.Samples {
		if !finite(s.Value) {
			return fmt.Errorf("sample %q is %v; only finite numbers can be stored", s.Metric, s.Value)
		}
	}
	for _, s := range r.Series {
		if err := checkSeries("series", s.Metric, s.Offsets, s.Values); err != nil {
			return err
		}
	}
	for _, s := range r.Host {
		if err := checkSeries("host series", s.Metric, s.Offsets, s.Values); err != nil {
			return err
		}
	}
	return nil
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

// checkTimes refuses here, for one result, what the driver would refuse later
// for its whole batch.
func checkTimes(r model.Result) error {
	if _, err := instant(r.Started).Value(); err != nil {
		return err
	}
	_, err := instant(r.Ended).Value()
	return err
}

// outputRows leaves out streams of which nothing is known.
func (s *Store) outputRows(stdout, stderr model.Output) ([][]any, error) {
	var rows [][]any
	for _, o := range []struct {
		stream string
		model.Output
	}{{streamStdout, stdout}, {streamStderr, stderr}} {
		if o.Output == (model.Output{}) {
			continue
		}
		blob, err := s.codec.pack([]byte(o.Text))
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{o.stream, o.Total, o.Truncated, text(o.Artifact), o.ArtifactCut, blob})
	}
	return rows, nil
}

func sampleRows(samples []model.Sample) [][]any {
	rows := make([][]any, len(samples))
	for i := range samples {
		s := &samples[i]
		rows[i] = []any{i, text(s.Metric), text(s.Unit), s.Value, text(s.Better), document{&s.Labels}, text(s.Resource), s.Info}
	}
	return rows
}

func (s *Store) seriesRows(series []model.Series) ([][]any, error) {
	rows := make([][]any, len(series))
	for i, x := range series {
		offsets, err := s.codec.pack(encodeInts(x.Offsets))
		if err != nil {
			return nil, fmt.Errorf("series %q: %w", x.Metric, err)
		}
		values, err := s.codec.pack(encodeFloats(x.Values))
		if err != nil {
			return nil, fmt.Errorf("series %q: %w", x.Metric, err)
		}
		rows[i] = []any{i, text(x.Metric), text(x.Unit), len(x.Offsets), offsets, values}
	}
	return rows, nil
}

// decodeSeries returns the points of a series whose row says how many there
// are.
func (s *Store) decodeSeries(points int, offsetBlob, valueBlob []byte) ([]int64, []float64, error) {
	rawOffsets, err := s.codec.unpack(offsetBlob)
	if err != nil {
		return nil, nil, err
	}
	rawValues, err := s.codec.unpack(valueBlob)
	if err != nil {
		return nil, nil, err
	}
	offsets, err := decodeInts(rawOffsets)
	if err != nil {
		return nil, nil, err
	}
	values, err := decodeFloats(rawValues)
	if err != nil {
		return nil, nil, err
	}
	if len(offsets) != points || len(values) != points {
		return nil, nil, fmt.Errorf("%w: want %d points, have %d offsets and %d values", errSeries, points, len(offsets), len(values))
	}
	return offsets, values, nil
}
