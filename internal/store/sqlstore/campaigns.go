package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

const campaignColumns = `id, name, state, reason, source_name, source, asked, server, created, begins, ends, seed, ` +
	`finished`

func campaignFields(c *model.Campaign) []any {
	return []any{(*text)(&c.ID), (*text)(&c.Name), (*text)(&c.State), (*text)(&c.Reason), (*text)(&c.SourceName),
		(*text)(&c.Source), document{&c.Asked},
		(*text)(&c.Server), (*instant)(&c.Created), (*instant)(&c.Begin), (*instant)(&c.End), &c.Seed, (*instant)(&c.Finished)}
}

// PutCampaign implements store.Campaigns.
func (s *Store) PutCampaign(ctx context.Context, c model.Campaign) error {
	doing := fmt.Sprintf("storing campaign %s", c.ID)
	if c.ID == "" {
		return s.fail(ctx, doing, fmt.Errorf("%w: the campaign has no id", model.ErrUsage))
	}
	return s.change(ctx, doing, func(tx *sql.Tx) error { return s.putCampaign(ctx, tx, c) })
}

func (s *Store) putCampaign(ctx context.Context, tx *sql.Tx, c model.Campaign) error {
	query, args := insertQuery("campaigns ("+campaignColumns+")", [][]any{campaignFields(&c)},
		`ON CONFLICT (id) DO UPDATE SET state = excluded.state, reason = excluded.reason, server = excluded.server,
			ends = excluded.ends, finished = excluded.finished
		WHERE campaigns.name = excluded.name AND campaigns.source = excluded.source AND campaigns.seed = excluded.seed
			AND COALESCE(campaigns.begins, 0) = COALESCE(excluded.begins, 0)`)
	n, err := s.exec(ctx, tx, query, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: another campaign already has this id", model.ErrUsage)
	}
	return err
}

// ChangeCampaign implements store.Campaigns.
func (s *Store) ChangeCampaign(ctx context.Context, id string, change func(*model.Campaign) error) (c model.Campaign, err error) {
	err = s.change(ctx, fmt.Sprintf("changing campaign %q", id), func(tx *sql.Tx) error {
		if c, err = s.findCampaign(ctx, tx, id); err != nil {
			return err
		}
		if c, err = s.oneCampaign(ctx, tx, ` WHERE id = ?`+s.d.ForUpdate, text(c.ID)); err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		return s.putCampaign(ctx, tx, c)
	})
	return c, err
}

var errNoCampaign = fmt.Errorf("%w: unknown campaign; `scalebench campaign list` lists the campaigns", model.ErrNotFound)

// Campaign implements store.CampaignReader. Letters of a prefix may be in
// either case. A prefix of several campaigns is model.ErrUsage.
func (s *Store) Campaign(ctx context.Context, id string) (model.Campaign, error) {
	return read(ctx, s, fmt.Sprintf("looking up campaign %q", id), func(tx *sql.Tx) (model.Campaign, error) {
		return s.findCampaign(ctx, tx, id)
	})
}

func (s *Store) findCampaign(ctx context.Context, tx *sql.Tx, id string) (model.Campaign, error) {
	if id == "latest" {
		return s.oneCampaign(ctx, tx, newestFirst+` LIMIT 1`)
	}
	for _, where := range []string{` WHERE id = ?`, ` WHERE name = ?` + newestFirst + ` LIMIT 1`} {
		c, err := s.oneCampaign(ctx, tx, where, text(id))
		if !errors.Is(err, errNoCampaign) {
			return c, err
		}
	}
	if len(id) < minPrefix {
		return model.Campaign{}, fmt.Errorf("%w: no campaign has this name; give the name, at least %d characters of the id, or `latest`; `scalebench campaign list` lists the campaigns",
			model.ErrNotFound, minPrefix)
	}
	prefix := strings.ToUpper(id)
	return s.oneCampaign(ctx, tx, ` WHERE substr(id, 1, ?) = ?`+newestFirst, len([]rune(prefix)), text(prefix))
}

