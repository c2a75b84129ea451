package kv

import (
	"context"
)

// Remover is implemented by the Admin of a store from which records can be
// removed so that nothing is left of them that would slow it down. What a run
// has inserted is removed there before the next one, which is faster than to
// load all records again.
type Remover interface {
	// Remove removes the records under these keys, as far as they are there,
	// and says how many were.
	Remove(ctx context.Context, keys []string) (removed int64, err error)
	// Settle has the store do now what it would do sooner or later after so
	// many were removed, so that it does not disturb a measurement.
	Settle(ctx context.Context) error
}

// Inserted records are numbered on from those loaded, by as many generators as
// there were, each with gaps of its own (see inserts). So a few more numbers
// than there are records to remove are looked for: this many times as many, and
// this many.
const (
	insertedTimes = 2
	insertedSlack = 10_000
)

// removeInserted removes records that were inserted into a data set, of which
// there are so many more than were loaded. It reports whether these were all;
// otherwise somebody else has added something.
func removeInserted(ctx context.Context, r Remover, set Dataset, more int64) (all bool, err error) {
	keys := make([]string, 0, maxBatch)
	end := set.Records + insertedTimes*more + insertedSlack
	for record := set.Records; more > 0 && record < end; {
		keys = keys[:0]
		for ; len(keys) < maxBatch && record < end; record++ {
			keys = append(keys, set.Key(record))
		}
		removed, err := r.Remove(ctx, keys)
		if err != nil {
			return false, err
		}
		more -= removed
	}
	if more != 0 {
		return false, nil
	}
	return true, r.Settle(ctx)
}
