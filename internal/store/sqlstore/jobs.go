package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// jobVersion is that of the packed part of a job's record.
const jobVersion = 1

// layoutJob is what the column packed holds: all but step, attempt, node, key, outcome.
func layoutJob(w *wire, j *store.Job) {
	version := uint64(jobVersion)
	if w.uint(&version); version != jobVersion {
		w.fail("its version is %d, and this program knows %d", version, jobVersion)
		return
	}
	r := &j.Record
	w.uint(&r.Lease)
	letters(w, &r.Name)
	integer(w, &r.Try)
	integer(w, &r.Slot)
	letters(w, &r.Error)
	for _, x := range []*float64{&r.Begin, &r.End, &r.Wait, &r.Get, &r.Compute, &r.Put, &r.CPU} {
		w.float(x)
	}
	integer(w, &r.In)
	integer(w, &r.Out)
	letters(w, &r.Output)
}

// putJobs is one PutJobs on its way.
type putJobs struct {
	step    model.StepID
	attempt int
	records []jobRow
}

// jobRow is one record, packed.
type jobRow struct {
	key    itemKey
	row    []any
	packed []byte
	counts bool // set by the batch
}

// itemKey names an item.
type itemKey struct {
	step model.StepID
	item string
}

// PutJobs implements store.Queues.
func (s *Store) PutJobs(ctx context.Context, records []store.Job) (counts []bool, err error) {
	if len(records) == 0 {
		return nil, nil
	}
	first := records[0]
	p := &putJobs{step: first.Step, attempt: first.Attempt, records: make([]jobRow, len(records))}
	doing := fmt.Sprintf("storing %d jobs of step %s", len(records), first.Step)
	for i := range records {
		j := &records[i]
		if j.Step != first.Step || j.Attempt != first.Attempt {
			return nil, s.fail(ctx, doing, fmt.Errorf("%w: a job of step %s#%d among them", model.ErrInvalid, j.Step, j.Attempt))
		}
		w := wire{buf: []byte{packRaw}} // too short to gain from compression
		layoutJob(&w, j)
		p.records[i] = jobRow{key: itemKey{j.Step, j.Key}, packed: w.buf,
			row: []any{j.Step, j.Key, j.Attempt, j.Node, j.Outcome, w.buf}}
	}
	if err := s.jobs.do(ctx, p); err != nil {
		return nil, s.fail(ctx, doing, err)
	}
	counts = make([]bool, len(records))
	for i := range p.records {
		counts[i] = p.records[i].counts
	}
	return counts, nil
}

// storeJobs stores a batch. Of records of one item the first is kept.
func storeJobs(t tx, calls []*putJobs) ([]error, error) {
	steps := make([]string, len(calls))
	for i, c := range calls {
		steps[i] = string(c.step)
	}
	current, err := t.lockSteps(steps)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(calls))
	kept := make(map[itemKey][]byte) // the packed record that counts, of items of the batch
	var fresh []*jobRow
	for i, c := range calls {
		if errs[i] = checkAttempt(current, c.step, c.attempt); errs[i] != nil {
			continue
		}
		for k := range c.records {
			r := &c.records[k]
			if _, twice := kept[r.key]; !twice {
				kept[r.key] = r.packed
				fresh = append(fresh, r)
			}
		}
	}
	if err := t.insertJobs(fresh, kept); err != nil {
		return nil, err
	}
	for i, c := range calls {
		for k := range c.records {
			r := &c.records[k]
			r.counts = errs[i] == nil && bytes.Equal(kept[r.key], r.packed)
		}
	}
	return errs, nil
}

