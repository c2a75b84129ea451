package variability

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
)

// mostBeside is up to how many rows a metric is analysed beside others. The parts
// of a longer one run on all processors by themselves, and columns of several such
// would not fit in memory at once.
const mostBeside = 1_000_000

// metrics are the answers about all frames, in their order. told hears of each that
// is done; nil: of none. It returns as soon as ctx ends: a part that is under way of
// many rows ends by itself soon after.
func (p *Params) metrics(ctx context.Context, frames, base []frame.Frame, zone *time.Location, told func(done, of int)) ([]Metric, error) {
	out := make([]Metric, len(frames))
	var done atomic.Int64
	one := func(i int) {
		x := examine(&frames[i], p, zone)
		x.err = ctx.Err
		out[i] = x.metric(p, findBase(base, frames[i].Key))
		if n := done.Add(1); told != nil {
			told(int(n), len(frames))
		}
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		var short []int
		for i := range frames {
			switch {
			case frames[i].Len() <= mostBeside:
				short = append(short, i)
			case ctx.Err() == nil:
				one(i)
			}
		}
		inParallel(ctx.Err, len(short), func(i int) { one(short[i]) })
	}()
	select {
	case <-ctx.Done():
	case <-all:
	}
	return out, ctx.Err() //nolint:wrapcheck // the caller ended it
}

// inParallel calls f for each index, on all processors, as long as err is nil.
func inParallel(err func() error, n int, f func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && err() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// ended is why nothing more needs to be computed; nil: go on.
func (x *examined) ended() error {
	if x.err == nil {
		return nil
	}
	return x.err()
}
