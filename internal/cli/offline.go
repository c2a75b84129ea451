package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/campaign"
	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// offline is the service when no server runs: everything that the store alone
// can do.
type offline struct {
	store.Store
	answer.Asker
	server string // key of the server whose data directory this is; "" if there is none
}

// newOffline reads what the server with a key has left, which runs no more; ""
// where there has been none.
func newOffline(st store.Store, server string) offline {
	st = left{st, server}
	return offline{server: server, Store: st, Asker: answer.Asker{Store: st, Kinds: Kinds(), Version: Version(), Now: time.Now}}
}

// left is a store that a server has left. What it has not brought to an end is
// seen as what the next server will make of it; nothing is written for that.
type left struct {
	store.Store
	server string
}

func (l left) seen(r model.Run) model.Run {
	if r.State.Final() || r.Server == "" || r.Server != l.server {
		return r
	}
	r.State, r.Reason = model.RunInterrupted, fmt.Sprintf("its server ended; `scalebench resume %s` goes on with it", r.ID)
	return r
}

func (l left) Runs(ctx context.Context, f store.Filter) (store.RunList, error) {
	f.Ended = l.server
	list, err := l.Store.Runs(ctx, f)
	for i, r := range list.Runs {
		list.Runs[i] = l.seen(r)
	}
	return list, err
}

func (l left) Run(ctx context.Context, id string) (model.Run, error) {
	if f, none := store.Word(id); none != nil { // what is under way is told by the server, which has ended
		f.Limit = 1
		list, err := l.Runs(ctx, f)
		if err != nil {
			return model.Run{}, err
		}
		if len(list.Runs) == 0 {
			return model.Run{}, none
		}
		id = string(list.Runs[0].ID)
	}
	r, err := l.Store.Run(ctx, id)
	return l.seen(r), err
}

func (l left) Data(ctx context.Context, id model.RunID) (model.RunData, error) {
	d, err := l.Store.Data(ctx, id)
	d.Run = l.seen(d.Run)
	return d, err
}

func (l left) Heads(ctx context.Context, id model.RunID, from int) (model.RunData, error) {
	d, err := l.Store.Heads(ctx, id, from)
	d.Run = l.seen(d.Run)
	return d, err
}

func (l left) Repetitions(ctx context.Context, id model.CampaignID, from, most int) ([]model.Repetition, error) {
	reps, err := l.Store.Repetitions(ctx, id, from, most)
	for i, r := range reps {
		if err == nil && r.RunState != "" && !r.RunState.Final() { // few are
			var run model.Run
			run, err = l.Run(ctx, string(r.Run))
			reps[i].RunState, reps[i].Reason = run.State, run.Reason
		}
	}
	return reps, err
}

var _ control.Service = offline{}

// errNoServer: the operation needs a running server.
var errNoServer = fmt.Errorf("%w: no server is running on this data directory; start `scalebench server`, or name one with --server", model.ErrUnavailable)

// errNoServerToJoin: the nodes are agents.
var errNoServerToJoin = fmt.Errorf("%w: no server is running on this data directory, and agents can join only a server: start `scalebench server` and the agents, then repeat this command; or name a server with --server", model.ErrUnavailable)

func (o offline) Submit(context.Context, control.Source) (model.RunID, error) { return "", errNoServer }
func (o offline) Resume(context.Context, model.RunID) error                   { return errNoServer }
func (o offline) NewToken(context.Context, identity.TokenSpec) (string, error) {
	return "", errNoServer
}

func (o offline) StartCampaign(context.Context, control.Source) (model.CampaignID, error) {
	return "", errNoServer
}

// ChangeCampaign changes what is stored: the next server heeds it.
func (o offline) ChangeCampaign(ctx context.Context, c control.CampaignChange) (model.Campaign, error) {
	return control.ChangeStored(ctx, o.Store, c, "", time.Now().UTC())
}

// CampaignStatus says that nobody minds a campaign that is not over. Another server
// may where several share a store.
func (o offline) CampaignStatus(ctx context.Context, id string, from int) (campaign.Status, error) {
	s, err := o.Asker.CampaignStatus(ctx, id, from)
	s.Left = o.leaves(s)
	return s, err
}

// CampaignStatuses is CampaignStatus of all.
func (o offline) CampaignStatuses(ctx context.Context) ([]campaign.Status, error) {
	list, err := o.Asker.CampaignStatuses(ctx)
	for i, s := range list {
		list[i].Left = o.leaves(s)
	}
	return list, err
}

func (o offline) leaves(s campaign.Status) bool {
	return !s.State.Final() && (s.Server == "" || s.Server == o.server)
}

// Watch has nothing to deliver: nothing happens without a server.
func (o offline) Watch(context.Context, model.RunID) (<-chan model.Event, func(), error) {
	return nil, nil, errNoServer
}

// Cancel prevents that a user resumes the run by mistake.
func (o offline) Cancel(ctx context.Context, id model.RunID) error {
	return control.CancelIdle(ctx, o.Store, id, o.server, "cancelled by the user", time.Now())
}

func (o offline) Delete(ctx context.Context, id model.RunID) error {
	return control.DeleteIdle(ctx, o.Store, id, o.server)
}

// Nodes lists the nodes that once joined; without a server those that have not
// left are lost.
func (o offline) Nodes(ctx context.Context) ([]model.NodeInfo, error) {
	nodes, err := o.Store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]model.NodeInfo, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, model.NodeInfo{Node: n, Status: n.Absent()})
	}
	return out, nil
}

// Readings needs nodes that are there.
func (o offline) Readings(context.Context, []model.NodeID, uint64) (control.Readings, error) {
	return control.Readings{}, errNoServer
}

func (o offline) RemoveNode(context.Context, model.NodeID) error { return errNoServer }
