package control

import (
	"context"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/store"
)

// ChangeStored does to a campaign what a change says, in the store. own is the key
// of the server that asks, which minds a campaign that it resumes; empty where no
// server runs.
func ChangeStored(ctx context.Context, st store.Store, change CampaignChange, own string, now time.Time) (model.Campaign, error) {
	if change.Delete {
		return deleteStored(ctx, st, change)
	}
	return st.ChangeCampaign(ctx, change.ID, func(c *model.Campaign) error { return change.apply(c, own, now) })
}

// deleteStored deletes a campaign that is over. It is stopped first, so that no
// other command extends it meanwhile.
func deleteStored(ctx context.Context, st store.Store, change CampaignChange) (model.Campaign, error) {
	c, err := st.Campaign(ctx, change.ID)
	if err == nil && change.DeleteRuns {
		// A run that is under way is not deleted.
		var reps []model.Repetition
		reps, err = st.Repetitions(ctx, c.ID, 1, 0)
		for _, r := range reps {
			if r.RunState != "" && !r.RunState.Final() {
				return c, model.Usagef("repetition %d is %s; wait for its end, or `scalebench cancel %s`",
					r.Number, r.RunState, r.Run)
			}
		}
	}
	if err != nil {
		return c, err
	}
	c, err = st.ChangeCampaign(ctx, string(c.ID), func(c *model.Campaign) error {
		if !c.State.Final() {
			return model.Usagef("campaign %s is %s; stop it first (`scalebench campaign stop %s`)", c.ID, c.State, c.ID)
		}
		c.State = model.CampaignStopped
		return nil
	})
	if err != nil {
		return c, err
	}
	return c, st.DeleteCampaign(ctx, c.ID, change.DeleteRuns)
}

// apply changes what is read of a campaign.
func (x CampaignChange) apply(c *model.Campaign, own string, now time.Time) error {
	switch {
	case !slices.Contains([]model.CampaignState{"", model.CampaignActive, model.CampaignPaused, model.CampaignStopped}, x.State):
		return model.Usagef("a campaign cannot be made %q; it can be %s, %s or %s", x.State, model.CampaignActive,
			model.CampaignPaused, model.CampaignStopped)
	case c.State == model.CampaignStopped:
		return model.Usagef("campaign %s was stopped; start it anew with `scalebench run`", c.ID)
	case x.State != "" && c.State == model.CampaignDone:
		return model.Usagef("campaign %s is done; `scalebench campaign extend %s --for 7d` goes on with it", c.ID, c.ID)
	case x.State == "":
		return x.extend(c, own, now)
	case x.State == model.CampaignStopped:
		c.Finished = now
	case x.State == model.CampaignActive && own != "":
		c.Server = own
	}
	c.State, c.Reason = x.State, ""
	return nil
}

// extend moves the end of a campaign; one that was done goes on.
func (x CampaignChange) extend(c *model.Campaign, own string, now time.Time) error {
	end := x.Until
	if end.IsZero() && !c.End.IsZero() {
		end = c.End.Add(x.Longer.Std())
		if c.State == model.CampaignDone {
			end = now.Add(x.Longer.Std())
		}
	}
	switch {
	case end.IsZero():
		return model.Usagef("campaign %s has no end that could be moved; `scalebench campaign stop %s` ends it", c.ID, c.ID)
	case x.Longer < 0:
		return model.Usagef("a campaign cannot go on for %s longer; give its new end", x.Longer)
	case !end.After(now):
		return model.Usagef("%s is over; give a time to come", end.UTC().Format(time.RFC3339))
	case end.Year() > schedule.LastYear:
		return model.Usagef("a campaign ends before the year %d", schedule.LastYear+1)
	}
	c.End = end.UTC()
	if c.State == model.CampaignDone {
		c.State, c.Finished = model.CampaignActive, time.Time{}
		if own != "" {
			c.Server = own
		}
	}
	return nil
}
