package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/store"
)

// Beat implements store.Servers.
func (s *Store) Beat(ctx context.Context, server string) error {
	return s.changeOne(ctx, "noting that the server lives",
		`INSERT INTO servers (id, seen) VALUES (?, `+s.d.Now+`) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`, server)
}

// Leave implements store.Servers.
func (s *Store) Leave(ctx context.Context, server string) error {
	return s.change(ctx, "noting that the server has ended", func(t tx) error {
		_, err := t.exec(`DELETE FROM servers WHERE id = ?`, server)
		return err
	})
}

// Lives implements store.Servers. One that was heard in the future lives: the
// clock of the database was set back.
func (s *Store) Lives(ctx context.Context, server string) (bool, error) {
	return read(ctx, s, "asking whether a server lives", func(t tx) (bool, error) {
		var ago time.Duration
		err := t.first([]any{&ago}, `SELECT `+s.d.Now+` - seen FROM servers WHERE id = ?`, server)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return ago < store.ServerLease, err
	})
}
