package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// errClosed is what a write gets after Close.
var errClosed = fmt.Errorf("%w: the store is closed", model.ErrUnavailable)

// fail says what was being done and gives a driver error its kind. Errors
// that have a kind keep it.
func (s *Store) fail(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasKind(err):
		return fmt.Errorf("%s: %w", doing, err)
	case ctx.Err() != nil:
		// The driver's error is only the echo of the caller's own decision.
		return fmt.Errorf("%s: %w", doing, ended(ctx.Err()))
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", doing, err)
	}
	f := s.classify(err)
	if f.Advice != "" {
		err = fmt.Errorf("%w (%s)", err, f.Advice)
	}
	if f.Kind == nil {
		return fmt.Errorf("%s in %s: %w", doing, s.where, err)
	}
	return fmt.Errorf("%s in %s: %w: %w", doing, s.where, f.Kind, err)
}

// classify knows the errors of database/sql and context; the dialect knows
// the rest.
func (s *Store) classify(err error) Fault {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Fault{Kind: model.ErrUnavailable, Advice: "the database did not answer in time"}
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		return Fault{Kind: model.ErrUnavailable, Advice: "the connection was lost"}
	case err.Error() == "sql: database is closed":
		// database/sql does not export it.
		return Fault{Kind: model.ErrUnavailable, Advice: "the store was closed"}
	}
	return s.d.Classify(err)
}

// ended makes a deadline that passed model.ErrUnavailable: whether the write
// took effect is unknown, and trying again is right. A cancelled caller asked
// for it and gets just that.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	}
	return err
}

func hasKind(err error) bool {
	for _, kind := range []error{
		model.ErrUsage, model.ErrNotFound, model.ErrInvalid,
		model.ErrDenied, model.ErrStale, model.ErrUnavailable,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
