package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/scalebench/scalebench/internal/model"
)

// CampaignReader reads campaigns. Every method but Campaigns returns
// model.ErrNotFound (wrapped) for a campaign that does not exist.
type CampaignReader interface {
	// Campaign returns one campaign: by its id, by its name (the latest of that
	// name), by a unique prefix of the id of at least four characters, or by
	// "latest".
	Campaign(ctx context.Context, id string) (model.Campaign, error)
	// Campaigns lists the campaigns in one of these states, or all, newest first.
	Campaigns(ctx context.Context, states ...model.CampaignState) ([]model.Campaign, error)
	// Repetitions lists the repetitions of a campaign from a number on, in their
	// order, with what is known of their runs: at most so many, 0 for all.
	Repetitions(ctx context.Context, id model.CampaignID, from, most int) ([]model.Repetition, error)
	// Progress counts them.
	Progress(ctx context.Context, id model.CampaignID) (model.CampaignProgress, error)
	// Measured yields what repetitions measured, in their order. Those of which
	// nothing is stored, or only what another version wrote, are left out. The
	// last pair has the error, if there is one. Until the loop ends it keeps a
	// connection to the database, so it must not write to the store.
	Measured(ctx context.Context, id model.CampaignID) iter.Seq2[Measurement, error]
}

// Measurement is what one repetition measured, in brief.
type Measurement struct {
	Number int
	Data   []byte // as PutMeasured got it; valid until the next one is read
}

// MeasuredVersion is that of what PutMeasured is given. It is raised when the
// same run would give other data; what was stored before is then as if it were
// not there, and is computed again from the runs.
const MeasuredVersion = 1

// Campaigns keeps campaigns and their repetitions.
type Campaigns interface {
	CampaignReader
	// PutCampaign stores a campaign, or replaces State, Reason, Server, End and
	// Finished of one that is there. What else it is never changes: another
	// campaign with the same id is model.ErrUsage.
	PutCampaign(ctx context.Context, c model.Campaign) error
	// ChangeCampaign stores what change makes of a campaign, found as Campaign finds
	// it, as far as PutCampaign replaces it. No other change comes between; change
	// may be called again, and its error is returned, with nothing stored.
	ChangeCampaign(ctx context.Context, id string, change func(*model.Campaign) error) (model.Campaign, error)
	// DeleteCampaign removes a campaign with its repetitions and what they
	// measured in brief. Their runs become runs of their own, or are deleted,
	// too: some at a time, the campaign last, so that after an error it can be
	// asked again.
	DeleteCampaign(ctx context.Context, id model.CampaignID, runs bool) error
	// AddRepetition records times of the schedule at which there was no run. A
	// number that is recorded already stays what it is. added is how many are
	// new.
	AddRepetition(ctx context.Context, reps ...model.Repetition) (added int, err error)
	// CreateRepetition records a repetition and creates its run, both or neither.
	// A number that is recorded already stays what it is. Then, and when the
	// campaign is not active, no run is created, and created is false.
	CreateRepetition(ctx context.Context, rep model.Repetition, run model.Run, nodes []model.Node, steps []model.Step) (created bool, err error)
	// PutMeasured stores what a repetition measured, in brief, or replaces it.
	// It fails with model.ErrNotFound for a repetition without a run, and with
	// model.ErrStale while the run goes on. When the run is resumed or deleted,
	// it is gone.
	PutMeasured(ctx context.Context, id model.CampaignID, number int, data []byte) error
}

// RepetitionRun is the id of the run of a repetition. It follows from what the
// repetition is, so that it is never two runs.
func RepetitionRun(id model.CampaignID, number int, due time.Time) model.RunID {
	var u ulid.ULID
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", id, number))
	copy(u[6:], sum[:])
	// Fails for years after 10889 only: such a due time keeps the zero time.
	_ = u.SetTime(ulid.Timestamp(due))
	return model.RunID(u.String())
}
