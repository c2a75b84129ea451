package master

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// orderBook notes orders to record.
type orderBook struct {
	noQueue
	orders map[model.NodeID]int
}

func (q *orderBook) Order(_ context.Context, o wire.Order, nodes []model.NodeID) error {
	for _, id := range nodes {
		if o.Kind == wire.OrderRecord && wire.Check(o) == nil {
			q.orders[id]++
		}
	}
	return nil
}

// TestReadings: nodes are asked for as long as somebody wants their readings, and only
// those that are here. What nobody wants, or what is not new, is not kept.
func TestReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &orderBook{orders: make(map[model.NodeID]int)}
		m := &Master{reg: newRegistry(time.Hour), log: slog.New(slog.DiscardHandler)}
		m.cfg.Queue = q
		for _, id := range []model.NodeID{"a", "b"} {
			m.reg.hello(wire.Hello{Node: model.Node{ID: id}, Session: "s"}, time.Now())
		}
		began := time.Now()
		read := func(id model.NodeID, seconds int64) wire.Readings {
			return wire.Readings{Node: id, Began: began, Host: []model.HostSeries{{Metric: "disk.reads", Counter: true,
				Offsets: []int64{seconds * 1e9}, Values: []float64{1}}}}
		}
		var after uint64 // what was answered before does not count
		ask := func(ids ...model.NodeID) (last []time.Duration) {
			t.Helper()
			got, err := m.Readings(t.Context(), ids, after)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range got.Nodes {
				last = append(last, r.Last().Sub(began))
			}
			after = got.Last
			return last
		}
		want := func(what string, got []time.Duration, want ...time.Duration) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: readings until %v, want %v", what, got, want)
			}
		}
		m.NodeReadings(read("a", 1))
		want("nobody wanted them", ask("a", "stranger"))
		m.NodeReadings(read("a", 2))
		m.NodeReadings(read("b", 2))
		want("of one that is wanted", ask("a", "b"), 2*time.Second)
		m.NodeReadings(read("a", 1))
		m.NodeReadings(read("b", 3))
		want("a replay, and a new one", ask("a", "b"), 3*time.Second)
		want("nothing new", ask("a", "b"))
		after = 1000
		want("after another server", ask("a", "b"), 2*time.Second, 3*time.Second)
		for range 40 {
			<-time.After(250 * time.Millisecond)
			ask("a")
		}
		if q.orders["a"] < 3 || q.orders["a"] > 5 || q.orders["b"] != 1 || q.orders["stranger"] != 0 {
			t.Errorf("orders %v, want some to a, one to b and none to a stranger", q.orders)
		}
		<-time.After(wire.RecordFor + time.Second)
		want("after a pause", ask("a"))
		if len(m.readings.nodes) != 1 {
			t.Errorf("%d nodes are kept, want that which is wanted", len(m.readings.nodes))
		}
	})
}
