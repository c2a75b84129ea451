package control

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Server is what [Handle] calls.
type Server interface {
	Service
	// CancelSoon ends a run without waiting for the end: a request over the
	// queue must be answered soon.
	CancelSoon(ctx context.Context, id model.RunID) error
}

// operation is a method of the server with its name on the wire. Request and
// answer travel as JSON.
type operation[Q, A any] struct {
	verb string
	do   func(Server, context.Context, Q) (A, error)
}

type none = struct{}

type artifactRequest struct {
	Task    model.TaskID `json:"task"`
	Attempt int          `json:"attempt"`
	Name    string       `json:"name"`
}

type runRequest struct {
	Run    string        `json:"run"`
	Params answer.Params `json:"params,omitempty"`
}

var (
	opRuns     = operation[int, []model.Run]{"runs", Server.Runs}
	opRun      = operation[string, model.Run]{"run", Server.Run}
	opData     = operation[model.RunID, model.RunData]{"data", Server.Data}
	opPrinted  = operation[model.RunID, model.RunData]{"printed", Server.Printed}
	opArtifact = operation[artifactRequest, []byte]{"artifact",
		func(s Server, ctx context.Context, r artifactRequest) ([]byte, error) {
			return s.Artifact(ctx, r.Task, r.Attempt, r.Name)
		}}
	opAnswer   = operation[answer.Question, answer.Answer]{"answer", Server.Answer}
	opFindings = operation[runRequest, []answer.Answer]{"findings", ofRun(Server.Findings)}
	opShow     = operation[runRequest, answer.Answer]{"show", ofRun(Server.Show)}
	opPage     = operation[string, *doc.Document]{"page", Server.Page}

	opSubmit = operation[Source, model.RunID]{"submit", Server.Submit}
	opResume = operation[model.RunID, none]{"resume", silent(Server.Resume)}
	opCancel = operation[model.RunID, none]{"cancel", silent(Server.CancelSoon)}
	opDelete = operation[model.RunID, none]{"delete", silent(Server.Delete)}

	opNodes = operation[*none, []model.NodeInfo]{"nodes",
		func(s Server, ctx context.Context, _ *none) ([]model.NodeInfo, error) { return s.Nodes(ctx) }}
	opRemoveNode = operation[model.NodeID, none]{"remove-node", silent(Server.RemoveNode)}
	opNewToken   = operation[identity.TokenSpec, string]{"new-token", Server.NewToken}
)

var operations = []interface {
	name() string
	handle(ctx context.Context, s Server, body []byte) ([]byte, error)
}{
	opRuns, opRun, opData, opPrinted, opArtifact, opAnswer, opFindings, opShow, opPage,
	opSubmit, opResume, opCancel, opDelete, opNodes, opRemoveNode, opNewToken,
}

// ofRun makes one request of the two arguments of a method.
func ofRun[A any](do func(Server, context.Context, string, answer.Params) (A, error)) func(Server, context.Context, runRequest) (A, error) {
	return func(s Server, ctx context.Context, r runRequest) (A, error) { return do(s, ctx, r.Run, r.Params) }
}

// silent gives a method without an answer an empty one.
func silent[Q any](do func(Server, context.Context, Q) error) func(Server, context.Context, Q) (none, error) {
	return func(s Server, ctx context.Context, q Q) (none, error) { return none{}, do(s, ctx, q) }
}

func (o operation[Q, A]) name() string { return o.verb }

// handle is the server's end of the operation.
func (o operation[Q, A]) handle(ctx context.Context, s Server, body []byte) ([]byte, error) {
	var req Q
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("%w: decoding the request: %w", model.ErrUsage, err)
	}
	reply, err := o.do(s, ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return out, nil
}

// call is the client's end of the operation.
func (o operation[Q, A]) call(ctx context.Context, c Caller, req Q) (reply A, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return reply, fmt.Errorf("encoding a request: %w", err)
	}
	data, err := c.Call(ctx, o.verb, body)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return reply, fmt.Errorf("decoding the server's answer: %w", err)
	}
	return reply, nil
}

// Handle performs a request that came over the queue. The caller has been
// authenticated as a client.
func Handle(ctx context.Context, s Server, verb string, body []byte) ([]byte, error) {
	for _, o := range operations {
		if o.name() == verb {
			return o.handle(ctx, s, body)
		}
	}
	return nil, fmt.Errorf("%w: this server does not know %q; it may be older than the client", model.ErrUsage, verb)
}