func (s *Store) oneCampaign(ctx context.Context, tx *sql.Tx, where string, args ...any) (model.Campaign, error) {
	all, err := selectAll(ctx, s, tx, campaignFields, `SELECT `+campaignColumns+` FROM campaigns`+where, args...)
	switch {
	case err != nil:
		return model.Campaign{}, err
	case len(all) == 0:
		return model.Campaign{}, errNoCampaign
	case len(all) > 1:
		return model.Campaign{}, ambiguous("campaigns", all, func(c model.Campaign) candidate { return candidate{string(c.ID), c.Created, c.Name} })
	}
	return all[0], nil
}

// Campaigns implements store.CampaignReader.
func (s *Store) Campaigns(ctx context.Context, states ...model.CampaignState) ([]model.Campaign, error) {
	where, args := "", []any(nil)
	if len(states) > 0 {
		where = ` WHERE state IN (` + marks(len(states)) + `)`
		for _, state := range states {
			args = append(args, text(state))
		}
	}
	return read(ctx, s, "listing campaigns", func(tx *sql.Tx) ([]model.Campaign, error) {
		return selectAll(ctx, s, tx, campaignFields, `SELECT `+campaignColumns+` FROM campaigns`+where+newestFirst, args...)
	})
}

// deleteRuns is how many runs of a campaign are deleted in one transaction.
const deleteRuns = 64

// DeleteCampaign implements store.Campaigns.
func (s *Store) DeleteCampaign(ctx context.Context, id model.CampaignID, runs bool) error {
	doing := fmt.Sprintf("deleting campaign %s", id)
	for more := runs; more; {
		err := s.change(ctx, doing, func(tx *sql.Tx) error {
			// Their repetitions say so in the same transaction: this may be cut here.
			var numbers []any
			err := s.each(ctx, tx, func(rows *sql.Rows) error {
				var number int
				err := rows.Scan(&number)
				numbers = append(numbers, number)
				return err
			}, `DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE campaign = ? LIMIT ?) RETURNING repetition`, text(id), deleteRuns)
			if more = len(numbers) == deleteRuns; err != nil || len(numbers) == 0 {
				return err
			}
			return s.runsDeleted(ctx, tx, id, numbers)
		})
		if err != nil {
			return err
		}
	}
	return s.change(ctx, doing, func(tx *sql.Tx) error {
		// First the campaign, which waits for a repetition that is being created:
		// the runs that are left are all there are.
		n, err := s.exec(ctx, tx, `DELETE FROM campaigns WHERE id = ?`, text(id))
		if err == nil && n == 0 {
			err = errNoCampaign
		}
		if err != nil {
			return err
		}
		if runs {
			_, err = s.exec(ctx, tx, `DELETE FROM runs WHERE campaign = ?`, text(id))
		} else {
			_, err = s.exec(ctx, tx, `UPDATE runs SET campaign = '', repetition = 0 WHERE campaign = ?`, text(id))
		}
		return err
	})
}

// runsDeleted notes that the runs of repetitions were deleted.
func (s *Store) runsDeleted(ctx context.Context, tx *sql.Tx, id model.CampaignID, numbers []any) error {
	_, err := s.exec(ctx, tx, `UPDATE repetitions SET state = ?, run = '', reason = 'its run was deleted'
		WHERE campaign = ? AND number IN (`+marks(len(numbers))+`)`, append([]any{text(model.RepetitionDeleted), text(id)}, numbers...)...)
	return err
}

const repetitionColumns = `campaign, number, due, state, run, reason`

func repetitionFields(r *model.Repetition) []any {
	return []any{(*text)(&r.Campaign), &r.Number, (*instant)(&r.Due), (*text)(&r.State), (*text)(&r.Run), (*text)(&r.Reason)}
}

