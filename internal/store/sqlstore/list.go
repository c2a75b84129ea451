package sqlstore

import (
	"context"
	"database/sql"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// listColumns are runColumns without the file, which may be long.
var listColumns = strings.Replace(runColumns, " source,", " '' AS source,", 1)

// Runs implements store.Reader. The database filters, so that a long history
// costs little.
func (s *Store) Runs(ctx context.Context, f store.Filter) (store.RunList, error) {
	where, args := conditions(f)
	query, limited := `SELECT `+listColumns+` FROM runs`+where+newestFirst, args
	if f.Limit > 0 {
		query, limited = query+` LIMIT ?`, append(args[:len(args):len(args)], f.Limit)
	}
	return read(ctx, s, "listing runs", func(tx *sql.Tx) (out store.RunList, err error) {
		if out.Runs, err = selectAll(ctx, s, tx, runFields, query, limited...); err != nil {
			return out, err
		}
		out.Matching = len(out.Runs)
		if f.Limit > 0 && out.Matching == f.Limit {
			err = tx.QueryRowContext(ctx, s.d.bind(`SELECT COUNT(*) FROM runs`+where), args...).Scan(&out.Matching)
		}
		return out, err
	})
}

// conditions are a filter as a WHERE clause with its arguments.
func conditions(f store.Filter) (where string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all, args = append(all, condition), append(args, values...)
	}
	if f.Name != "" {
		add(`LOWER(name) LIKE LOWER(?) ESCAPE '!'`, text(likePattern(f.Name)))
	}
	if len(f.States) > 0 {
		// What a server left behind that has ended is what the next one will make of it.
		values := []any{text(model.RunPending), text(model.RunRunning), text(f.Ended), text(model.RunInterrupted)}
		for _, state := range f.States {
			values = append(values, text(state))
		}
		add(`CASE WHEN state IN (?, ?) AND server <> '' AND server = ? THEN ? ELSE state END IN (?`+strings.Repeat(", ?", len(f.States)-1)+`)`, values...)
	}
	if f.Kind != "" {
		add(`kind = ?`, text(f.Kind))
	}
	if f.Campaign != "" {
		add(`campaign = ?`, text(f.Campaign))
	}
	if f.WithoutRepetitions {
		add(`campaign = ''`)
	}
	if f.Study != "" {
		add(`EXISTS (SELECT 1 FROM steps WHERE steps.run = runs.id AND steps.treatment LIKE ? ESCAPE '!')`,
			text(`%"study":"`+escapeLike(f.Study)+`"%`))
	}
	if !f.Since.IsZero() {
		add(`created >= ?`, instant(f.Since))
	}
	if !f.Until.IsZero() {
		add(`created < ?`, instant(f.Until))
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

// escapeLike takes its meaning from what means something in a pattern of LIKE.
func escapeLike(s string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s)
}

// likePattern is a part of a name, or a pattern with * and ?, for LIKE.
func likePattern(name string) string {
	if !strings.ContainsAny(name, "*?") {
		return "%" + escapeLike(name) + "%"
	}
	return strings.NewReplacer("*", "%", "?", "_").Replace(escapeLike(name))
}
