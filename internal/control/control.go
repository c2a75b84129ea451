// Package control is what people and programs may ask of a server, whether it
// runs in the same process or is reached over the queue.
//
// The pipeline: a command calls a [Service]; in the server's own process that
// is the server itself, elsewhere that of [NewRemote]; its calls travel as a
// verb and JSON over the queue to [Handle], which calls the server.
package control

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/wire"
)

// Source is a file to be executed, as text.
type Source struct {
	// ID is the id that the run will have. The caller chooses it, so that a
	// submission can be repeated when its answer was lost: the same id is the
	// same run.
	ID   model.RunID   `json:"id"`
	Name string        `json:"name"` // for messages: file name
	Text string        `json:"text"`
	Kind model.RunKind `json:"kind"`
	// Detached says that the caller does not wait: a run of an experiment is
	// stored even while agents are missing, and waits for them on the server.
	Detached bool `json:"detached,omitempty"`
	// Timeout and ArtifactLimit replace the defaults of a job file; its
	// format has no words for them; zero keeps the default.
	Timeout       time.Duration `json:"timeout,omitempty"`
	ArtifactLimit int64         `json:"artifact_limit,omitempty"` // bytes
}

// Runs are the operations that make and change runs.
type Runs interface {
	// Submit plans and stores a run and puts it in line. It fails with
	// model.ErrUnavailable while nodes are missing; the caller may try again.
	Submit(ctx context.Context, src Source) (model.RunID, error)
	Resume(ctx context.Context, id model.RunID) error
	// Cancel returns when the run has ended.
	Cancel(ctx context.Context, id model.RunID) error
	Delete(ctx context.Context, id model.RunID) error
	// Watch returns live events until stop is called. Events may be lost when
	// the caller is slow; the store has them all.
	Watch(ctx context.Context, id model.RunID) (live <-chan model.Event, stop func(), err error)
}

// Campaigns are the operations that make and change campaigns.
type Campaigns interface {
	// StartCampaign stores an experiment file with a schedule as a campaign, which
	// begins. The campaign's id is that of the source.
	StartCampaign(ctx context.Context, src Source) (model.CampaignID, error)
	// ChangeCampaign does to a campaign what it says.
	ChangeCampaign(ctx context.Context, c CampaignChange) (model.Campaign, error)
	// CampaignStatus is how one campaign stands, with repetitions as in
	// campaign.StatusOf; CampaignStatuses is how all do, newest first, without
	// repetitions.
	CampaignStatus(ctx context.Context, id string, from int) (campaign.Status, error)
	CampaignStatuses(ctx context.Context) ([]campaign.Status, error)
}

// CampaignChange is what becomes of a campaign: one of its fields is set.
type CampaignChange struct {
	ID string `json:"id"` // or what else names one: see store.CampaignReader
	// State is CampaignActive, CampaignPaused or CampaignStopped.
	State model.CampaignState `json:"state,omitempty"`
	// Longer moves the end, Until sets it.
	Longer unit.Duration `json:"longer,omitempty"`
	Until  time.Time     `json:"until,omitzero"`
	// Delete removes the campaign, and DeleteRuns its runs, too.
	Delete     bool `json:"delete,omitempty"`
	DeleteRuns bool `json:"delete_runs,omitempty"`
}

// Fleet are the operations on nodes.
type Fleet interface {
	Nodes(ctx context.Context) ([]model.NodeInfo, error)
	RemoveNode(ctx context.Context, id model.NodeID) error
	// Readings returns what the monitors of nodes have read in the last seconds, as far
	// as it came after an earlier answer. At the first call the nodes begin to read.
	// They end some seconds after the last.
	Readings(ctx context.Context, nodes []model.NodeID, after uint64) (Readings, error)
	// NewToken returns the printable form of a new join token.
	NewToken(ctx context.Context, spec identity.TokenSpec) (string, error)
}

// Readings are what some nodes have sent.
type Readings struct {
	Nodes []wire.Readings `json:"nodes"`
	// Last is what a later call gives as after.
	Last uint64 `json:"last"`
}

// Answers are what studies say of stored runs, worked out where the store is.
type Answers interface {
	Answer(ctx context.Context, q answer.Question) (answer.Answer, error)
	// Findings are what each study has to say of a run. params are given to
	// the studies by their names.
	Findings(ctx context.Context, run string, params answer.Params) ([]answer.Answer, error)
	// Show is a run in brief.
	Show(ctx context.Context, run string, params answer.Params) (answer.Answer, error)
	// Page is the document of a run: what every study has to say of it, and
	// the run itself.
	Page(ctx context.Context, run string) (*doc.Document, error)
}

// Service is everything a server offers.
type Service interface {
	store.Reader
	Answers
	Runs
	Campaigns
	Fleet
}

// CancelIdle marks a run that no server executes as cancelled, so that it is
// not taken for one to resume. own is the key of the server that asks. It fails
// with model.ErrUsage when the run is done or cancelled already, or another
// server's that lives.
func CancelIdle(ctx context.Context, st store.Store, id model.RunID, own, reason string, at time.Time) error {
	run, err := st.Run(ctx, string(id))
	if err != nil {
		return err
	}
	if run.State == model.RunDone || run.State == model.RunCancelled {
		return model.Usagef("run %s is already %s", id, run.State)
	}
	if err := NotAnothers(ctx, st, run, own); err != nil {
		return err
	}
	return st.SetRunState(ctx, id, model.RunCancelled, reason, at.UTC())
}

// DeleteIdle deletes a run that no server executes, with the same errors.
func DeleteIdle(ctx context.Context, st store.Store, id model.RunID, own string) error {
	run, err := st.Run(ctx, string(id))
	if err == nil {
		err = NotAnothers(ctx, st, run, own)
	}
	if err != nil {
		return err
	}
	return st.DeleteRun(ctx, id)
}

// NotAnothers refuses a run that another server may be executing, with
// model.ErrUsage: one that lives.
func NotAnothers(ctx context.Context, st store.Servers, run model.Run, own string) error {
	if run.State.Final() || run.Server == "" || run.Server == own {
		return nil
	}
	if lives, err := st.Lives(ctx, run.Server); err != nil || !lives {
		return err
	}
	return model.Usagef("run %s is %s on another server that shares this store; do that there, with its --data or "+
		"--server, or %s after it was killed", run.ID, run.State, num.Brief(store.ServerLease))
}
