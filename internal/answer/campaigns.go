package answer

import (
	"context"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// CampaignStatus is how a campaign stands, with its repetitions as in
// campaign.StatusOf; it is named as in store.CampaignReader.
func (a Asker) CampaignStatus(ctx context.Context, id string, from int) (campaign.Status, error) {
	c, err := a.Store.Campaign(ctx, id)
	if err != nil {
		return campaign.Status{}, err
	}
	return a.statusOf(ctx, c, from)
}

// CampaignStatuses is how all campaigns stand, newest first.
func (a Asker) CampaignStatuses(ctx context.Context) ([]campaign.Status, error) {
	list, err := a.Store.Campaigns(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]campaign.Status, len(list))
	for i, c := range list {
		if out[i], err = a.statusOf(ctx, c, 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (a Asker) statusOf(ctx context.Context, c model.Campaign, from int) (campaign.Status, error) {
	times, problem := experiment.ScheduleOf(c, a.Kinds)
	s, err := campaign.StatusOf(ctx, a.Store, c, times, from)
	if problem != nil { // one file that cannot be read hides no other campaign
		s.Problem = model.Plain(problem)
	}
	return s, err
}
