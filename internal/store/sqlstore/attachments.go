package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// putChunk is one PutArtifactChunk on its way.
type putChunk struct {
	key attemptKey
	row []any
}

// PutArtifactChunk implements store.Writer. Of two parts at one offset the
// longer is kept.
func (s *Store) PutArtifactChunk(ctx context.Context, task model.TaskID, attempt int, name string, offset int64, data []byte) error {
	doing := fmt.Sprintf("storing artifact %q of %s#%d", name, task, attempt)
	if name == "" || offset < 0 || offset+int64(len(data)) < 0 {
		return s.fail(ctx, doing, fmt.Errorf("%w: an artifact needs a name and an offset from 0, not %d", model.ErrInvalid, offset))
	}
	blob, err := s.codec.pack(data)
	if err != nil {
		return s.fail(ctx, doing, fmt.Errorf("%w: %w", model.ErrInvalid, err))
	}
	row := []any{task, attempt, name, offset, len(data), blob}
	return s.fail(ctx, doing, s.chunks.do(ctx, &putChunk{attemptKey{task, attempt}, row}))
}

func putChunks(t tx, chunks []*putChunk) ([]error, error) {
	ids := make([]string, len(chunks))
	for i, c := range chunks {
		ids[i] = string(c.key.task)
	}
	current, have, err := t.lockAttempts(ids)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(chunks))
	for i, c := range chunks {
		// What comes after the result, or for an attempt that never was, would count
		// as part of nothing.
		st, ok := current[c.key.task]
		switch {
		case !ok:
			errs[i] = errNoTask
		case c.key.attempt != st.attempt:
			errs[i] = stale(st.step, st.attempt)
		case have[c.key]:
			errs[i] = fmt.Errorf("%w: it has its result", model.ErrStale)
		default:
			// One statement a chunk: the same part may be twice in a batch, which
			// one statement with DO UPDATE does not accept.
			if _, err := t.insert("artifact_chunks (task, attempt, name, start, size, content)", [][]any{c.row},
				`ON CONFLICT (task, attempt, name, start) DO UPDATE SET size = excluded.size, content = excluded.content
				WHERE excluded.size > artifact_chunks.size`); err != nil {
				return nil, err
			}
		}
	}
	return errs, nil
}

// Artifact implements store.Reader. An artifact that lacks a part is
// model.ErrNotFound: half a file must not pass for a whole one.
func (s *Store) Artifact(ctx context.Context, task model.TaskID, attempt int, name string) ([]byte, error) {
	return read(ctx, s, fmt.Sprintf("reading artifact %q of %s#%d", name, task, attempt),
		func(t tx) (content []byte, err error) {
			var start int64
			var blob sql.RawBytes
			// Parts come in ascending order and may overlap.
			err = t.each([]any{&start, &blob}, func() error {
				part, err := s.codec.unpack(blob, nil)
				if err != nil {
					return err
				}
				have := int64(len(content))
				if start > have {
					return fmt.Errorf("%w: bytes %d to %d have not arrived", model.ErrNotFound, have, start-1)
				}
				if content == nil {
					content = []byte{} // an empty file is not a missing one
				}
				content = append(content, part[min(have-start, int64(len(part))):]...)
				return nil
			}, `SELECT start, content FROM artifact_chunks WHERE task = ? AND attempt = ? AND name = ? ORDER BY start`, task,
				attempt, name)
			if err == nil && content == nil {
				err = fmt.Errorf("%w: it is not stored", model.ErrNotFound)
			}
			return content, err
		})
}

// Artifacts implements store.Store.
func (s *Store) Artifacts(ctx context.Context, id model.RunID) ([]model.Artifact, error) {
	return read(ctx, s, fmt.Sprintf("listing the artifacts of run %s", id),
		func(t tx) ([]model.Artifact, error) { return t.artifacts(id) })
}

// artifacts lists the artifacts of a run; Size reaches to the end of the last
// part.
func (t tx) artifacts(run model.RunID) ([]model.Artifact, error) {
	return selectAll(t, func(a *model.Artifact) []any { return []any{&a.Task, &a.Attempt, &a.Name, &a.Size} },
		`SELECT c.task, c.attempt, c.name, MAX(c.start + c.size)
		FROM artifact_chunks c JOIN tasks t ON t.id = c.task JOIN steps s ON s.id = t.step
		WHERE s.run = ? GROUP BY s.number, t.position, c.task, c.attempt, c.name
		ORDER BY s.number, t.position, c.attempt, c.name`, run)
}

const eventColumns = `step, task, node, kind, severity, at, message`

// eventFields are all but the run, which an event of the fleet has not.
func eventFields(e *model.Event) []any {
	return []any{&e.Step, &e.Task, &e.Node, &e.Kind, &e.Severity, &e.Time, &e.Text}
}

// AddEvents implements store.Writer. Events that are live only
// are left out. An event without a run concerns the fleet; it
// is kept, and no run's data shows it. All of a call are stored, or none.
// Events have no identity: one that is added again after model.ErrUnavailable
// may be there twice.
func (s *Store) AddEvents(ctx context.Context, events ...model.Event) error {
	kept := slices.DeleteFunc(slices.Clone(events), model.Event.Live)
	if len(kept) == 0 {
		return nil
	}
	return s.fail(ctx, "adding events", s.events.do(ctx, kept))
}

func putEvents(t tx, calls [][]model.Event) ([]error, error) {
	var runs []string
	for _, call := range calls {
		for _, e := range call {
			runs = append(runs, string(e.Run))
		}
	}
	slices.Sort(runs)
	known := map[string]bool{"": true}
	var id string
	err := t.eachIn([]any{&id}, func() { known[id] = true }, "SELECT id FROM runs WHERE id IN (%s)", slices.Compact(runs))
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(calls))
	var rows [][]any
	for i, call := range calls {
		if k := slices.IndexFunc(call, func(e model.Event) bool { return !known[string(e.Run)] }); k >= 0 {
			errs[i] = fmt.Errorf("%w: unknown run %s", model.ErrNotFound, call[k].Run)
			continue
		}
		for _, e := range call {
			var run any // NULL for the fleet
			if e.Run != "" {
				run = e.Run
			}
			rows = append(rows, append([]any{run}, eventFields(&e)...))
		}
	}
	_, err = t.insert("events (run, "+eventColumns+")", rows, "")
	return errs, err
}

func (t tx) events(run model.RunID) ([]model.Event, error) {
	events, err := selectAll(t, eventFields, `SELECT `+eventColumns+` FROM events WHERE run = ? ORDER BY id`, run)
	for i := range events {
		events[i].Run = run
	}
	return events, err
}
