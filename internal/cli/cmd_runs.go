package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/record"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/unit"
)

// runsFlags are the flags of `runs`, as they were typed.
type runsFlags struct {
	Name        string    `flag:"name" jsonschema_description:"Only runs with this in their name, or with a name of this pattern: * is any text, ? any character."`
	States      commaList `flag:"state" jsonschema_description:"Only runs in one of these states:"`
	Since       string    `flag:"since" jsonschema_description:"Only runs created since then: 2h, 7d, 2026-11-01 or 2026-11-01T08:00."`
	Until       string    `flag:"until" jsonschema_description:"Only runs created until then."`
	Kind        string    `flag:"kind" jsonschema_description:"Only runs of experiment files (experiment) or of job files (batch)."`
	Study       string    `flag:"study" jsonschema_description:"Only runs in which this study has measured:"`
	Campaign    string    `flag:"campaign" jsonschema_description:"Only the repetitions of this campaign: an id, a name or \"latest\"."`
	Repetitions bool      `flag:"repetitions" jsonschema_description:"List the repetitions of campaigns, too."`
	Limit       int       `flag:"limit" jsonschema_description:"List at most this many runs; 0 means all."`
}

func (c *common) runsCommand() *cobra.Command {
	opt := runsFlags{Limit: 20}
	cmd := newCommand("runs", "list runs, newest first",
		`Lists runs, newest first: those to which all given filters apply. --since and
--until take a span of time up to now (90m, 36h, 7d), a day (2026-11-01) or a time
(2026-11-01T08:00), in UTC as all times of scalebench. A day counts whole: --since
begins with it, --until ends with it.

Repetitions of campaigns are listed with --campaign, or with --repetitions all of
them; "scalebench campaign list" lists the campaigns.

A run that was cut because its server ended is listed as interrupted, with how to
go on.`,
		`  scalebench runs --name 'cpu-*' --since 7d
  scalebench runs --state failed,incomplete --study capacity
  scalebench runs --limit 0 --format csv`,
		func(ctx context.Context, _ []string) error {
			filter, err := opt.filter(time.Now())
			if err != nil {
				return err
			}
			return c.withService(ctx, toRead, func(ctx context.Context, s service) error {
				if opt.Campaign != "" {
					of, err := s.CampaignStatus(ctx, opt.Campaign, 0)
					if err != nil {
						return err
					}
					filter.Campaign = of.ID
				}
				list, err := s.Runs(ctx, filter)
				if err != nil {
					return err
				}
				return c.print(record.Runs(list.Runs, list.Matching, opt.given()), nil)
			})
		})
	f := cmd.Flags()
	addOptions(f, &opt)
	f.Lookup("state").Usage += " " + strings.Join(stateNames(), ", ")
	f.Lookup("study").Usage += " " + strings.Join(designingStudies(), ", ")
	c.addList(cmd)
	return cmd
}

// given reports whether anything is filtered.
func (o runsFlags) given() bool {
	return o.Name+o.Since+o.Until+o.Kind+o.Study+o.Campaign != "" || len(o.States) > 0
}

// filter is what the flags say at a moment.
func (o runsFlags) filter(now time.Time) (f store.Filter, err error) {
	f = store.Filter{Name: o.Name, Kind: model.RunKind(o.Kind), Study: o.Study, Limit: o.Limit,
		WithoutRepetitions: !o.Repetitions && o.Campaign == ""}
	if o.Limit < 0 {
		return f, usageError("--limit %d must be a number of runs, or 0 for all", o.Limit)
	}
	for _, s := range o.States {
		if err := oneOf("--state", s, stateNames()); err != nil {
			return f, err
		}
		f.States = append(f.States, model.RunState(s))
	}
	if o.Kind != "" {
		if err := oneOf("--kind", o.Kind, kindNames); err != nil {
			return f, err
		}
	}
	if o.Study != "" {
		if err := oneOf("--study", o.Study, designingStudies()); err != nil {
			return f, err
		}
	}
	if f.Since, _, err = moment("--since", o.Since, now); err != nil {
		return f, err
	}
	until, day, err := moment("--until", o.Until, now)
	if day {
		until = until.AddDate(0, 0, 1)
	}
	f.Until = until
	return f, err
}

var kindNames = []string{string(model.KindExperiment), string(model.KindBatch)}

func stateNames() (names []string) {
	for _, s := range model.RunStates() {
		names = append(names, string(s))
	}
	return names
}

// designingStudies are the studies that say what is measured.
func designingStudies() (names []string) {
	for _, k := range Studies() {
		if len(k.Phases) > 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// oneOf is an error unless a flag has one of its values.
func oneOf(flag, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usageError("%s %q must be one of %s", flag, value, strings.Join(allowed, ", "))
}

// moment reads a time: a span before now, or a point in UTC. day says that it
// is the beginning of a day of which no time was given; "" is the zero time.
func moment(flag, text string, now time.Time) (at time.Time, day bool, err error) {
	if text == "" {
		return at, false, nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, "2006-01-02 15:04", time.DateTime} {
		if at, err := time.Parse(form, text); err == nil && 1970 <= at.Year() && at.Year() < 2262 { // stores have nanoseconds in 64 bits
			return at.UTC(), form == time.DateOnly, nil
		}
	}
	if d, err := unit.ParseDuration(text); err == nil {
		return now.Add(-d.Std()), false, nil
	}
	return at, false,
		usageError("%s %q must be a span such as 90m, 36h or 7d, a day such as 2026-11-01, or a time such as "+
			"2026-11-01T08:00 (UTC)", flag, text)
}