// insertRepetitions returns how many are new.
func (s *Store) insertRepetitions(ctx context.Context, tx *sql.Tx, reps []model.Repetition) (added int, err error) {
	var rows [][]any
	for i := range reps {
		rows = append(rows, repetitionFields(&reps[i]))
	}
	err = split(len(rows), func(from, to int) error {
		query, args := insertQuery("repetitions ("+repetitionColumns+")", rows[from:to], "ON CONFLICT (campaign, number) DO NOTHING")
		n, err := s.exec(ctx, tx, query, args...)
		added += int(n)
		return err
	})
	return added, err
}

// AddRepetition implements store.Campaigns.
func (s *Store) AddRepetition(ctx context.Context, reps ...model.Repetition) (added int, err error) {
	const doing = "recording times of a schedule"
	for _, r := range reps {
		if r.Number < 1 || r.State == model.RepetitionRun || r.State == "" || r.Run != "" {
			return 0, s.fail(ctx, doing, fmt.Errorf("%w: repetition %d of campaign %s is %q with run %q", model.ErrUsage, r.Number, r.Campaign, r.State, r.Run))
		}
	}
	err = s.change(ctx, doing, func(tx *sql.Tx) (err error) {
		added, err = s.insertRepetitions(ctx, tx, reps)
		return err
	})
	return added, err
}

// CreateRepetition implements store.Campaigns. After model.ErrUnavailable it may
// have been created: asking again then answers that it is there.
func (s *Store) CreateRepetition(ctx context.Context, rep model.Repetition, run model.Run, nodes []model.Node, steps []model.Step) (created bool, err error) {
	doing := fmt.Sprintf("creating repetition %d of campaign %s", rep.Number, rep.Campaign)
	err = checkRun(run, nodes, steps)
	if err == nil && (rep.Number < 1 || rep.State != model.RepetitionRun || rep.Run != run.ID || rep.Campaign != run.Campaign || rep.Number != run.Repetition) {
		err = fmt.Errorf("%w: it is %q with run %q, and that run is repetition %d of campaign %s", model.ErrUsage, rep.State, rep.Run, run.Repetition, run.Campaign)
	}
	if err != nil {
		return false, s.fail(ctx, doing, err)
	}
	err = s.change(ctx, doing, func(tx *sql.Tx) error {
		created = false
		// Who stops or pauses the campaign waits, or else nothing begins.
		c, err := s.oneCampaign(ctx, tx, ` WHERE id = ?`+s.d.ForUpdate, text(rep.Campaign))
		if err != nil || c.State != model.CampaignActive {
			return err
		}
		n, err := s.insertRepetitions(ctx, tx, []model.Repetition{rep})
		if created = n == 1; err != nil || !created {
			return err
		}
		return s.createRun(ctx, tx, run, nodes, steps)
	})
	return created && err == nil, err
}

// hasMeasured is true of a repetition p of which measurements are stored in
// brief.
const hasMeasured = `EXISTS (SELECT 1 FROM measured m WHERE m.campaign = p.campaign AND m.number = p.number AND m.version = ?)`

// Repetitions implements store.CampaignReader.
func (s *Store) Repetitions(ctx context.Context, id model.CampaignID, from, most int) ([]model.Repetition, error) {
	fields := func(r *model.Repetition) []any {
		return append(repetitionFields(r), (*text)(&r.RunState), (*instant)(&r.Started), (*instant)(&r.Finished), &r.Measured)
	}
	return readCampaign(ctx, s, "listing the repetitions", id, func(tx *sql.Tx) ([]model.Repetition, error) {
		return selectAll(ctx, s, tx, fields, `SELECT p.campaign, p.number, p.due, p.state, p.run, CASE WHEN p.reason = '' THEN COALESCE(r.reason, '') ELSE p.reason END,
				COALESCE(r.state, ''), r.started, r.finished, `+hasMeasured+`
			FROM repetitions p LEFT JOIN runs r ON r.id = p.run
			WHERE p.campaign = ? AND p.number >= ? ORDER BY p.number LIMIT ?`, store.MeasuredVersion, text(id), from, cmp.Or(most, math.MaxInt32))
	})
}

