package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/scalebench/scalebench/internal/model"
)

// gate is a commit function that waits to be let through and keeps the
// batches it was given.
type gate struct {
	open    chan struct{}
	mu      sync.Mutex
	batches [][]int
	fail    map[int]error
}

func (g *gate) commit(_ context.Context, items []int) []error {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.batches = append(g.batches, items)
	errs := make([]error, len(items))
	for i, item := range items {
		errs[i] = g.fail[item]
	}
	return errs
}

// TestGroup: the first item goes alone; what arrives meanwhile goes together;
// each gets its own error.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errThree := errors.New("three")
		gt := &gate{open: make(chan struct{}), fail: map[int]error{3: errThree}}
		g := newGroup(1, gt.commit)
		got := make([]error, 6)
		for i := range got {
			go func() { got[i] = g.do(t.Context(), i) }()
			synctest.Wait()
		}
		close(gt.open)
		g.close()
		synctest.Wait()
		if want := [][]int{{0}, {1, 2, 3, 4, 5}}; !slices.EqualFunc(gt.batches, want, slices.Equal[[]int]) {
			t.Errorf("batches = %v, want %v", gt.batches, want)
		}
		for i, err := range got {
			if (i == 3) != errors.Is(err, errThree) || (i != 3 && err != nil) {
				t.Errorf("do(%d) = %v", i, err)
			}
		}
		if err := g.do(t.Context(), 9); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("do after close = %v, want model.ErrUnavailable", err)
		}
	})
}

// TestGroupCancelled: a caller that gives up returns at once, its item is left
// out when its batch has not begun, and the others are not touched.
func TestGroupCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gt := &gate{open: make(chan struct{})}
		g := newGroup(1, gt.commit)
		ctx, cancel := context.WithCancel(t.Context())
		contexts := []context.Context{t.Context(), ctx, t.Context()}
		got := make([]error, 3)
		for i := range got {
			got[i] = errors.New("not returned")
			go func() { got[i] = g.do(contexts[i], i) }()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		if !errors.Is(got[1], context.Canceled) {
			t.Errorf("do of the cancelled caller = %v, want context.Canceled", got[1])
		}
		close(gt.open)
		g.close()
		synctest.Wait()
		if want := [][]int{{0}, {2}}; !slices.EqualFunc(gt.batches, want, slices.Equal[[]int]) {
			t.Errorf("batches = %v, want %v", gt.batches, want)
		}
		if got[0] != nil || got[2] != nil {
			t.Errorf("do of the others = %v, %v, want nil", got[0], got[2])
		}
	})
}

// TestGroupTimeout: a database that does not answer ends in an error, not in
// waiting for ever.
func TestGroupTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(1, func(ctx context.Context, items []int) []error {
			<-ctx.Done()
			return slices.Repeat([]error{ctx.Err()}, len(items))
		})
		if err := g.do(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("do = %v, want context.DeadlineExceeded", err)
		}
		g.close()
	})
}

func TestGroupBatchSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gt := &gate{open: make(chan struct{})}
		g := newGroup(1, gt.commit)
		var wg sync.WaitGroup
		for i := range batchItems + 10 {
			wg.Go(func() {
				if err := g.do(t.Context(), i); err != nil {
					t.Error(err)
				}
			})
			if i == 0 {
				synctest.Wait() // the first batch is on its way, alone
			}
		}
		synctest.Wait()
		close(gt.open)
		wg.Wait()
		var sizes []int
		for _, b := range gt.batches {
			sizes = append(sizes, len(b))
		}
		if want := []int{1, batchItems, 9}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
		g.close()
	})
}

func TestSplit(t *testing.T) {
	for n := range 400 {
		next := 0
		err := split(n, func(from, to int) error {
			if from != next || !slices.Contains(rowCounts[:], to-from) {
				return fmt.Errorf("range %d to %d after %d", from, to, next)
			}
			next = to
			return nil
		})
		if err != nil || next != n {
			t.Errorf("split(%d) ended at %d, %v", n, next, err)
		}
	}
}

func TestBind(t *testing.T) {
	const query = "SELECT ? FROM t WHERE a = ? AND b = ?"
	tests := []struct {
		numbered bool
		want     string
	}{
		{false, query},
		{true, "SELECT $1 FROM t WHERE a = $2 AND b = $3"},
	}
	for _, tt := range tests {
		d := Dialect{Numbered: tt.numbered}
		if got := d.bind(query); got != tt.want {
			t.Errorf("bind(%q) = %q, want %q", query, got, tt.want)
		}
	}
}
