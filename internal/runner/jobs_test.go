package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
)

func done(lease uint64) jobs.Call {
	return jobs.Call{Finish: []jobs.Record{{Lease: lease, Key: "k", Try: 1, Outcome: jobs.Done}}}
}

// TestJoin: what is joined keeps to the bounds of one call.
func TestJoin(t *testing.T) {
	open := func(n int64) jobs.Call { return jobs.Call{Open: &jobs.Open{Count: n}} }
	long := done(1)
	long.Finish[0].Output = string(make([]byte, maxJoined))
	add := jobs.Call{Add: &jobs.Add{Names: []string{"a"}}}
	for name, c := range map[string]struct {
		calls []jobs.Call
		want  int
	}{
		"nothing":               {nil, 0},
		"all":                   {[]jobs.Call{open(1), {Take: 1}, done(1), {Renew: []uint64{1}}, add, open(1)}, 6},
		"two kinds of queue":    {[]jobs.Call{open(1), open(2)}, 1},
		"two additions":         {[]jobs.Call{add, done(1), add}, 2},
		"many items":            {[]jobs.Call{{Take: jobs.MaxTake}, {Take: 1}}, 1},
		"many leases":           {[]jobs.Call{{Renew: make([]uint64, jobs.MaxRenew)}, {Renew: make([]uint64, 1)}}, 1},
		"many results":          {[]jobs.Call{{Finish: make([]jobs.Record, jobs.MaxFinish)}, done(1)}, 1},
		"long texts":            {[]jobs.Call{done(1), long, done(2)}, 1},
		"one that is very long": {[]jobs.Call{long, done(2)}, 1},
	} {
		var waiting []*slotCall
		for _, call := range c.calls {
			waiting = append(waiting, &slotCall{Call: call})
		}
		if joined, _ := join(waiting); len(joined) != c.want {
			t.Errorf("%s: %d calls are joined, want %d", name, len(joined), c.want)
		}
	}
}

// TestShare: each slot gets its own part of the reply, and what nobody waits for goes back.
func TestShare(t *testing.T) {
	slots := []*slotCall{
		{Call: jobs.Call{Take: 1, Renew: []uint64{1, 2}}},
		{Call: done(5), left: true},
		{Call: jobs.Call{Take: 2, Finish: []jobs.Record{{Lease: 6}, {Key: "a"}, {Key: "b"}}}, left: true},
		{Call: jobs.Call{Take: 2}},
		{Call: jobs.Call{Finish: []jobs.Record{{Key: "c"}}}},
		{Call: jobs.Call{Finish: []jobs.Record{{Key: "c"}, {Key: "c"}}}},
	}
	for _, s := range slots {
		s.answer = make(chan slotReply, 1)
	}
	lease := func(id uint64) jobs.Lease { return jobs.Lease{ID: id, Key: fmt.Sprint(id), Name: "n", Try: 1} }
	state := jobs.State{Items: 9}
	leases := []jobs.Lease{lease(11), lease(12), lease(13), lease(14)}
	unwanted := share(slots, jobs.Reply{Leases: leases, Lost: []uint64{2}, Refused: []uint64{6},
		Known: []string{"b", "c", "c"}, State: state, Again: time.Second}, nil)
	want := []jobs.Reply{
		{Leases: []jobs.Lease{lease(11)}, Lost: []uint64{2}, State: state},
		{State: state, Leases: []jobs.Lease{}},
		{Leases: []jobs.Lease{lease(12), lease(13)}, Refused: []uint64{6}, Known: []string{"b"}, State: state},
		{Leases: []jobs.Lease{lease(14)}, State: state, Again: time.Second},
		{State: state, Leases: []jobs.Lease{}}, // the first of its key counts, where not all are known
		{State: state, Leases: []jobs.Lease{}, Known: []string{"c", "c"}},
	}
	for i, s := range slots {
		if diff := cmp.Diff(want[i], (<-s.answer).Reply); diff != "" {
			t.Errorf("slot %d (-want +got):\n%s", i, diff)
		}
	}
	returned := func(id uint64) jobs.Record {
		return jobs.Record{Lease: id, Key: fmt.Sprint(id), Name: "n", Try: 1, Outcome: jobs.Returned}
	}
	if diff := cmp.Diff([]jobs.Record{returned(12), returned(13)}, unwanted); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
}

// TestTeller: calls that come while one is on its way travel together, and the error of a
// call is that of all that were joined.
func TestTeller(t *testing.T) {
	sent, answer := make(chan jobs.Call), make(chan error)
	q := newTeller(func(c jobs.Call) (jobs.Reply, error) {
		sent <- c
		return jobs.Reply{}, <-answer
	})
	var slots sync.WaitGroup
	call := func(ctx context.Context, c jobs.Call, want error) {
		slots.Go(func() {
			if _, err := q.Jobs(ctx, c); !errors.Is(err, want) {
				t.Errorf("Jobs(%+v) = %v, want %v", c, err, want)
			}
		})
	}
	call(t.Context(), done(1), nil)
	<-sent
	failed := errors.New("it is over")
	for lease := range uint64(10) {
		call(t.Context(), done(lease+2), failed)
	}
	left, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := q.Jobs(left, jobs.Call{Take: 3})
		gone <- err
	}()
	waits := func() int {
		q.Lock()
		defer q.Unlock()
		return len(q.waiting)
	}
	for waits() < 11 {
		time.Sleep(time.Millisecond) //nolint:forbidigo // slots of this process are asked again
	}
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("a slot that left has the error %v", err)
	}
	answer <- nil
	if c := <-sent; len(c.Finish) != 10 || c.Take != 3 {
		t.Errorf("joined: %d results, %d items", len(c.Finish), c.Take)
	}
	answer <- failed
	slots.Wait()
	if _, err := q.Jobs(t.Context(), jobs.Call{Take: -1}); err == nil {
		t.Error("a call that breaks its bounds was sent")
	}
}

// TestJobsOfTheChild: a workload calls the queue through its agent, and learns what that
// is told, be it an error.
func TestJobsOfTheChild(t *testing.T) {
	var numbers []uint64
	cfg := config(t, map[string]any{"takes": 3})
	cfg.Jobs = func(_ context.Context, number uint64, call []byte) ([]byte, error) {
		var c jobs.Call
		if err := json.Unmarshal(call, &c); err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
		if number == 3 {
			return nil, model.ErrStale
		}
		lease := jobs.Lease{ID: number, Key: "k", Name: fmt.Sprint("take ", c.Take), Try: 1}
		return json.Marshal(jobs.Reply{Leases: []jobs.Lease{lease}})
	}
	o := begun(t, cfg).Wait()
	want(t, o, model.OutcomeFailed, model.ErrStale.Error())
	if diff := cmp.Diff("take 1\ntake 1\n", o.Stdout.Text); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{1, 2, 3}, numbers); diff != "" {
		t.Errorf("numbers of calls (-want +got):\n%s", diff)
	}
	want(t, run(t, map[string]any{"takes": 1}), model.OutcomeFailed, "no queue")
}

// TestCallEndsWithTheTask: a call that is never answered does not keep the agent.
func TestCallEndsWithTheTask(t *testing.T) {
	ended := make(chan struct{})
	cfg := config(t, map[string]any{"takes": 1})
	called := make(chan struct{})
	cfg.Jobs = func(ctx context.Context, _ uint64, _ []byte) ([]byte, error) {
		close(called)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}
	p := begun(t, cfg)
	<-called
	p.Kill(model.OutcomeCancelled)
	want(t, p.Wait(), model.OutcomeCancelled, "killed")
	<-ended
}
