package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func jobCall(node model.NodeID, c jobs.Call) wire.JobCall {
	return wire.JobCall{Attempt: wire.Attempt{Task: "t", Attempt: 1}, Node: node, Number: 1, Call: c}
}

// TestJobsTravel: calls to a queue of items travel with all they may hold, errors keep
// their kind, and nobody calls for another node.
func TestJobsTravel(t *testing.T) {
	lease := jobs.Lease{ID: 7, Key: "k", Name: strings.Repeat("n", jobs.MaxName), Try: 1}
	reply := jobs.Reply{State: jobs.State{Items: 1}, Again: time.Second}
	for range jobs.MaxTake { // more than one message holds
		reply.Leases = append(reply.Leases, lease)
	}
	var got wire.JobCall
	w := newWorld(t, Handlers{Jobs: func(_ context.Context, c wire.JobCall) (wire.JobReply, error) {
		if c.Take == 0 {
			return wire.JobReply{}, model.ErrStale
		}
		got = c
		return wire.JobReply{Reply: reply}, nil
	}})
	l, _ := w.agent(t, "mine")
	big := jobs.Call{Take: jobs.MaxTake}
	for range jobs.MaxFinish {
		big.Finish = append(big.Finish, jobs.Record{Lease: 1, Key: "k", Name: lease.Name, Try: 1, Outcome: jobs.Done,
			Output: lease.Name, Begin: 0.123456789, End: 1})
	}
	call := jobCall("mine", big)
	r, err := l.Jobs(testCtx(t), call)
	check(t, err)
	if diff := cmp.Diff(call, got); diff != "" {
		t.Errorf("call changed on the way (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(reply, r.Reply); diff != "" {
		t.Errorf("reply changed on the way (-want +got):\n%s", diff)
	}
	if _, err := l.Jobs(testCtx(t), jobCall("mine", jobs.Call{})); !errors.Is(err, model.ErrStale) {
		t.Errorf("an error became %v, want model.ErrStale", err)
	}
	if _, err := l.Jobs(testCtx(t), jobCall("yours", jobs.Call{Take: 1})); !errors.Is(err, model.ErrDenied) {
		t.Errorf("a call for another node: %v, want model.ErrDenied", err)
	}
}

// TestJobsDoNotWaitForResults: a node whose result waits for the store gets items.
func TestJobsDoNotWaitForResults(t *testing.T) {
	waits, store := make(chan struct{}), make(chan struct{})
	w := newWorld(t, Handlers{
		Result: func(context.Context, model.Result) wire.ResultReply {
			close(waits)
			<-store
			return wire.ResultReply{Stored: true}
		},
	})
	l, _ := w.agent(t, "n")
	var delivery sync.WaitGroup
	delivery.Go(func() {
		if _, err := l.Result(testCtx(t), someResult("n")); err != nil {
			t.Errorf("Result: %v", err)
		}
	})
	<-waits
	_, err := l.Jobs(testCtx(t), jobCall("n", jobs.Call{Take: 1}))
	check(t, err)
	close(store)
	delivery.Wait()
}
