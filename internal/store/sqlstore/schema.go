package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
)

// VersionTable is where goose keeps which migrations were applied.
const VersionTable = "scalebench_schema"

// latestVersion is the number of the last migration of every dialect.
const latestVersion = 10

// migrate brings the schema to the version this program knows. A store that is
// up to date is not written to, so that a reading command needs no lock.
func (s *Store) migrate(ctx context.Context, asIs bool) error {
	current, err := s.schemaVersion(ctx)
	if err == nil && current < latestVersion {
		if asIs {
			return fmt.Errorf("%w: %s has schema version %d, not %d", model.ErrUnavailable, s.where, current, latestVersion)
		}
		current, err = s.migrateUp(ctx)
	}
	if err != nil {
		return err
	}
	if current != latestVersion {
		return fmt.Errorf("%w: %s has schema version %d, but this scalebench knows versions up to %d only; use a newer scalebench",
			model.ErrUsage, s.where, current, latestVersion)
	}
	return nil
}

// migrateUp applies what is missing and returns the version reached, one
// process at a time: what another one did meanwhile is not done again.
func (s *Store) migrateUp(ctx context.Context) (current int64, err error) {
	unlock, err := s.d.LockMigration(ctx)
	if err != nil {
		return 0, fmt.Errorf("waiting for another process that updates the schema: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if current, err = s.schemaVersion(ctx); err != nil || current >= latestVersion {
		return current, err
	}
	if err := s.gooseUp(ctx); err != nil {
		return 0, fmt.Errorf("updating the schema from version %d to %d: %w", current, latestVersion, err)
	}
	return s.schemaVersion(ctx)
}

func (s *Store) gooseUp(ctx context.Context) error {
	files, err := fs.Sub(s.d.Migrations, "migrations")
	if err != nil {
		return fmt.Errorf("finding the migrations: %w", err)
	}
	// The provider is not closed: that would close the pool, which is ours.
	p, err := goose.NewProvider(s.d.Goose, s.write, files,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := p.UpTo(ctx, packedVersion); err != nil {
		return err
	}
	if err := s.packOldResults(ctx); err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// schemaVersion is 0 for an empty database.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		var exists bool
		query := s.d.bind(s.d.TableExists)
		if err := tx.QueryRowContext(ctx, query, VersionTable).Scan(&exists); err != nil || !exists {
			return err
		}
		const latest = "SELECT COALESCE(MAX(version_id), 0) FROM " + VersionTable
		return tx.QueryRowContext(ctx, latest).Scan(&version)
	})
	return version, err
}

// Up to schema version 3 a result had a row in each of six tables. Migration 4
// makes the new tables and keeps the old ones; packOldResults moves the
// results; migration 5 drops what is then empty.
const packedVersion = 4

// One transaction of the move ends after so many results, or bytes of them.
const (
	moveResults = 64
	moveBytes   = 4 << 20
)

