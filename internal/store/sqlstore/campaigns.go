package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

var campaignTable = table[model.Campaign]{
	name: "campaigns", noun: "campaign", columns: `id, name, state, reason, source_name, source, asked, server, created,
		begins, ends, seed, finished`,
	listed: "`scalebench campaign list` lists the campaigns", short: model.ErrNotFound,
	fields: func(c *model.Campaign) []any {
		return []any{&c.ID, &c.Name, &c.State, &c.Reason, &c.SourceName, &c.Source, &c.Asked, &c.Server, &c.Created,
			&c.Begin, &c.End, &c.Seed, &c.Finished}
	},
	about: func(c model.Campaign) (string, time.Time, string) { return string(c.ID), c.Created, c.Name },
}

// PutCampaign implements store.Campaigns.
func (s *Store) PutCampaign(ctx context.Context, c model.Campaign) error {
	return s.change(ctx, fmt.Sprintf("storing campaign %s", c.ID), func(t tx) error {
		if c.ID == "" {
			return model.Usagef("the campaign has no id")
		}
		return t.putCampaign(c)
	})
}

func (t tx) putCampaign(c model.Campaign) error {
	n, err := t.insert("campaigns ("+campaignTable.columns+")", [][]any{campaignTable.fields(&c)},
		`ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, server = excluded.server,
			ends = excluded.ends, finished = excluded.finished
		WHERE campaigns.name = excluded.name AND campaigns.source = excluded.source AND campaigns.seed = excluded.seed
			AND COALESCE(campaigns.begins, 0) = COALESCE(excluded.begins, 0)`)
	if err == nil && n == 0 {
		err = model.Usagef("another campaign already has this id")
	}
	return err
}

// ChangeCampaign implements store.Campaigns.
func (s *Store) ChangeCampaign(ctx context.Context, id string, change func(*model.Campaign) error) (c model.Campaign, err error) {
	err = s.change(ctx, fmt.Sprintf("changing campaign %q", id), func(t tx) error {
		c, err = t.campaign(id)
		if err == nil {
			c, err = campaignTable.one(t, whereID+s.d.ForUpdate, c.ID)
		}
		if err == nil {
			err = change(&c)
		}
		if err == nil {
			err = t.putCampaign(c)
		}
		return err
	})
	return c, err
}

// Campaign implements store.CampaignReader. Letters of a prefix may be in
// either case. A prefix of several campaigns is model.ErrUsage.
func (s *Store) Campaign(ctx context.Context, id string) (model.Campaign, error) {
	return read(ctx, s, fmt.Sprintf("looking up campaign %q", id),
		func(t tx) (model.Campaign, error) { return t.campaign(id) })
}

func (t tx) campaign(id string) (model.Campaign, error) {
	if id == "latest" {
		return campaignTable.one(t, newestFirst+` LIMIT 1`)
	}
	for _, where := range []string{whereID, ` WHERE name = ?` + newestFirst + ` LIMIT 1`} {
		c, err := campaignTable.one(t, where, id)
		if !errors.Is(err, errUnknown) {
			return c, err
		}
	}
	return campaignTable.byPrefix(t, id)
}

// Campaigns implements store.CampaignReader.
func (s *Store) Campaigns(ctx context.Context, states ...model.CampaignState) ([]model.Campaign, error) {
	where, args := "", []any(nil)
	if len(states) > 0 {
		where, args = ` WHERE state IN (`+marks(len(states))+`)`, values(states)
	}
	return read(ctx, s, "listing campaigns", func(t tx) ([]model.Campaign, error) {
		return selectAll(t, campaignTable.fields, `SELECT `+campaignTable.columns+` FROM campaigns`+where+newestFirst,
			args...)
	})
}

// deleteRuns is how many runs of a campaign are deleted in one transaction.
const deleteRuns = 64

