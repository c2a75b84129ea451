package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Deliver puts results from this many goroutines, as agents do: a result that
// meets model.ErrUnavailable is delivered again, after calling wait, until it
// is stored. acked is called after each acknowledgement. It ends early, with
// the context's error, when the context ends.
func Deliver(ctx context.Context, s store.Store, results []model.Result, workers int,
	wait func(), acked func(model.Result)) error {
	queue := make(chan model.Result)
	errs := make(chan error, workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r := range queue {
				if err := deliverOne(ctx, s, r, wait); err != nil {
					errs <- err
					cancel()
					return
				}
				acked(r)
			}
		})
	}
	feed(ctx, queue, results)
	wg.Wait()
	close(errs)
	return errors.Join(<-errs, ctx.Err())
}

func feed(ctx context.Context, queue chan<- model.Result, results []model.Result) {
	defer close(queue)
	for _, r := range results {
		select {
		case queue <- r:
		case <-ctx.Done():
			return
		}
	}
}

func deliverOne(ctx context.Context, s store.Store, r model.Result, wait func()) error {
	for {
		_, err := s.PutResult(ctx, r)
		if !errors.Is(err, model.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		wait()
	}
}

// CheckStored wants every one of these results in the store, once and whole.
// more says that others of the fixture may be there too.
func CheckStored(t testing.TB, s store.Store, f Fixture, acked []model.Result, more bool) {
	t.Helper()
	d, err := s.Data(context.Background(), f.Run.ID)
	if err != nil {
		t.Fatal(err)
	}
	stored := make(map[model.TaskID]model.Result)
	for _, r := range d.Results {
		if _, twice := stored[r.Task]; twice {
			t.Errorf("%s has two results", r.Task)
		}
		stored[r.Task] = r
	}
	for _, want := range acked {
		if got, ok := stored[want.Task]; !ok {
			t.Errorf("the result of %s was acknowledged and is lost", want.Task)
		} else if d := difference(want, got); d != "" {
			t.Errorf("the result of %s differs (-want +got):\n%s", want.Task, d)
		}
	}
	if !more && len(stored) != len(acked) {
		t.Errorf("%d results are stored, want the %d that were acknowledged", len(stored), len(acked))
	}
}
