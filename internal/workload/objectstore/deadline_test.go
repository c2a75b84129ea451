package objectstore

import (
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// checkDeadline holds a task by duration to its time: every series ends at the
// deadline, and every capacity is the slope of its whole series.
func checkDeadline(t *testing.T, b *bench) {
	t.Helper()
	for metric, s := range b.record.Readings {
		end := s[len(s)-1]
		if end.After != b.Duration.Std() {
			t.Errorf("the series %s ends at %v, want the deadline %v", metric, end.After, b.Duration.Std())
		}
		slope := end.Value / end.After.Seconds()
		if got := b.record.value(metric); math.Abs(got/slope-1) > 1e-9 {
			t.Errorf("%s = %v, its series says %v", metric, got, slope)
		}
	}
}

// slowness delays requests for objects, and knows when each was served.
type slowness struct {
	method        string
	before, after time.Duration // it is passed on, and before a put is answered

	mu    sync.Mutex
	spans []span
}

type span struct{ begun, ended time.Time }

func (s *slowness) handle(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	if !isObject(r, s.method) {
		pass.ServeHTTP(w, r)
		return
	}
	begun := time.Now()
	if !pause(r.Context(), s.before) {
		return
	}
	pass.ServeHTTP(w, r)
	_ = pause(r.Context(), s.after) // a small answer is not sent before the end
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, span{begun, time.Now()})
}

// rate is operations a second over some time from start, those at its end in
// proportion; latest is when the last of all ended.
func (s *slowness) rate(start time.Time, over time.Duration) (rate float64, latest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum float64
	for _, x := range s.spans {
		if x.begun.Before(start) {
			continue // of Prepare
		}
		sum += shareOf(x, start.Add(over))
		latest = max(latest, x.ended.Sub(start))
	}
	return sum / over.Seconds(), latest
}

// shareOf returns which share of a span lies before a moment.
func shareOf(x span, moment time.Time) float64 {
	if moment.After(x.ended) {
		return 1
	}
	return max(moment.Sub(x.begun).Seconds(), 0) / x.ended.Sub(x.begun).Seconds()
}

// slowCase is a task on a store that lets everybody wait.
type slowCase struct {
	name, operation, method string
	size                    unit.Size
	workers                 int
	before, after           time.Duration
}

// TestSlowStore measures stores that let everybody wait, so that operations
// outlast the deadline by much, and by more the more are under way. Neither
// rate may be lower for it: what a store of constant latency does grows exactly
// with the workers.
//
// The cases wait side by side, each on its own way to the store; large objects
// need the processors, and so are moved in one case at a time.
func TestSlowStore(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	g := startGateway(t)
	var all sync.WaitGroup
	var large sync.Mutex
	for _, tt := range []slowCase{
		{"put, one", store.Put, http.MethodPut, 100_000, 1, 300 * time.Millisecond, 0},
		{"put, eight", store.Put, http.MethodPut, 100_000, 8, 300 * time.Millisecond, 0},
		{"put large objects", store.Put, http.MethodPut, 8_000_000, 2, 700 * time.Millisecond, 100 * time.Millisecond},
		{"get, eight", store.Get, http.MethodGet, 100_000, 8, 300 * time.Millisecond, 0},
		{"get large objects", store.Get, http.MethodGet, 8_000_000, 2, 800 * time.Millisecond, 0},
		{"one operation, longer than the task", store.Put, http.MethodPut, 100_000, 2, 2500 * time.Millisecond, 0},
	} {
		all.Go(func() {
			if tt.size > 1e6 {
				large.Lock()
				defer large.Unlock()
			}
			t.Run(tt.name, func(t *testing.T) { tt.test(t, g) })
		})
	}
	all.Wait()
}

func (tt slowCase) test(t *testing.T, g *gateway) {
	const duration = 2 * time.Second
	slow := &slowness{method: tt.method, before: tt.before, after: tt.after}
	b := newBench(t, s3test.Proxy(t, g.URL, slow.handle), func(p *Params) {
		p.Operation, p.Duration, p.Size, p.Concurrency = tt.operation, unit.Duration(duration), tt.size, tt.workers
		if tt.operation == store.Get {
			p.Objects = tt.workers
		}
	})
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	checkDeadline(t, b)
	truth, latest := slow.rate(b.record.Start, duration)
	if latest <= duration {
		t.Fatalf("the last operation ended at %v, before the deadline: nothing is shown", latest)
	}
	got := b.record.value(operationsMetric)
	t.Logf("%.4g op/s, the store says %.4g; its last operation ended at %v", got, truth, latest)
	if math.Abs(got/truth-1) > 0.03 {
		t.Errorf("%.4g op/s, the store says %.4g", got, truth)
	}
	// Bytes count when they move, so by at most one object a worker
	// earlier or later than the operation in proportion.
	moved := b.record.last("objectstore_"+tt.operation+"_throughput") / float64(tt.size)
	if want := truth * duration.Seconds(); math.Abs(moved-want) > float64(tt.workers) {
		t.Errorf("%.4g objects moved, the store says %.4g", moved, want)
	}
}