// DeleteCampaign implements store.Campaigns.
func (s *Store) DeleteCampaign(ctx context.Context, id model.CampaignID, runs bool) error {
	doing := fmt.Sprintf("deleting campaign %s", id)
	for more := runs; more; {
		err := s.change(ctx, doing, func(t tx) error {
			// Their repetitions say so in the same transaction: this may be cut here.
			var numbers []int
			var number int
			err := t.each([]any{&number}, func() error {
				numbers = append(numbers, number)
				return nil
			}, `DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE campaign = ? LIMIT ?) RETURNING repetition`, id,
				deleteRuns)
			if more = len(numbers) == deleteRuns; err != nil || len(numbers) == 0 {
				return err
			}
			return t.runsDeleted(id, numbers)
		})
		if err != nil {
			return err
		}
	}
	return s.change(ctx, doing, func(t tx) error {
		// First the campaign, which waits for a repetition that is being created:
		// the runs that are left are all there are.
		n, err := t.exec(`DELETE FROM campaigns WHERE id = ?`, id)
		if err == nil && n == 0 {
			err = campaignTable.unknown()
		}
		if err != nil {
			return err
		}
		query := `UPDATE runs SET campaign = '', repetition = 0 WHERE campaign = ?`
		if runs {
			query = `DELETE FROM runs WHERE campaign = ?`
		}
		_, err = t.exec(query, id)
		return err
	})
}

// runsDeleted notes that the runs of repetitions were deleted.
func (t tx) runsDeleted(id model.CampaignID, numbers []int) error {
	_, err := t.exec(`UPDATE repetitions SET state = ?, run = '', reason = 'its run was deleted'
		WHERE campaign = ? AND number IN (`+marks(len(numbers))+`)`, append([]any{model.RepetitionDeleted, id},
		values(numbers)...)...)
	return err
}

func repetitionFields(r *model.Repetition) []any {
	return []any{&r.Campaign, &r.Number, &r.Due, &r.State, &r.Run, &r.Reason}
}

// insertRepetitions returns how many are new.
func (t tx) insertRepetitions(reps ...model.Repetition) (added int, err error) {
	var rows [][]any
	for i := range reps {
		rows = append(rows, repetitionFields(&reps[i]))
	}
	n, err := t.insert("repetitions (campaign, number, due, state, run, reason)", rows,
		"ON CONFLICT (campaign, number) DO NOTHING")
	return int(n), err
}

// AddRepetition implements store.Campaigns.
func (s *Store) AddRepetition(ctx context.Context, reps ...model.Repetition) (added int, err error) {
	err = s.change(ctx, "recording times of a schedule", func(t tx) (err error) {
		for _, r := range reps {
			if r.Number < 1 || r.State == model.RepetitionRun || r.State == "" || r.Run != "" {
				return model.Usagef("repetition %d of campaign %s is %q with run %q", r.Number, r.Campaign, r.State, r.Run)
			}
		}
		added, err = t.insertRepetitions(reps...)
		return err
	})
	return added, err
}

// CreateRepetition implements store.Campaigns. After model.ErrUnavailable it may
// have been created: asking again then answers that it is there.
func (s *Store) CreateRepetition(ctx context.Context, rep model.Repetition, run model.Run, nodes []model.Node, steps []model.Step) (created bool, err error) {
	err = s.change(ctx, fmt.Sprintf("creating repetition %d of campaign %s", rep.Number, rep.Campaign), func(t tx) error {
		created = false
		if rep.Number < 1 || rep.State != model.RepetitionRun || rep.Run != run.ID || rep.Campaign != run.Campaign ||
			rep.Number != run.Repetition {
			return model.Usagef("it is %q with run %q, and that run is repetition %d of campaign %s", rep.State, rep.Run,
				run.Repetition, run.Campaign)
		}
		// Who stops or pauses the campaign waits, or else nothing begins.
		c, err := campaignTable.one(t, whereID+s.d.ForUpdate, rep.Campaign)
		if err != nil || c.State != model.CampaignActive {
			return err
		}
		n, err := t.insertRepetitions(rep)
		if created = n == 1; err != nil || !created {
			return err
		}
		return t.createRun(run, nodes, steps)
	})
	return created && err == nil, err
}

// hasMeasured is true of a repetition p of which measurements are stored in
// brief.
const hasMeasured = `EXISTS (SELECT 1 FROM measured m WHERE m.campaign = p.campaign AND m.number = p.number AND m.version = ?)`

// Repetitions implements store.CampaignReader.
func (s *Store) Repetitions(ctx context.Context, id model.CampaignID, from, most int) ([]model.Repetition, error) {
	fields := func(r *model.Repetition) []any {
		return append(repetitionFields(r), &r.RunState, &r.Started, &r.Finished, &r.Measured)
	}
	return readCampaign(ctx, s, "listing the repetitions", id, func(t tx) ([]model.Repetition, error) {
		return selectAll(t, fields, `SELECT p.campaign, p.number, p.due, p.state, p.run,
				CASE WHEN p.reason = '' THEN COALESCE(r.reason, '') ELSE p.reason END,
				COALESCE(r.state, ''), r.started, r.finished, `+hasMeasured+`
			FROM repetitions p LEFT JOIN runs r ON r.id = p.run
			WHERE p.campaign = ? AND p.number >= ? ORDER BY p.number LIMIT ?`,
			store.MeasuredVersion, id, from, cmp.Or(most, math.MaxInt32))
	})
}

