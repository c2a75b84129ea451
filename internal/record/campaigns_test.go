package record

import (
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/model"
)

// TestCampaignText: what is said of a campaign fits its state.
func TestCampaignText(t *testing.T) {
	hour := func(n int) time.Time { return day.Add(time.Duration(n) * time.Hour) }
	running := &model.Repetition{Number: 3, State: model.RepetitionRun, RunState: model.RunRunning}
	const next, over, ends, ended = "the next begins in 3600 s", "its schedule is over, and no server has ended it: `scalebench campaign resume` does", "ends ", "ended "
	for name, c := range map[string]struct {
		status        campaign.Status
		want, wantNot []string
	}{
		"active":    {campaign.Status{Campaign: model.Campaign{State: model.CampaignActive, End: hour(9)}, Next: hour(1)}, []string{next, ends}, []string{over, ended}},
		"paused":    {campaign.Status{Campaign: model.Campaign{State: model.CampaignPaused, End: hour(9)}, Next: hour(1)}, []string{"campaign resume", ends}, []string{"the next", ended}},
		"stopped":   {campaign.Status{Campaign: model.Campaign{State: model.CampaignStopped, End: hour(9), Finished: hour(-1)}}, []string{ended}, []string{ends, "the next", over}},
		"last run":  {campaign.Status{Campaign: model.Campaign{State: model.CampaignActive, End: hour(-1)}, Latest: running}, []string{"repetition 3 is running"}, []string{over}},
		"none left": {campaign.Status{Campaign: model.Campaign{State: model.CampaignActive}}, []string{over}, []string{"the next"}},
		"left":      {campaign.Status{Campaign: model.Campaign{ID: "01C", State: model.CampaignActive, End: hour(9)}, Next: hour(1), Left: true}, []string{"its server has ended, so that nothing begins at", "`scalebench campaign resume 01C` goes on"}, []string{"the next begins"}},
		"left late": {campaign.Status{Campaign: model.Campaign{ID: "01C", State: model.CampaignActive, End: hour(9)}, Next: hour(-1), Left: true}, []string{"its server has ended", "campaign resume 01C"}, []string{"no server minds"}},
		"too late":  {campaign.Status{Campaign: model.Campaign{State: model.CampaignActive, End: hour(-1)}, Next: hour(-2)}, []string{over}, []string{"the next"}},
	} {
		var b strings.Builder
		if err := render.Text(&b, Campaign(c.status, day), render.TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(b.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", name, text, want)
			}
		}
		for _, not := range c.wantNot {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q has %q", name, text, not)
			}
		}
	}
}
