package load

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/loadserver"
)

// TestRecoverSettles: a server that is always slower than the SLA allows has
// nothing to work off, and is not waited for.
func TestRecoverSettles(t *testing.T) {
	t.Parallel()
	server := loadserver.Start(t, loadserver.Behaviour{Service: 20 * time.Millisecond})
	p := params(server.URL(), 100)
	p.Agreement = sla("p90=10us")
	var said strings.Builder
	env := &workload.Env{Parts: 1, Stderr: &said}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Cleanup(context.Background(), env); err != nil {
			t.Error(err)
		}
	}()
	begin := time.Now()
	if !p.recover(t.Context(), env, RecoverWithin) {
		t.Error("it has something left to work off")
	}
	if took := time.Since(begin); took > RecoverWithin/2 {
		t.Errorf("it took %v; nothing changes after the first second", took)
	}
	if !strings.Contains(said.String(), "got no quicker") {
		t.Errorf("it said %q", said.String())
	}
}

// TestRecoverInVain: what is not back in time may have something left, which the
// result says.
func TestRecoverInVain(t *testing.T) {
	server := loadserver.Start(t, loadserver.Behaviour{Service: 300 * time.Millisecond})
	p := params(server.URL(), 100)
	var said strings.Builder
	env := &workload.Env{Parts: 1, Stderr: &said}
	if err := p.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	p.Agreement = sla("p90=100ms")
	if p.recover(t.Context(), env, 200*time.Millisecond) || !strings.Contains(said.String(), "did not keep the SLA") {
		t.Errorf("it is back; it said %q", said.String())
	}
	if err := p.Cleanup(context.Background(), env); err != nil {
		t.Error(err)
	}
	offer := model.Offer{Rate: 10, Recover: true, RecoverWithin: time.Minute}
	if err := p.take(&offer); err != nil || p.recoverFor != time.Minute {
		t.Errorf("it is given %v, %v", p.recoverFor, err)
	}
}

// TestPace: a backlog that drains is waited for, also over a stall or while
// nobody is answered; what stays as it is, is not.
func TestPace(t *testing.T) {
	const never = -1
	for _, c := range []struct {
		name     string
		millis   []int // how long all answers of a second took
		settleds int   // after so many seconds; 0: never
	}{
		{"a backlog", []int{5000, 4100, 3200, 2300, 1400, 500}, 0},
		{"a backlog, then slow", []int{2000, 1000, 200, 200, 200}, 5},
		{"slow from the start", []int{200, 198, 202}, 3},
		{"very quick", []int{1, 1, 1}, 3},
		{"noise is no progress", []int{200, 195, 191}, 3},
		{"a stall", []int{3000, 2000, 2500, 1000, 500}, 0},
		{"silence", []int{never, never, never, never}, 0},
		{"silence, then a backlog", []int{never, 2000, never, 1000, 950, never, 900}, 0},
	} {
		var p pace
		at := 0
		for i, ms := range c.millis {
			if p.settled(second(t, ms)) {
				at = i + 1
				break
			}
		}
		if at != c.settleds {
			t.Errorf("%s: settled after %d seconds, want %d", c.name, at, c.settleds)
		}
	}
}

// second is ten operations that all took this long; none ended if it is below 0.
func second(t *testing.T, ms int) engine.Window {
	t.Helper()
	w := engine.Window{Scored: time.Second, Counts: engine.Counts{Due: 10}, Latencies: histogram.New(int64(time.Minute))}
	for i := 0; ms >= 0 && i < 10; i++ {
		if err := w.Latencies.RecordValue(int64(ms) * int64(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}
