package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/scalebench/scalebench/internal/model"
)

// commitBatch stores items in one transaction. put writes them and returns an
// error for each that it refuses (nil: written), or one for the transaction.
//
// When the transaction fails for a reason that may lie in one item, every item
// is tried alone; when the database is unavailable that would only multiply
// the waiting, and all get the error.
func commitBatch[T any](ctx context.Context, s *Store, doing string, items []T,
	put func(*sql.Tx, []T) ([]error, error)) []error {
	errs, err := batchTx(ctx, s, items, put)
	if err == nil {
		return errs
	}
	err = s.fail(ctx, doing, err)
	if len(items) > 1 && !errors.Is(err, model.ErrUnavailable) {
		return oneByOne(ctx, s, doing, items, put)
	}
	return repeat(err, len(items))
}

func batchTx[T any](ctx context.Context, s *Store, items []T,
	put func(*sql.Tx, []T) ([]error, error)) (errs []error, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		errs, err = put(tx, items)
		return err
	})
	return errs, err
}

func oneByOne[T any](ctx context.Context, s *Store, doing string, items []T,
	put func(*sql.Tx, []T) ([]error, error)) []error {
	errs := make([]error, 0, len(items))
	for i := range items {
		errs = append(errs, commitBatch(ctx, s, doing, items[i:i+1], put)...)
	}
	return errs
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
