package campaign

import (
	"context"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// gaps has one repetition with a run, and gaps after it.
type gaps struct {
	store.CampaignReader

	ran, last int
}

func (g gaps) Repetitions(_ context.Context, _ model.CampaignID, from, most int) (out []model.Repetition, _ error) {
	for n := from; n <= g.last && len(out) < most; n++ {
		r := model.Repetition{Number: n, State: model.RepetitionMissed}
		if n == g.ran {
			r.State = model.RepetitionRun
		}
		out = append(out, r)
	}
	return out, nil
}

// TestLatest: the latest repetition with a run is found behind any number of gaps.
func TestLatest(t *testing.T) {
	for _, c := range []gaps{{ran: 1, last: 1}, {ran: 3, last: 1000}, {ran: 950, last: 1000}, {ran: 951, last: 1000}, {ran: 751, last: 1000}} {
		got, err := latest(t.Context(), c, "c", model.CampaignProgress{Last: c.last, States: map[model.RepetitionState]int{model.RepetitionRun: 1}})
		if err != nil || got == nil || got.Number != c.ran {
			t.Errorf("latest of %d with a run at %d = %v, %v", c.last, c.ran, got, err)
		}
	}
}
