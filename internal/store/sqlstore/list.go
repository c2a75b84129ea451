package sqlstore

import (
	"context"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// listColumns are runColumns without the file, which may be long.
var listColumns = strings.Replace(runTable.columns, " source,", " '' AS source,", 1)

// Runs implements store.Reader. The database filters, so that a long history
// costs little.
func (s *Store) Runs(ctx context.Context, f store.Filter) (store.RunList, error) {
	where, args := conditions(f)
	query, limited := `SELECT `+listColumns+` FROM runs`+where+newestFirst, args
	if f.Limit > 0 {
		query, limited = query+` LIMIT ?`, append(args[:len(args):len(args)], f.Limit)
	}
	return read(ctx, s, "listing runs", func(t tx) (out store.RunList, err error) {
		if out.Runs, err = selectAll(t, runTable.fields, query, limited...); err != nil {
			return out, err
		}
		out.Matching = len(out.Runs)
		if f.Limit > 0 && out.Matching == f.Limit {
			err = t.first([]any{&out.Matching}, `SELECT COUNT(*) FROM runs`+where, args...)
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
		// A part of a name, or a pattern with * and ?.
		pattern := "%" + escapeLike(f.Name) + "%"
		if strings.ContainsAny(f.Name, "*?") {
			pattern = strings.NewReplacer("*", "%", "?", "_").Replace(escapeLike(f.Name))
		}
		add(`LOWER(name) LIKE LOWER(?) ESCAPE '!'`, pattern)
	}
	if len(f.States) > 0 {
		// What a server left behind that has ended is what the next one will make of it.
		add(`CASE WHEN state IN (?, ?) AND server <> '' AND server = ? THEN ? ELSE state END IN (`+marks(len(f.States))+`)`,
			append([]any{model.RunPending, model.RunRunning, f.Ended, model.RunInterrupted}, values(f.States)...)...)
	}
	if f.Kind != "" {
		add(`kind = ?`, f.Kind)
	}
	if f.Campaign != "" {
		add(`campaign = ?`, f.Campaign)
	}
	if f.WithoutRepetitions {
		add(`campaign = ''`)
	}
	if f.Study != "" {
		add(`EXISTS (SELECT 1 FROM steps WHERE steps.run = runs.id AND steps.treatment LIKE ? ESCAPE '!')`,
			`%"study":"`+escapeLike(f.Study)+`"%`)
	}
	if !f.Since.IsZero() {
		add(`created >= ?`, f.Since)
	}
	if !f.Until.IsZero() {
		add(`created < ?`, f.Until)
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
