package campaign

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/schedule"
	"github.com/scalebench/scalebench/internal/store"
)

// Status is how a campaign stands.
type Status struct {
	model.Campaign
	Progress model.CampaignProgress `json:"progress"`
	// Schedule says in words when it is repeated.
	Schedule string `json:"schedule"`
	// Problem is why that is not known: the stored file cannot be read.
	Problem string `json:"problem,omitempty"`
	// Planned is how many repetitions the schedule has; 0: no end.
	Planned int `json:"planned,omitempty"`
	// Next is when the next repetition is due; zero: none is.
	Next time.Time `json:"next,omitzero"`
	// Left: no server minds it, which has ended or was never there.
	Left bool `json:"left,omitempty"`
	// Latest is the latest repetition with a run; nil: none yet.
	Latest *model.Repetition `json:"latest,omitempty"`
	// Repetitions are those that were asked for.
	Repetitions []model.Repetition `json:"repetitions,omitempty"`
}

// StatusOf is how a campaign stands now, with repetitions from a number on, at
// most [MostRepetitions]; 0: without. times is nil of a file that cannot be read.
func StatusOf(ctx context.Context, st store.CampaignReader, c model.Campaign, times *schedule.Schedule, from int) (s Status, err error) {
	s.Campaign = c
	if s.Progress, err = st.Progress(ctx, c.ID); err != nil {
		return s, err
	}
	if times != nil {
		s.Schedule = times.Describe()
		s.Planned, _ = times.Total()
		if due, ok := times.At(s.Progress.Last + 1); ok && !c.State.Final() {
			s.Next = due
		}
	}
	if s.Latest, err = latest(ctx, st, c.ID, s.Progress); err == nil && from > 0 {
		s.Repetitions, err = st.Repetitions(ctx, c.ID, from, MostRepetitions)
	}
	return s, err
}

// latest is the latest repetition with a run, however many gaps followed it; nil:
// there is none.
func latest(ctx context.Context, st store.CampaignReader, id model.CampaignID, p model.CampaignProgress) (*model.Repetition, error) {
	to := p.Last
	for some := 50; to > 0 && p.States[model.RepetitionRun] > 0; some *= 4 {
		from := max(1, to-some+1)
		reps, err := st.Repetitions(ctx, id, from, to-from+1)
		if err != nil {
			return nil, err
		}
		for i := len(reps) - 1; i >= 0; i-- {
			if reps[i].State == model.RepetitionRun {
				return &reps[i], nil
			}
		}
		to = from - 1
	}
	return nil, nil //nolint:nilnil // none is no error
}

// MostRepetitions is how many repetitions a status has: some megabytes as JSON.
const MostRepetitions = 10_000