// readCampaign is read of a campaign that must exist.
func readCampaign[T any](ctx context.Context, s *Store, doing string, id model.CampaignID, fn func(*sql.Tx) (T, error)) (T, error) {
	return read(ctx, s, fmt.Sprintf("%s of campaign %s", doing, id), func(tx *sql.Tx) (x T, err error) {
		if _, err := s.oneCampaign(ctx, tx, ` WHERE id = ?`, text(id)); err != nil {
			return x, err
		}
		return fn(tx)
	})
}

// Progress implements store.CampaignReader.
func (s *Store) Progress(ctx context.Context, id model.CampaignID) (model.CampaignProgress, error) {
	return readCampaign(ctx, s, "counting the repetitions", id, func(tx *sql.Tx) (model.CampaignProgress, error) {
		p := model.CampaignProgress{States: map[model.RepetitionState]int{}, Runs: map[model.RunState]int{}}
		err := s.each(ctx, tx, func(rows *sql.Rows) error {
			var state model.RepetitionState
			var run model.RunState
			var count, measured, last int
			if err := rows.Scan((*text)(&state), (*text)(&run), &count, &measured, &last); err != nil {
				return err
			}
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
			GROUP BY state, run`, store.MeasuredVersion, text(id))
		return p, err
	})
}

// PutMeasured implements store.Campaigns.
func (s *Store) PutMeasured(ctx context.Context, id model.CampaignID, number int, data []byte) error {
	doing := fmt.Sprintf("storing what repetition %d of campaign %s measured", number, id)
	blob, err := s.codec.pack(data)
	if err != nil {
		return s.fail(ctx, doing, fmt.Errorf("%w: %w", model.ErrInvalid, err))
	}
	return s.change(ctx, doing, func(tx *sql.Tx) error {
		var state model.RunState
		err := tx.QueryRowContext(ctx, s.d.bind(`SELECT state FROM runs
			WHERE id = (SELECT run FROM repetitions WHERE campaign = ? AND number = ?)`+s.d.ForUpdate), text(id), number).Scan((*text)(&state))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w: there is no such repetition, or it has no run", model.ErrNotFound)
		case err != nil:
			return err
		case !state.Final():
			return fmt.Errorf("%w: its run is %s", model.ErrStale, state)
		}
		if err := s.forgetMeasured(ctx, tx, id, number); err != nil {
			return err
		}
		return s.insert(ctx, tx, "measured (campaign, number, version, packed)",
			[][]any{{text(id), number, store.MeasuredVersion, blob}}, "")
	})
}

// forgetMeasured removes what a repetition measured, of all versions.
func (s *Store) forgetMeasured(ctx context.Context, tx *sql.Tx, id model.CampaignID, number int) error {
	_, err := s.exec(ctx, tx, `DELETE FROM measured WHERE campaign = ? AND number = ?`, text(id), number)
	return err
}

// Measured implements store.CampaignReader.
func (s *Store) Measured(ctx context.Context, id model.CampaignID) iter.Seq2[store.Measurement, error] {
	return func(yield func(store.Measurement, error) bool) {
		var scratch []byte
		_, err := readCampaign(ctx, s, "reading the measurements", id, func(tx *sql.Tx) (none struct{}, err error) {
			return none, s.each(ctx, tx, func(rows *sql.Rows) error {
				var m store.Measurement
				var blob sql.RawBytes
				if err := rows.Scan(&m.Number, &blob); err != nil {
					return err
				}
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
			}, `SELECT number, packed FROM measured WHERE campaign = ? AND version = ? ORDER BY number`, text(id), store.MeasuredVersion)
		})
		if err != nil && !errors.Is(err, errBreak) {
			yield(store.Measurement{}, err)
		}
	}
}