// insertJobs inserts records of different items. Where an item has one already, that
// takes the place of the new one in kept. That is rare, so that rows are only counted at
// first: a statement that returns them takes twice as long.
func (t tx) insertJobs(fresh []*jobRow, kept map[itemKey][]byte) error {
	return split(len(fresh), func(from, to int) error {
		rows := make([][]any, 0, to-from)
		for _, r := range fresh[from:to] {
			rows = append(rows, r.row)
		}
		n, err := t.insert("jobs (step, item, attempt, node, outcome, packed)", rows, "ON CONFLICT DO NOTHING")
		if err != nil || int(n) == to-from {
			return err
		}
		for _, r := range fresh[from:to] {
			var packed []byte
			err := t.first([]any{&packed}, `SELECT packed FROM jobs WHERE step = ? AND item = ?`, r.key.step, r.key.item)
			if err != nil {
				return err
			}
			kept[r.key] = packed
		}
		return nil
	})
}

// lockSteps reads the current attempts of steps, which stay as they are until the
// transaction ends.
func (t tx) lockSteps(ids []string) (map[model.StepID]int, error) {
	slices.Sort(ids) // so that all batches take their locks in the same order
	current := make(map[model.StepID]int)
	var id model.StepID
	var attempt int
	err := t.eachIn([]any{&id, &attempt}, func() { current[id] = attempt },
		`SELECT id, attempt FROM steps WHERE id IN (%s) ORDER BY id`+t.s.d.ForShareStep, slices.Compact(ids))
	return current, err
}

func checkAttempt(current map[model.StepID]int, step model.StepID, attempt int) error {
	switch now, ok := current[step]; {
	case !ok:
		return fmt.Errorf("%w: step %s does not exist, or its run was deleted", model.ErrNotFound, step)
	case now != attempt:
		return stale(step, now)
	}
	return nil
}

// PutItems implements store.Queues.
func (s *Store) PutItems(ctx context.Context, step model.StepID, attempt int, a jobs.Add) error {
	return s.change(ctx, fmt.Sprintf("storing items of step %s", step), func(t tx) error {
		current, err := t.lockSteps([]string{string(step)})
		if err == nil {
			err = checkAttempt(current, step, attempt)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM job_items WHERE step = ? AND position >= ?`, step, a.From)
		}
		if err != nil {
			return err
		}
		rows := make([][]any, 0, len(a.Names)+1)
		for i, name := range a.Names {
			rows = append(rows, []any{step, a.From + int64(i), name})
		}
		if a.Last {
			rows = append(rows, []any{step, a.From + int64(len(a.Names)), ""})
		}
		_, err = t.insert("job_items (step, position, name)", rows, "")
		return err
	})
}

// Items implements store.Queues.
func (s *Store) Items(ctx context.Context, step model.StepID) (names []string, all bool, over []jobs.Over, err error) {
	err = s.fail(ctx, fmt.Sprintf("reading the items of step %s", step), s.inSnapshot(ctx, func(t tx) error {
		var name string
		err := t.each([]any{&name}, func() error {
			if all = name == ""; !all {
				names = append(names, name)
			}
			return nil
		}, `SELECT name FROM job_items WHERE step = ? ORDER BY position`, step)
		if err != nil {
			return err
		}
		over, err = selectAll(t, func(o *jobs.Over) []any { return []any{&o.Key, &o.Outcome} },
			`SELECT item, outcome FROM jobs WHERE step = ?`, step)
		return err
	}))
	return names, all, over, err
}

// RunJobs implements store.Reader.
func (s *Store) RunJobs(ctx context.Context, id model.RunID) ([]store.Job, error) {
	return read(ctx, s, fmt.Sprintf("reading the jobs of run %s", id), func(t tx) (list []store.Job, err error) {
		if _, err := runTable.one(t, whereID, id); err != nil {
			return nil, err
		}
		var w wire
		var j store.Job
		var packed sql.RawBytes
		err = t.each([]any{&j.Step, &j.Key, &j.Attempt, &j.Node, &j.Outcome, &packed}, func() error {
			if err := readRecord(s.codec, &w, packed, &j, layoutJob); err != nil {
				return fmt.Errorf("job %s of step %s: %w", j.Key, j.Step, err)
			}
			list = append(list, j)
			return nil
		}, `SELECT j.step, j.item, j.attempt, j.node, j.outcome, j.packed
			FROM steps s JOIN jobs j ON j.step = s.id WHERE s.run = ? ORDER BY s.number, j.item`, id)
		return list, err
	})
}
