package queue

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// fleet is many agents in one process, each with a connection and a key of
// its own.
type fleet struct {
	*world
	nodes []model.NodeID
	keys  []*identity.Key
	links []*Link
}

func newFleet(tb testing.TB, n int, hs Handlers) *fleet {
	w := newWorldWith(tb, hs, HubOptions{})
	w.hub.opt.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	w.opt.Log = w.hub.opt.Log
	f := &fleet{world: w, links: make([]*Link, n)}
	var grants []identity.Grant
	for i := range n {
		f.nodes = append(f.nodes, model.NodeID(fmt.Sprintf("node-%04d", i)))
		f.keys = append(f.keys, newKey(tb, identity.RoleAgent))
		grants = append(grants, identity.Grant{Key: f.keys[i].Public(), Role: identity.RoleAgent, Node: f.nodes[i]})
	}
	check(tb, w.auth.Admit(grants...))
	f.each(func(i int) {
		f.links[i] = w.dial(tb, f.nodes[i], f.keys[i])
	})
	return f
}

// each calls do for every agent at the same time.
func (f *fleet) each(do func(i int)) {
	var wg sync.WaitGroup
	for i := range f.links {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// BenchmarkThousandAgents is the whole way of a step with a thousand tasks
// through the queue: dispatched, received, verified, results delivered.
// The aim is under 2 s on two cores.
func BenchmarkThousandAgents(b *testing.B) {
	ctx := context.Background()
	f := newFleet(b, 1000, Handlers{Result: func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{Stored: true} }})
	for round := 1; b.Loop(); round++ {
		var as []wire.Assignment
		for i, node := range f.nodes {
			as = append(as, assignment(node, f.keys[i].Public(), i, round))
		}
		start := time.Now()
		for _, a := range as {
			check(b, f.hub.Dispatch(a))
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-dispatch")
		f.each(func(i int) {
			d, err := f.links[i].Next(ctx)
			if err != nil || d.Refused != nil {
				b.Errorf("%s: %v, %v", f.nodes[i], err, d)
				return
			}
			r := someResult(f.nodes[i])
			r.Series = []model.Series{{Metric: "m", Offsets: make([]int64, 60), Values: make([]float64, 60)}}
			if reply, err := f.links[i].Result(ctx, r); err != nil || !reply.Stored {
				b.Errorf("%s: %+v, %v", f.nodes[i], reply, err)
			}
		})
	}
}

// BenchmarkOrder is how long a start order needs to reach a thousand agents.
func BenchmarkOrder(b *testing.B) {
	ctx := context.Background()
	f := newFleet(b, 1000, Handlers{})
	o := wire.Order{Kind: wire.OrderStart, Run: testRun, Step: "s", Attempt: 1, At: time.Now()}
	for b.Loop() {
		check(b, f.hub.Order(ctx, o, f.nodes))
		for _, l := range f.links {
			<-l.Orders()
		}
	}
}

// BenchmarkResult is the round trip of one small result.
func BenchmarkResult(b *testing.B) {
	ctx := context.Background()
	f := newFleet(b, 1, Handlers{Result: func(context.Context, model.Result) wire.ResultReply { return wire.ResultReply{Stored: true} }})
	r := someResult(f.nodes[0])
	for b.Loop() {
		if _, err := f.links[0].Result(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChunk is the throughput of artifacts.
func BenchmarkChunk(b *testing.B) {
	ctx := context.Background()
	f := newFleet(b, 1, Handlers{Chunk: func(context.Context, wire.Chunk) error { return nil }})
	c := wire.Chunk{Attempt: attempt(), Node: f.nodes[0], Name: "stdout", Data: []byte(randomText(wire.MaxChunk))}
	b.SetBytes(wire.MaxChunk)
	for b.Loop() {
		check(b, f.links[0].Chunk(ctx, c))
	}
}
