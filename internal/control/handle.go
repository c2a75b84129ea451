package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// verb names an operation on the wire.
type verb string

const (
	verbRuns       verb = "runs"
	verbRun        verb = "run"
	verbData       verb = "data"
	verbArtifact   verb = "artifact"
	verbSubmit     verb = "submit"
	verbResume     verb = "resume"
	verbCancel     verb = "cancel"
	verbDelete     verb = "delete"
	verbNodes      verb = "nodes"
	verbRemoveNode verb = "remove-node"
	verbNewToken   verb = "new-token"
	verbAnswer     verb = "answer"
	verbPage       verb = "page"
	verbFindings   verb = "findings"
	verbShow       verb = "show"
)

type artifactRequest struct {
	Task    model.TaskID `json:"task"`
	Attempt int          `json:"attempt"`
	Name    string       `json:"name"`
}

type runRequest struct {
	Run    string        `json:"run"`
	Params answer.Params `json:"params,omitempty"`
}

// Canceller is the part of a server that ends a run without waiting for the
// end: a request over the queue must be answered soon.
type Canceller interface {
	CancelSoon(ctx context.Context, id model.RunID) error
}

// Server is what Handle calls.
type Server interface {
	Service
	Canceller
}

// operation decodes a request, performs it and returns the answer.
type operation func(ctx context.Context, s Server, body []byte) (any, error)

var operations = map[verb]operation{
	verbRuns:   on(func(ctx context.Context, s Server, limit int) (any, error) { return s.Runs(ctx, limit) }),
	verbRun:    on(func(ctx context.Context, s Server, id string) (any, error) { return s.Run(ctx, id) }),
	verbData:   on(func(ctx context.Context, s Server, id model.RunID) (any, error) { return s.Data(ctx, id) }),
	verbSubmit: on(func(ctx context.Context, s Server, src Source) (any, error) { return s.Submit(ctx, src) }),
	verbAnswer: on(func(ctx context.Context, s Server, q answer.Question) (any, error) { return s.Answer(ctx, q) }),
	verbFindings: on(func(ctx context.Context, s Server, q runRequest) (any, error) {
		return s.Findings(ctx, q.Run, q.Params)
	}),
	verbShow:  on(func(ctx context.Context, s Server, q runRequest) (any, error) { return s.Show(ctx, q.Run, q.Params) }),
	verbPage:  on(func(ctx context.Context, s Server, run string) (any, error) { return s.Page(ctx, run) }),
	verbNodes: on(func(ctx context.Context, s Server, _ *struct{}) (any, error) { return s.Nodes(ctx) }),
	verbArtifact: on(func(ctx context.Context, s Server, r artifactRequest) (any, error) {
		return s.Artifact(ctx, r.Task, r.Attempt, r.Name)
	}),
	verbNewToken: on(func(ctx context.Context, s Server, t identity.TokenSpec) (any, error) { return s.NewToken(ctx, t) }),
	verbResume:   on(func(ctx context.Context, s Server, id model.RunID) (any, error) { return done(s.Resume(ctx, id)) }),
	verbCancel:   on(func(ctx context.Context, s Server, id model.RunID) (any, error) { return done(s.CancelSoon(ctx, id)) }),
	verbDelete:   on(func(ctx context.Context, s Server, id model.RunID) (any, error) { return done(s.Delete(ctx, id)) }),
	verbRemoveNode: on(func(ctx context.Context, s Server, id model.NodeID) (any, error) {
		return done(s.RemoveNode(ctx, id))
	}),
}

func done(err error) (any, error) { return struct{}{}, err }

// on makes an operation of a function with a typed request.
func on[T any](f func(context.Context, Server, T) (any, error)) operation {
	return func(ctx context.Context, s Server, body []byte) (any, error) {
		var req T
		if err := json.Unmarshal(body, &req); err != nil {
			return nil, fmt.Errorf("%w: decoding the request: %w", model.ErrUsage, err)
		}
		return f(ctx, s, req)
	}
}

// Handle performs a request that came over the queue. The caller has been
// authenticated as a client.
func Handle(ctx context.Context, s Server, name string, body []byte) ([]byte, error) {
	op, ok := operations[verb(name)]
	if !ok {
		return nil, fmt.Errorf("%w: this server does not know %q; it may be older than the client", model.ErrUsage, name)
	}
	reply, err := op(ctx, s, body)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return out, nil
}