// readCampaign is read of a campaign that must exist.
func readCampaign[T any](ctx context.Context, s *Store, doing string, id model.CampaignID,
	fn func(tx) (T, error)) (T, error) {
	return read(ctx, s, fmt.Sprintf("%s of campaign %s", doing, id), func(t tx) (x T, err error) {
		if _, err := campaignTable.one(t, whereID, id); err != nil {
			return x, err
		}
		return fn(t)
	})
}

// Progress implements store.CampaignReader.
func (s *Store) Progress(ctx context.Context, id model.CampaignID) (model.CampaignProgress, error) {
	return readCampaign(ctx, s, "counting the repetitions", id, func(t tx) (model.CampaignProgress, error) {
		p := model.CampaignProgress{States: map[model.RepetitionState]int{}, Runs: map[model.RunState]int{}}
		var state model.RepetitionState
		var run model.RunState
		var count, measured, last int
		err := t.each([]any{&state, &run, &count, &measured, &last}, func() error {
			p.States[state] += count
			if run != "" {
				p.Runs[run] += count
			}
			p.Measured += measured
			p.Last = max(p.Last, last)
			return nil
		}, `SELECT state, run, COUNT(*), SUM(CASE WHEN measured THEN 1 ELSE 0 END), MAX(number)
			FROM (SELECT p.state, COALESCE(r.state, '') AS run, p.number, `+hasMeasured+` AS measured
				FROM repetitions p LEFT JOIN runs r ON r.id = p.run WHERE p.campaign = ?) AS p
			GROUP BY state, run`, store.MeasuredVersion, id)
		return p, err
	})
}

// PutMeasured implements store.Campaigns.
func (s *Store) PutMeasured(ctx context.Context, id model.CampaignID, number int, data []byte) error {
	return s.change(ctx, fmt.Sprintf("storing what repetition %d of campaign %s measured", number, id), func(t tx) error {
		blob, err := s.codec.pack(data)
		if err != nil {
			return fmt.Errorf("%w: %w", model.ErrInvalid, err)
		}
		var state model.RunState
		err = t.first([]any{&state}, `SELECT state FROM runs
			WHERE id = (SELECT run FROM repetitions WHERE campaign = ? AND number = ?)`+s.d.ForUpdate, id, number)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w: there is no such repetition, or it has no run", model.ErrNotFound)
		case err != nil:
			return err
		case !state.Final():
			return fmt.Errorf("%w: its run is %s", model.ErrStale, state)
		}
		if err := t.forgetMeasured(id, number); err != nil {
			return err
		}
		_, err = t.insert("measured (campaign, number, version, packed)",
			[][]any{{id, number, store.MeasuredVersion, blob}}, "")
		return err
	})
}

// forgetMeasured removes what a repetition measured, of all versions.
func (t tx) forgetMeasured(id model.CampaignID, number int) error {
	_, err := t.exec(`DELETE FROM measured WHERE campaign = ? AND number = ?`, id, number)
	return err
}

// Measured implements store.CampaignReader.
func (s *Store) Measured(ctx context.Context, id model.CampaignID) iter.Seq2[store.Measurement, error] {
	return func(yield func(store.Measurement, error) bool) {
		var scratch []byte
		_, err := readCampaign(ctx, s, "reading the measurements", id, func(t tx) (none struct{}, err error) {
			var m store.Measurement
			var blob sql.RawBytes
			return none, t.each([]any{&m.Number, &blob}, func() error {
				if m.Data, err = s.codec.unpack(blob, scratch[:0]); err != nil {
					return fmt.Errorf("repetition %d: %w", m.Number, err)
				}
				if blob[0] == packZstd {
					scratch = m.Data
				}
				if !yield(m, nil) {
					return errBreak
				}
				return nil
			}, `SELECT number, packed FROM measured WHERE campaign = ? AND version = ? ORDER BY number`, id,
				store.MeasuredVersion)
		})
		if err != nil && !errors.Is(err, errBreak) {
			yield(store.Measurement{}, err)
		}
	}
}
