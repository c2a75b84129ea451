package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Caller carries a verb and a body to the server and brings the answer back.
// *queue.Client is one.
type Caller interface {
	Call(ctx context.Context, verb string, req []byte) ([]byte, error)
	Events(ctx context.Context, run model.RunID) (<-chan model.Event, error)
}

// NewRemote returns the service that is reached over the queue by a caller.
func NewRemote(c Caller) Service { return remote{c} }

type remote struct{ caller Caller }

func (r remote) Runs(ctx context.Context, limit int) ([]model.Run, error) {
	return opRuns.call(ctx, r.caller, limit)
}

func (r remote) Run(ctx context.Context, id string) (model.Run, error) {
	return opRun.call(ctx, r.caller, id)
}

func (r remote) Data(ctx context.Context, id model.RunID) (model.RunData, error) {
	return opData.call(ctx, r.caller, id)
}

func (r remote) Artifact(ctx context.Context, task model.TaskID, attempt int, name string) ([]byte, error) {
	return opArtifact.call(ctx, r.caller, artifactRequest{task, attempt, name})
}

func (r remote) Answer(ctx context.Context, q answer.Question) (answer.Answer, error) {
	return opAnswer.call(ctx, r.caller, q)
}

func (r remote) Findings(ctx context.Context, run string, params answer.Params) ([]answer.Answer, error) {
	return opFindings.call(ctx, r.caller, runRequest{run, params})
}

func (r remote) Show(ctx context.Context, run string, params answer.Params) (answer.Answer, error) {
	return opShow.call(ctx, r.caller, runRequest{run, params})
}

func (r remote) Page(ctx context.Context, run string) (*doc.Document, error) {
	return opPage.call(ctx, r.caller, run)
}

func (r remote) Submit(ctx context.Context, src Source) (model.RunID, error) {
	return opSubmit.call(ctx, r.caller, src)
}

func (r remote) Resume(ctx context.Context, id model.RunID) error {
	_, err := opResume.call(ctx, r.caller, id)
	return err
}

// Cancel waits for the end, for the server only takes note.
func (r remote) Cancel(ctx context.Context, id model.RunID) error {
	if _, err := opCancel.call(ctx, r.caller, id); err != nil {
		return err
	}
	for {
		run, err := r.Run(ctx, string(id))
		if err != nil || run.State.Final() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

func (r remote) Delete(ctx context.Context, id model.RunID) error {
	_, err := opDelete.call(ctx, r.caller, id)
	return err
}

func (r remote) Watch(ctx context.Context, id model.RunID) (<-chan model.Event, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	live, err := r.caller.Events(ctx, id)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return live, stop, nil
}

func (r remote) Nodes(ctx context.Context) ([]model.NodeInfo, error) {
	return opNodes.call(ctx, r.caller, nil)
}

func (r remote) RemoveNode(ctx context.Context, id model.NodeID) error {
	_, err := opRemoveNode.call(ctx, r.caller, id)
	return err
}

func (r remote) NewToken(ctx context.Context, spec identity.TokenSpec) (string, error) {
	return opNewToken.call(ctx, r.caller, spec)
}

// pollEvery is how often the state of a run is asked for while waiting.
const pollEvery = 500 * time.Millisecond

// AwaitPatience is how long AwaitEnd waits for a server that is away.
const AwaitPatience = time.Minute

// AwaitEnd returns the run once nothing more will happen to it. It asks the
// service rather than trusting events, which may be lost. A server that is
// away is waited for, up to AwaitPatience; away is called when it first is.
func AwaitEnd(ctx context.Context, s Service, id model.RunID, away func(error)) (model.Run, error) {
	var since time.Time // when the server was last found away; zero: it is here
	for {
		run, err := s.Run(ctx, string(id))
		switch {
		case err == nil && run.State.Final():
			return run, nil
		case err == nil:
			since = time.Time{}
		case !errors.Is(err, model.ErrUnavailable):
			return run, err
		case since.IsZero():
			since = time.Now()
			away(err)
		case time.Since(since) > AwaitPatience:
			return run, fmt.Errorf("the server did not come back: %w", err)
		}
		select {
		case <-ctx.Done():
			return run, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}
