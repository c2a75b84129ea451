package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// Difference is something in a database that is not as it was loaded.
type Difference struct {
	Database string `json:"database"`
	Table    string `json:"table"`
	What     string `json:"what"`
}

// sampled is how many rows of a table are compared as they are.
const sampled = 200

// Check compares databases with what they were filled with: how many rows each
// table has, the sums of its columns and of the lengths of its texts, and some
// rows letter by letter. It returns what differs; what users have written does,
// too. Tables of each database are named in the order in which they are loaded.
func Check(ctx context.Context, urls []string) (Sizes, []Difference, error) {
	var sizes Sizes
	all, err := openNodes(urls)
	defer all.close()
	if err != nil {
		return sizes, nil, err
	}
	var found []Difference
	for i, n := range all {
		s, err := n.description(ctx)
		if err != nil {
			return sizes, nil, err
		}
		if i == 0 {
			sizes = s
		}
		if s != sizes {
			found = append(found, Difference{n.Address().String(), dataTable, "it was filled otherwise than the first database"})
		}
		for _, t := range tables() {
			what, err := n.compare(ctx, s, t)
			if err != nil {
				return sizes, nil, fmt.Errorf("reading %s of %s: %w", t.name, n.Address(), n.Explain(err))
			}
			for _, w := range what {
				found = append(found, Difference{n.Address().String(), t.name, w})
			}
		}
	}
	return sizes, found, nil
}

// compare returns what differs in a table.
func (n *database) compare(ctx context.Context, s Sizes, t table) ([]string, error) {
	names := append([]string{"rows"}, t.names()...)
	have := make([]string, len(names))
	into := make([]any, len(names))
	for i := range have {
		into[i] = &have[i]
	}
	if err := n.db.QueryRowContext(ctx, t.sums()).Scan(into...); err != nil {
		return nil, err
	}
	want, sample := s.expected(t)
	var found []string
	for i, name := range names {
		if i > 0 {
			name = "sum of " + name
		}
		if w := want[i].String(); have[i] != w {
			found = append(found, fmt.Sprintf("%s: %s, loaded were %s", name, have[i], w))
		}
	}
	for _, row := range sample {
		same, err := n.same(ctx, t, row)
		if err != nil {
			return nil, err
		}
		if !same {
			found = append(found, fmt.Sprintf("the row %v is not as it was loaded", t.key(row)))
		}
	}
	return found, nil
}

// expected is how many rows a table has, the sums of its columns, and a sample of
// its rows.
func (s Sizes) expected(t table) (sums []*big.Int, sample [][]any) {
	rows, total := s.rows(t.name)
	for range 1 + len(t.columns) {
		sums = append(sums, new(big.Int)) // dates of ten million rows need more than 64 bits
	}
	n, term := 0, new(big.Int)
	for row := range rows {
		if n%max(1, total/sampled) == 0 {
			sample = append(sample, row)
		}
		n++
		for i, v := range row {
			value, number := v.(int64)
			if !number {
				value = int64(len(v.(string)))
			}
			sums[1+i].Add(sums[1+i], term.SetInt64(value))
		}
	}
	sums[0].SetInt64(int64(n))
	return sums, sample
}

// same reports whether a row is as it was loaded.
func (n *database) same(ctx context.Context, t table, row []any) (bool, error) {
	into := make([]any, len(row))
	for i, v := range row {
		into[i] = reflect.New(reflect.TypeOf(v)).Interface()
	}
	find := sqlOf("SELECT " + strings.Join(t.names(), ", ") + " FROM " + t.name +
		" WHERE " + strings.ReplaceAll(t.primary, ", ", " = ? AND ") + " = ?")
	err := n.db.QueryRowContext(ctx, find.in(n.Store), t.key(row)...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && slices.EqualFunc(into, row, func(have, want any) bool {
		return reflect.ValueOf(have).Elem().Interface() == want
	}), err
}
