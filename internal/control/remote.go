package control

import (
	"context"
	"encoding/json"
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

// Remote is a Service that is reached over the queue.
type Remote struct {
	caller Caller
}

var _ Service = (*Remote)(nil)

// NewRemote returns the service behind a caller.
func NewRemote(c Caller) *Remote { return &Remote{caller: c} }

// call sends a request and decodes the answer into a value of type T.
func call[T any](ctx context.Context, c Caller, v verb, req any) (T, error) {
	var out T
	body, err := json.Marshal(req)
	if err != nil {
		return out, fmt.Errorf("encoding a request: %w", err)
	}
	reply, err := c.Call(ctx, string(v), body)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(reply, &out); err != nil {
		return out, fmt.Errorf("decoding the server's answer: %w", err)
	}
	return out, nil
}

// Runs implements store.Reader.
func (r *Remote) Runs(ctx context.Context, limit int) ([]model.Run, error) {
	return call[[]model.Run](ctx, r.caller, verbRuns, limit)
}

// Run implements store.Reader.
func (r *Remote) Run(ctx context.Context, id string) (model.Run, error) {
	return call[model.Run](ctx, r.caller, verbRun, id)
}

// Data implements store.Reader.
func (r *Remote) Data(ctx context.Context, id model.RunID) (model.RunData, error) {
	return call[model.RunData](ctx, r.caller, verbData, id)
}

// Artifact implements store.Reader.
func (r *Remote) Artifact(ctx context.Context, task model.TaskID, attempt int, name string) ([]byte, error) {
	return call[[]byte](ctx, r.caller, verbArtifact, artifactRequest{task, attempt, name})
}

// Answer implements Answers.
func (r *Remote) Answer(ctx context.Context, q answer.Question) (answer.Answer, error) {
	return call[answer.Answer](ctx, r.caller, verbAnswer, q)
}

// Findings implements Answers.
func (r *Remote) Findings(ctx context.Context, run string, params answer.Params) ([]answer.Answer, error) {
	return call[[]answer.Answer](ctx, r.caller, verbFindings, runRequest{run, params})
}

// Show implements Answers.
func (r *Remote) Show(ctx context.Context, run string, params answer.Params) (answer.Answer, error) {
	return call[answer.Answer](ctx, r.caller, verbShow, runRequest{run, params})
}

// Page implements Answers.
func (r *Remote) Page(ctx context.Context, run string) (*doc.Document, error) {
	return call[*doc.Document](ctx, r.caller, verbPage, run)
}

// Submit implements Runs.
func (r *Remote) Submit(ctx context.Context, src Source) (model.RunID, error) {
	return call[model.RunID](ctx, r.caller, verbSubmit, src)
}

// Resume implements Runs.
func (r *Remote) Resume(ctx context.Context, id model.RunID) error {
	_, err := call[struct{}](ctx, r.caller, verbResume, id)
	return err
}

// Cancel implements Runs. The server only takes note; this waits for the end.
func (r *Remote) Cancel(ctx context.Context, id model.RunID) error {
	if _, err := call[struct{}](ctx, r.caller, verbCancel, id); err != nil {
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

// Delete implements Runs.
func (r *Remote) Delete(ctx context.Context, id model.RunID) error {
	_, err := call[struct{}](ctx, r.caller, verbDelete, id)
	return err
}

// Watch implements Runs.
func (r *Remote) Watch(ctx context.Context, id model.RunID) (<-chan model.Event, func(), error) {
	ctx, stop := context.WithCancel(ctx)
	live, err := r.caller.Events(ctx, id)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return live, stop, nil
}

// Nodes implements Fleet.
func (r *Remote) Nodes(ctx context.Context) ([]model.NodeInfo, error) {
	return call[[]model.NodeInfo](ctx, r.caller, verbNodes, nil)
}

// RemoveNode implements Fleet.
func (r *Remote) RemoveNode(ctx context.Context, id model.NodeID) error {
	_, err := call[struct{}](ctx, r.caller, verbRemoveNode, id)
	return err
}

// NewToken implements Fleet.
func (r *Remote) NewToken(ctx context.Context, spec identity.TokenSpec) (string, error) {
	return call[string](ctx, r.caller, verbNewToken, spec)
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
