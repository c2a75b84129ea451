package variability

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// examined is the rows of a frame with what the question keeps of them.
type examined struct {
	*explain.Rows
	curve  []stats.ConfirmPoint // of the median
	asked  []string             // facts that the user named
	bounds []bool               // which values are only lower bounds; nil: not searched for
}

// alarms is among how many kinds of alarm the error rate is shared: bands, facts,
// changes of the level, drift.
const alarms = 4

// examine reads a frame; ended is as of [explain.Question].
func (p *Params) examine(f *frame.Frame, zone *time.Location, ended func() error) *examined {
	bounds := f.Bounds()
	if slices.Contains(bounds, true) { // its own doubt says more
		g := *f
		g.Doubts = slices.DeleteFunc(slices.Clone(f.Doubts), func(d model.Doubt) bool { return d.Code == frame.FactCensored })
		f = &g
	}
	return &examined{bounds: bounds, Rows: explain.New(f, explain.Question{Zone: zone, Level: p.Level,
		Alpha: (1 - p.Level) / alarms, Ended: ended})}
}

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
		x := p.examine(&frames[i], zone, ctx.Err)
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
		explain.InParallel(ctx.Err, len(short), func(i int) { one(short[i]) })
	}()
	select {
	case <-ctx.Done():
	case <-all:
	}
	return out, ctx.Err() //nolint:wrapcheck // the caller ended it
}
