package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
)

// VersionTable is where goose keeps which migrations were applied.
const VersionTable = "scalebench_schema"

// latestVersion is the number of the last migration of every dialect.
const latestVersion = 5

// migrate brings the schema to the version this program knows. A store that is
// up to date is not written to, so that a reading command needs no lock.
func (s *Store) migrate(ctx context.Context) error {
	current, err := s.schemaVersion(ctx)
	if err == nil && current < latestVersion {
		current, err = s.migrateUp(ctx)
	}
	if err != nil {
		return err
	}
	if current != latestVersion {
		return fmt.Errorf("%w: %s has schema version %d, and this scalebench knows versions up to %d; use the scalebench that wrote it, or a later one",
			model.ErrUsage, s.where, current, latestVersion)
	}
	return nil
}

// migrateUp applies what is missing and returns the version reached, one
// process at a time: what another one did meanwhile is not done again.
func (s *Store) migrateUp(ctx context.Context) (current int64, err error) {
	unlock, err := s.d.LockMigration(ctx)
	if err != nil {
		return 0, fmt.Errorf("waiting for another process that brings the schema up to date: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if current, err = s.schemaVersion(ctx); err != nil || current >= latestVersion {
		return current, err
	}
	if err := s.gooseUp(ctx); err != nil {
		return 0, fmt.Errorf("bringing the schema from version %d to %d: %w", current, latestVersion, err)
	}
	return s.schemaVersion(ctx)
}

func (s *Store) gooseUp(ctx context.Context) error {
	// The provider is not closed: that would close the pool, which is ours.
	p, err := goose.NewProvider(s.d.Goose, s.write, s.d.Migrations,
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
