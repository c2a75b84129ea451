package queue

import (
	"context"
	"encoding/json"
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

func jobCall(t *testing.T, node model.NodeID, c jobs.Call) wire.JobCall {
	data := must[[]byte](t)(json.Marshal(c))
	return wire.JobCall{Attempt: wire.Attempt{Task: "t", Attempt: 1}, Node: node, Number: 1, Data: data}
}

// TestJobsTravel: calls to a queue of items travel with all they may hold, errors keep
// their kind, and nobody calls for another node.
func TestJobsTravel(t *testing.T) {
	lease := jobs.Lease{ID: 7, Key: "k", Name: strings.Repeat("n", jobs.MaxName), Try: 1}
	reply := jobs.Reply{State: jobs.State{Items: 1}, Again: time.Second}
	for range jobs.MaxTake { // more than one message holds
		reply.Leases = append(reply.Leases, lease)
	}
	got := make(chan wire.JobCall, 1)
	w := newWorld(t, Handlers{Jobs: func(_ context.Context, c wire.JobCall) (jobs.Reply, error) {
		if c.Call.Take == 0 {
			return jobs.Reply{}, model.ErrStale
		}
		select {
		case got <- c:
		default: // a repetition
		}
		return reply, nil
	}})
	l, _ := w.agent(t, "mine")
	big := jobs.Call{Take: jobs.MaxTake}
	for range jobs.MaxFinish {
		big.Finish = append(big.Finish, jobs.Record{Lease: 1, Key: "k", Name: lease.Name, Try: 1, Outcome: jobs.Done,
			Output: lease.Name, Begin: 0.123456789, End: 1})
	}
	call := jobCall(t, "mine", big)
	data, err := l.Jobs(testCtx(t), call)
	check(t, err)
	call.Call, call.Data = big, nil
	if diff := cmp.Diff(call, <-got); diff != "" {
		t.Errorf("call changed on the way (-want +got):\n%s", diff)
	}
	var r jobs.Reply
	check(t, json.Unmarshal(data, &r))
	if diff := cmp.Diff(reply, r); diff != "" {
		t.Errorf("reply changed on the way (-want +got):\n%s", diff)
	}
	if _, err := l.Jobs(testCtx(t), jobCall(t, "mine", jobs.Call{})); !errors.Is(err, model.ErrStale) {
		t.Errorf("an error became %v, want model.ErrStale", err)
	}
	if _, err := l.Jobs(testCtx(t), jobCall(t, "yours", jobs.Call{Take: 1})); !errors.Is(err, model.ErrDenied) {
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
	_, err := l.Jobs(testCtx(t), jobCall(t, "n", jobs.Call{Take: 1}))
	check(t, err)
	close(store)
	delivery.Wait()
}
