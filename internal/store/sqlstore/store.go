package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Limits of one write. They bound how long a caller can be kept waiting by a
// database that neither works nor fails.
const (
	// batchTimeout ends a batch's transaction; its callers get
	// model.ErrUnavailable.
	batchTimeout = 30 * time.Second
	// maxTries bounds repetitions after a serialization failure or deadlock.
	maxTries = 8
	// batchItems bounds a batch, and so what a fallback to single
	// transactions costs.
	batchItems = 256
)

// Config is what a [Store] is made of.
type Config struct {
	Dialect Dialect
	// Write takes transactions that change something, Read those that do
	// not; both may be the same pool. The Store closes them.
	Write, Read *sql.DB
	// Where names the database in messages: a path or a URL without secrets.
	Where string
}

// Store implements store.Store. It is safe for concurrent use. After a fault
// of the database is repaired the same value works again.
type Store struct {
	d           Dialect
	write, read *sql.DB
	where       string
	codec       *codec

	results *group[*putResult]
	chunks  *group[*putChunk]
	events  *group[[]model.Event]

	close    sync.Once
	closeErr error
}

var _ store.Store = (*Store)(nil)

// New brings the schema up to date and returns the store. It closes the pools
// when it fails. A schema newer than this program knows is model.ErrUsage.
func New(ctx context.Context, cfg Config) (*Store, error) {
	s, err := newStore(cfg)
	if err != nil {
		return nil, errors.Join(err, closePools(cfg.Write, cfg.Read))
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(s.fail(ctx, "opening the store", err), s.Close())
	}
	return s, nil
}

func newStore(cfg Config) (*Store, error) {
	c, err := newCodec()
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	s := &Store{d: cfg.Dialect, write: cfg.Write, read: cfg.Read, where: cfg.Where, codec: c}
	s.results = newBatches(s, s.putResults)
	s.chunks = newBatches(s, s.putChunks)
	s.events = newBatches(s, s.putEvents)
	return s, nil
}

// Where names the database for people: a path, or a URL without its password.
func (s *Store) Where() string { return s.where }

// Close waits for the batches under way and closes the database. Writes that
// come later fail with model.ErrUnavailable.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.results.close()
		s.chunks.close()
		s.events.close()
		s.closeErr = closePools(s.write, s.read)
		s.codec.close()
	})
	return s.closeErr
}

// closePools closes the readers first, so that SQLite's last connection, the
// one that tidies the log away, is the one that may write.
func closePools(write, read *sql.DB) error {
	if read == write {
		return write.Close()
	}
	return errors.Join(read.Close(), write.Close())
}

// Ping writes a row, because a database that can be reached may still be full
// or read-only.
func (s *Store) Ping(ctx context.Context) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `UPDATE store_probe SET at = ? WHERE id = 1`, instant(time.Now()))
		return err
	})
	return s.fail(ctx, "checking the store", err)
}
