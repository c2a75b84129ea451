package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
)

// VersionTable is where goose keeps which migrations were applied.
const VersionTable = "scalebench_schema"

// latestVersion is the number of the only migration of every dialect: a store has the
// schema of one version, and one of another version is refused.
const latestVersion = 3

// migrate brings the schema to the version this program knows. A store that is
// up to date is not written to, so that a reading command needs no lock.
func (s *Store) migrate(ctx context.Context, asIs bool) error {
	current, err := s.schemaVersion(ctx)
	if err == nil && current == 0 { // it is new
		if asIs {
			return model.Unavailablef("%s has schema version %d, not %d", s.where, current, latestVersion)
		}
		current, err = s.migrateUp(ctx)
	}
	if err == nil && current != latestVersion {
		err = model.Usagef("%s has schema version %d, and this scalebench knows version %d. Another build made it: "+
			"use that one, or another store (--data, --store)", s.where, current, latestVersion)
	}
	return err
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
	files, err := fs.Sub(s.d.Migrations, "migrations")
	if err != nil {
		return 0, fmt.Errorf("finding the migrations: %w", err)
	}
	// The provider is not closed: that would close the pool, which is ours.
	p, err := goose.NewProvider(s.d.Goose, s.write, files,
		goose.WithTableName(VersionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err == nil {
		_, err = p.Up(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("updating the schema from version %d to %d: %w", current, latestVersion, err)
	}
	return s.schemaVersion(ctx)
}

// schemaVersion is 0 for an empty database.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	err = s.inSnapshot(ctx, func(t tx) error {
		var exists bool
		if err := t.first([]any{&exists}, s.d.TableExists, VersionTable); err != nil || !exists {
			return err
		}
		return t.first([]any{&version}, "SELECT COALESCE(MAX(version_id), 0) FROM "+VersionTable)
	})
	return version, err
}
