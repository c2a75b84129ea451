package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	hostColumns      = `result, position, metric, unit, counter, points, offsets, readings`
	histogramColumns = `result, position, metric, unit, second, encoded`
)

// hostRows prepares the series of the monitor. Its metrics are read together,
// so most have the offsets of the one before; they are stored once, and an
// empty column refers back.
func (s *Store) hostRows(series []model.HostSeries) ([][]any, error) {
	rows := make([][]any, len(series))
	for i, x := range series {
		offsets := []byte{}
		if i == 0 || !slices.Equal(x.Offsets, series[i-1].Offsets) {
			var err error
			if offsets, err = s.codec.pack(encodeInts(x.Offsets)); err != nil {
				return nil, fmt.Errorf("host series %q: %w", x.Metric, err)
			}
		}
		values, err := s.codec.pack(encodeFloats(x.Values))
		if err != nil {
			return nil, fmt.Errorf("host series %q: %w", x.Metric, err)
		}
		rows[i] = []any{i, text(x.Metric), text(x.Unit), x.Counter, len(x.Offsets), offsets, values}
	}
	return rows, nil
}

func (s *Store) selectHost(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	var blob []byte // the offsets column that an empty one refers to
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var x model.HostSeries
		var points int
		var offsets, values []byte
		err := rows.Scan(&number, (*text)(&x.Metric), (*text)(&x.Unit), &x.Counter, &points, &offsets, &values)
		if err != nil {
			return err
		}
		r := rs.at(number)
		switch {
		case len(offsets) > 0:
			blob = offsets
		case len(r.Host) == 0:
			return fmt.Errorf("%w: host series %q of %s has no offsets", errSeries, x.Metric, r.Task)
		}
		if x.Offsets, x.Values, err = s.decodeSeries(points, blob, values); err != nil {
			return fmt.Errorf("host series %q of %s: %w", x.Metric, r.Task, err)
		}
		r.Host = append(r.Host, x)
		return nil
	}, `SELECT x.result, x.metric, x.unit, x.counter, x.points, x.offsets, x.readings
		FROM host_series x JOIN results r ON r.id = x.result`+ofSteps+` ORDER BY x.result, x.position`, p.args()...)
}

// histogramRows packs histograms as they are; the store does not look inside.
func (s *Store) histogramRows(histograms []model.Histogram) ([][]any, error) {
	rows := make([][]any, len(histograms))
	for i, h := range histograms {
		blob, err := s.codec.pack([]byte(h.Encoded))
		if err != nil {
			return nil, fmt.Errorf("histogram %q: %w", h.Metric, err)
		}
		rows[i] = []any{i, text(h.Metric), text(h.Unit), h.Second, blob}
	}
	return rows, nil
}

func (s *Store) selectHistograms(ctx context.Context, tx *sql.Tx, p span, rs *resultSet) error {
	return s.each(ctx, tx, func(rows *sql.Rows) error {
		var number int64
		var h model.Histogram
		var blob []byte
		if err := rows.Scan(&number, (*text)(&h.Metric), (*text)(&h.Unit), &h.Second, &blob); err != nil {
			return err
		}
		r := rs.at(number)
		raw, err := s.codec.unpack(blob)
		if err != nil {
			return fmt.Errorf("histogram %q of %s: %w", h.Metric, r.Task, err)
		}
		h.Encoded = string(raw)
		r.Histograms = append(r.Histograms, h)
		return nil
	}, `SELECT x.result, x.metric, x.unit, x.second, x.encoded
		FROM histograms x JOIN results r ON r.id = x.result`+ofSteps+` ORDER BY x.result, x.position`, p.args()...)
}