// packOldResults moves results until none is left in the old tables. A result
// is in the old tables or in the new ones, whenever the process is killed: the
// next one to open the store goes on.
func (s *Store) packOldResults(ctx context.Context) error {
	for {
		var exists, more bool
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			more = false
			err := tx.QueryRowContext(ctx, s.d.bind(s.d.TableExists), "old_results").Scan(&exists)
			if err == nil && exists {
				more, err = s.moveOldResults(ctx, tx)
			}
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// moveOldResults moves the next results, and reports whether there were any.
func (s *Store) moveOldResults(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	var ids []int64
	err = s.each(ctx, tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM old_results ORDER BY id LIMIT ?`, moveResults)
	size := 0
	for _, id := range ids {
		if err != nil || size > moveBytes {
			break
		}
		var n int
		n, err = s.moveOldResult(ctx, tx, id)
		size += n
	}
	return len(ids) > 0, err
}

func (s *Store) moveOldResult(ctx context.Context, tx *sql.Tx, id int64) (size int, err error) {
	r, at, err := s.selectOldResult(ctx, tx, id)
	if err != nil {
		return 0, fmt.Errorf("result %s#%d: %w", r.Task, r.Attempt, err)
	}
	p, err := s.encodeResult(&r)
	if err != nil {
		return 0, fmt.Errorf("result %s#%d: %w", r.Task, r.Attempt, err)
	}
	p.at = at
	for _, row := range append([][]any{p.row}, p.points...) {
		for _, x := range row {
			blob, _ := x.([]byte)
			size += len(blob)
		}
	}
	if err := s.insertResults(ctx, tx, []*putResult{p}); err != nil {
		return 0, err
	}
	_, err = s.exec(ctx, tx, `DELETE FROM old_results WHERE id = ?`, id)
	return size, err
}

func (s *Store) selectOldResult(ctx context.Context, tx *sql.Tx, id int64) (r model.Result, at taskState, err error) {
	row := tx.QueryRowContext(ctx, s.d.bind(`SELECT s.run, s.id, s.number, t.position, t.node, r.task, r.attempt, r.outcome, r.error,
		r.started, r.ended, r.clock_offset, r.clock_error, r.exit_code
		FROM old_results r JOIN tasks t ON t.id = r.task JOIN steps s ON s.id = t.step WHERE r.id = ?`), id)
	err = row.Scan((*text)(&r.Run), (*text)(&r.Step), &at.number, &at.position, (*text)(&r.Node), (*text)(&r.Task), &r.Attempt,
		(*text)(&r.Outcome), (*text)(&r.Error), (*instant)(&r.Started), (*instant)(&r.Ended),
		(*int64)(&r.ClockOffset), (*int64)(&r.ClockError), &r.ExitCode)
	if err != nil {
		return r, at, err
	}
	err = s.each(ctx, tx, func(rows *sql.Rows) error {
		var o model.Output
		var stream string
		err := rows.Scan(&stream, &o.Total, &o.Truncated, (*text)(&o.Artifact), &o.ArtifactCut, unpacked{s.codec, &o.Text})
		if stream == "stdout" {
			r.Stdout = o
		} else {
			r.Stderr = o
		}
		return err
	}, `SELECT stream, total, truncated, artifact, artifact_cut, content FROM outputs WHERE result = ?`, id)
	if err != nil {
		return r, at, err
	}
	r.Samples, err = selectAll(ctx, s, tx, func(x *model.Sample) []any {
		return []any{(*text)(&x.Metric), (*text)(&x.Unit), &x.Value, (*text)(&x.Better), document{&x.Labels}, (*text)(&x.Resource), &x.Info}
	}, `SELECT metric, unit, value, better, labels, resource, info FROM samples WHERE result = ? ORDER BY position`, id)
	if err != nil {
		return r, at, err
	}
	return r, at, s.selectOldPoints(ctx, tx, id, &r)
}

func (s *Store) selectOldPoints(ctx context.Context, tx *sql.Tx, id int64, r *model.Result) (err error) {
	r.Histograms, err = selectAll(ctx, s, tx, func(x *model.Histogram) []any {
		return []any{(*text)(&x.Metric), (*text)(&x.Unit), &x.Second, unpacked{s.codec, &x.Encoded}}
	}, `SELECT metric, unit, second, encoded FROM histograms WHERE result = ? ORDER BY position`, id)
	if err != nil {
		return err
	}
	var offsets string // those of the row before, which an empty column means
	points := func(scan func(dest ...any) error, fields ...any) (ints []int64, floats []float64, err error) {
		var packed []byte
		var values string
		if err := scan(append(fields, &packed, unpacked{s.codec, &values})...); err != nil {
			return nil, nil, err
		}
		if len(packed) > 0 {
			if err := (unpacked{s.codec, &offsets}).Scan(packed); err != nil {
				return nil, nil, err
			}
		}
		if ints, err = decodeInts([]byte(offsets)); err == nil {
			floats, err = decodeFloats([]byte(values))
		}
		return ints, floats, err
	}
	err = s.each(ctx, tx, func(rows *sql.Rows) (err error) {
		var x model.Series
		x.Offsets, x.Values, err = points(rows.Scan, (*text)(&x.Metric), (*text)(&x.Unit))
		r.Series = append(r.Series, x)
		return err
	}, `SELECT metric, unit, offsets, counters FROM series WHERE result = ? ORDER BY position`, id)
	if err != nil {
		return err
	}
	return s.each(ctx, tx, func(rows *sql.Rows) (err error) {
		var x model.HostSeries
		x.Offsets, x.Values, err = points(rows.Scan, (*text)(&x.Metric), (*text)(&x.Unit), &x.Counter)
		r.Host = append(r.Host, x)
		return err
	}, `SELECT metric, unit, counter, offsets, readings FROM host_series WHERE result = ? ORDER BY position`, id)
}

// unpacked is a packed column of text.
type unpacked struct {
	c    *codec
	text *string
}

// Scan implements sql.Scanner.
func (u unpacked) Scan(src any) error {
	blob, ok := src.([]byte)
	if !ok {
		return fmt.Errorf("packed column holds %T", src)
	}
	raw, err := u.c.unpack(blob, nil)
	*u.text = string(raw)
	return err
}
