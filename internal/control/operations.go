package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/wire"
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

type readingsRequest struct {
	Nodes []model.NodeID `json:"nodes"`
	After uint64         `json:"after,omitempty"`
}

type statusRequest struct {
	Campaign string `json:"campaign"`
	From     int    `json:"from,omitempty"`
}

var (
	opRuns     = operation[store.Filter, store.RunList]{"runs", Server.Runs}
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

	opStartCampaign  = operation[Source, model.CampaignID]{"start-campaign", Server.StartCampaign}
	opChangeCampaign = operation[CampaignChange, model.Campaign]{"change-campaign", Server.ChangeCampaign}
	opCampaignStatus = operation[statusRequest, campaign.Status]{"campaign",
		func(s Server, ctx context.Context, r statusRequest) (campaign.Status, error) {
			return s.CampaignStatus(ctx, r.Campaign, r.From)
		}}
	opCampaignStatuses = operation[*none, []campaign.Status]{"campaigns",
		func(s Server, ctx context.Context, _ *none) ([]campaign.Status, error) {
			return s.CampaignStatuses(ctx)
		}}

	opNodes = operation[*none, []model.NodeInfo]{"nodes",
		func(s Server, ctx context.Context, _ *none) ([]model.NodeInfo, error) { return s.Nodes(ctx) }}
	opRemoveNode = operation[model.NodeID, none]{"remove-node", silent(Server.RemoveNode)}
	opReadings   = operation[readingsRequest, Readings]{"readings",
		func(s Server, ctx context.Context, r readingsRequest) (Readings, error) {
			return s.Readings(ctx, r.Nodes, r.After)
		}}
	opNewToken = operation[identity.TokenSpec, string]{"new-token", Server.NewToken}
)

var operations = []interface {
	name() string
	handle(ctx context.Context, s Server, body []byte) ([]byte, error)
}{
	opRuns, opRun, opData, opPrinted, opArtifact, opAnswer, opFindings, opShow, opPage,
	opSubmit, opResume, opCancel, opDelete,
	opStartCampaign, opChangeCampaign, opCampaignStatus, opCampaignStatuses, opNodes, opRemoveNode, opReadings,
	opNewToken,
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
		return nil, model.Usagef("decoding the request: %w", err)
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

// answerWithin is how long a server may work on an answer: a year of repetitions
// takes some seconds, a run of a million results more. A connection that is lost
// ends the wait at once.
const answerWithin = 10 * time.Minute

// patiently is call where the server works something out.
func (o operation[Q, A]) patiently(ctx context.Context, c Caller, req Q) (A, error) {
	limited, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	reply, err := o.call(limited, c, req)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = model.Unavailablef("no answer within %v", answerWithin)
	}
	return reply, err
}

// Handle performs a request that came over the queue. The caller has been
// authenticated as a client.
func Handle(ctx context.Context, s Server, verb string, body []byte) ([]byte, error) {
	if err := wire.Bounded(body); err != nil {
		return nil, model.Usagef("%w", err)
	}
	for _, o := range operations {
		if o.name() == verb {
			return o.handle(ctx, s, body)
		}
	}
	return nil, model.Usagef("this server does not know %q; it may be older than the client", verb)
}

// Handler performs requests, and few at a time of those that may take as much
// memory as a run is large: one that carries a whole run or a file, or two that
// make an answer of one.
type Handler struct {
	server Server
	heavy  *semaphore.Weighted
	begin  func() (end func())
}

// NewHandler returns the handler of a server's requests. begin is called when
// one that reads a whole run begins, and end when it is done.
func NewHandler(s Server, begin func() (end func())) Handler {
	return Handler{s, semaphore.NewWeighted(maxHeavy), begin}
}

// maxHeavy is how much may be read at a time; see weight.
const maxHeavy = 2

// weight is how much of maxHeavy a request takes: all of it where a whole run,
// or a file, travels.
func weight(verb string) int64 {
	switch verb {
	case opData.verb, opPrinted.verb, opArtifact.verb:
		return maxHeavy
	case opAnswer.verb, opFindings.verb, opShow.verb, opPage.verb, opCampaignStatus.verb:
		return 1
	}
	return 0
}

// Handle performs a request, when there is room for it.
func (h Handler) Handle(ctx context.Context, verb string, body []byte) ([]byte, error) {
	if n := weight(verb); n > 0 { // what weighs nothing does not wait behind what does
		if err := h.heavy.Acquire(ctx, n); err != nil {
			return nil, err
		}
		defer h.heavy.Release(n)
		defer h.begin()()
	}
	return Handle(ctx, h.server, verb, body)
}

// Caller carries a verb and a body to the server and brings the answer back.
// *queue.Client is one.
type Caller interface {
	Call(ctx context.Context, verb string, req []byte) ([]byte, error)
	Events(ctx context.Context, run model.RunID) (<-chan model.Event, error)
}

// NewRemote returns the service that is reached over the queue by a caller.
func NewRemote(c Caller) Service { return remote{c} }

type remote struct{ caller Caller }

func (r remote) Runs(ctx context.Context, f store.Filter) (store.RunList, error) {
	return opRuns.call(ctx, r.caller, f)
}

func (r remote) Run(ctx context.Context, id string) (model.Run, error) {
	return opRun.call(ctx, r.caller, id)
}

func (r remote) Data(ctx context.Context, id model.RunID) (model.RunData, error) {
	return opData.call(ctx, r.caller, id)
}

func (r remote) Printed(ctx context.Context, id model.RunID) (model.RunData, error) {
	return opPrinted.call(ctx, r.caller, id)
}

func (r remote) Artifact(ctx context.Context, task model.TaskID, attempt int, name string) ([]byte, error) {
	return opArtifact.call(ctx, r.caller, artifactRequest{task, attempt, name})
}

func (r remote) Answer(ctx context.Context, q answer.Question) (answer.Answer, error) {
	return opAnswer.patiently(ctx, r.caller, q)
}

func (r remote) Findings(ctx context.Context, run string, params answer.Params) ([]answer.Answer, error) {
	return opFindings.patiently(ctx, r.caller, runRequest{run, params})
}

func (r remote) Show(ctx context.Context, run string, params answer.Params) (answer.Answer, error) {
	return opShow.patiently(ctx, r.caller, runRequest{run, params})
}

func (r remote) Page(ctx context.Context, run string) (*doc.Document, error) {
	return opPage.patiently(ctx, r.caller, run)
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

func (r remote) StartCampaign(ctx context.Context, src Source) (model.CampaignID, error) {
	return opStartCampaign.call(ctx, r.caller, src)
}

func (r remote) ChangeCampaign(ctx context.Context, c CampaignChange) (model.Campaign, error) {
	return opChangeCampaign.call(ctx, r.caller, c)
}

func (r remote) CampaignStatus(ctx context.Context, id string, from int) (campaign.Status, error) {
	return opCampaignStatus.call(ctx, r.caller, statusRequest{id, from})
}

func (r remote) CampaignStatuses(ctx context.Context) ([]campaign.Status, error) {
	return opCampaignStatuses.call(ctx, r.caller, nil)
}

func (r remote) Nodes(ctx context.Context) ([]model.NodeInfo, error) {
	return opNodes.call(ctx, r.caller, nil)
}

func (r remote) RemoveNode(ctx context.Context, id model.NodeID) error {
	_, err := opRemoveNode.call(ctx, r.caller, id)
	return err
}

func (r remote) Readings(ctx context.Context, nodes []model.NodeID, after uint64) (Readings, error) {
	return opReadings.call(ctx, r.caller, readingsRequest{nodes, after})
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
