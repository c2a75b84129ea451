package loadserver

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/queueing"
)

// offer lets n requests arrive at the desk, without any time passing.
func offer(b Behaviour, arrivals load.Arrivals, rate float64, n int) []Request {
	d := newDesk(b, 0)
	s := load.NewSchedule(load.Plan{
		Arrivals: arrivals, Seed: b.Seed + 1,
		Stages: []load.Stage{load.Hold(rate, time.Duration(2*float64(n)/rate*1e9))},
	}, load.All)
	requests := make([]Request, 0, n)
	for range n {
		due, _ := s.Next()
		requests = append(requests, d.receive(due))
	}
	return requests
}

// theory is what queueing theory says of a queue; see package queueing.
type theory interface {
	MeanWait() (float64, error)
	WaitQuantile(p float64) (float64, error)
	ResponseQuantile(p float64) (float64, error)
}

// TestDeskObeysQueueingTheory: under Poisson arrivals the computed queue waits
// as long as theory says, on average and in the tail. Seeds are fixed and a
// million requests arrive; the scatter at 80 % of the capacity is then about
// 1 % (M/M/1: Whitt, Management Science 35(11), 1989).
func TestDeskObeysQueueingTheory(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and under the race detector it takes long")
	}
	const n, service = 1_000_000, time.Millisecond
	for _, workers := range []int{1, 4} {
		for _, rho := range []float64{.3, .6, .8} {
			rate := rho * float64(workers) / service.Seconds()
			for times, want := range map[Times]theory{
				Constant:    queueing.MDc{Servers: workers, Rate: rate, Service: service.Seconds()},
				Exponential: queueing.MMc{Servers: workers, Rate: rate, Service: service.Seconds()},
			} {
				b := Behaviour{Workers: workers, Service: service, Times: times, Seed: 7}
				checkWaits(t, fmt.Sprintf("%T%+v", want, want), offer(b, load.Poisson, rate, n), want)
			}
		}
	}
}

func checkWaits(t *testing.T, name string, requests []Request, want theory) {
	t.Helper()
	waits := make([]time.Duration, len(requests))
	responses := make([]time.Duration, len(requests))
	sum := 0.0
	for i, r := range requests {
		waits[i], responses[i] = r.Began-r.Arrived, r.Due-r.Arrived
		sum += waits[i].Seconds()
	}
	mean, err := want.MeanWait()
	near(t, name+": mean wait", sum/float64(len(requests)), mean, err)
	for _, p := range []float64{.5, .9, .99} {
		q, err := want.ResponseQuantile(p)
		near(t, fmt.Sprintf("%s: p%v of the response", name, 100*p), quantile(responses, p).Seconds(), q, err)
	}
	q, err := want.WaitQuantile(.99)
	near(t, name+": p99 of the wait", quantile(waits, .99).Seconds(), q, err)
}

// near allows 3 %, or a microsecond if hardly any request waits.
func near(t *testing.T, what string, got, want float64, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if math.Abs(got-want) > max(.03*want, 1e-6) {
		t.Errorf("%s = %.6f s, want %.6f", what, got, want)
	}
}

// TestDeskRefusesAsErlangSays: who finds no room is refused, in an M/M/c/c
// queue as often as Erlang's B formula says, and a refused one is answered at
// once.
func TestDeskRefusesAsErlangSays(t *testing.T) {
	const n, workers = 500_000, 5
	requests := offer(Behaviour{Workers: workers, Service: time.Millisecond, Times: Exponential, Room: workers}, load.Poisson, 4000, n)
	refused := 0
	for _, r := range requests {
		switch {
		case r.Outcome == Refused && r.Due == r.Arrived:
			refused++
		case r.Outcome != OK || r.Began != r.Arrived:
			t.Fatalf("%+v: neither served nor refused at once", r)
		}
	}
	want, err := queueing.ErlangB(workers, 4)
	near(t, "share refused", float64(refused)/n, want, err)
}

// TestDeskOverloaded: evenly spaced at twice the capacity, the n-th request
// waits exactly n/2 service times; with room for ten, nine service times at
// most, and half of them are refused.
func TestDeskOverloaded(t *testing.T) {
	b := Behaviour{Workers: 1, Service: time.Millisecond}
	for i, r := range offer(b, load.Constant, 2000, 1000) {
		// Arrivals are whole nanoseconds.
		if got, want := r.Began-r.Arrived, time.Duration(i)*time.Millisecond/2; (got - want).Abs() > 10 {
			t.Fatalf("request %d waits %v, want %v", i, got, want)
		}
	}
	b.Room = 10
	refused, longest := 0, time.Duration(0)
	for _, r := range offer(b, load.Constant, 2000, 1000) {
		if r.Outcome == Refused {
			refused++
		}
		longest = max(longest, r.Began-r.Arrived)
	}
	if refused < 485 || refused > 500 || longest > 9*time.Millisecond {
		t.Errorf("%d of 1000 refused, longest wait %v; want half of them less the ten first, 9ms", refused, longest)
	}
}

// TestDeskStalls: a server that stalls 1 s in every 10 and is otherwise
// infinitely fast shows a tenth of all requests the rest of the stall, which is
// evenly spread over 1 s.
func TestDeskStalls(t *testing.T) {
	b := Behaviour{Service: time.Millisecond, Stall: Stall{Every: 10 * time.Second, For: time.Second}}
	var latencies []time.Duration
	for _, r := range offer(b, load.Constant, 1000, 100_000) {
		latencies = append(latencies, r.Due-r.Arrived)
	}
	for p, want := range map[float64]time.Duration{
		.5: time.Millisecond, .9: time.Millisecond,
		.95: 501 * time.Millisecond, .99: 901 * time.Millisecond, 1: 1001 * time.Millisecond,
	} {
		if got := quantile(latencies, p); got < want-time.Millisecond || got > want+time.Millisecond {
			t.Errorf("p%v = %v, want %v", 100*p, got, want)
		}
	}
}

// TestDeskStallWithWorkers: with a bound on workers the backlog of the stall
// must be worked off: at rate λ below the capacity μ a stall of 1 s is over
// after 1 s·λ/(μ−λ) more.
func TestDeskStallWithWorkers(t *testing.T) {
	b := Behaviour{Workers: 2, Service: 10 * time.Millisecond, Stall: Stall{Every: 10 * time.Second, For: time.Second}}
	last := time.Duration(0) // the last one who waited for the first stall
	for _, r := range offer(b, load.Constant, 100, 1500) {
		if r.Began > r.Arrived {
			last = r.Arrived
		}
	}
	want := 11 * time.Second
	if last < want-30*time.Millisecond || last > want+10*time.Millisecond {
		t.Errorf("the backlog is gone at %v, want %v", last, want)
	}
	if got, want := b.Capacity(), 180.; got != want {
		t.Errorf("capacity %v/s, want %v", got, want)
	}
}

// TestDeskShares: exactly 1 % are slow and exactly 2 % fail, spread evenly.
func TestDeskShares(t *testing.T) {
	b := Behaviour{
		Service: 5 * time.Millisecond, Slow: Slow{Share: .01, Extra: 200 * time.Millisecond},
		Fail: Fail{Share: .02, How: Reset},
	}
	slow, failed := 0, 0
	for i, r := range offer(b, load.Constant, 1000, 10_000) {
		want := 5 * time.Millisecond
		if r.Slow {
			slow++
			want += 200 * time.Millisecond
		}
		if r.Outcome == WasReset {
			failed++
		}
		if got := r.Due - r.Arrived; got != want {
			t.Fatalf("request %d: %v, want %v", i, got, want)
		}
		if n := float64(i + 1); math.Abs(float64(slow)-.01*n) > 1 || math.Abs(float64(failed)-.02*n) > 1 {
			t.Fatalf("of %v requests %d slow and %d failed", n, slow, failed)
		}
	}
	if slow != 100 || failed != 200 {
		t.Errorf("%d slow and %d failed of 10,000, want 100 and 200", slow, failed)
	}
}

// TestDeskSet: those who came before keep their times, the workers they have
// stay busy, and stalls count from the change.
func TestDeskSet(t *testing.T) {
	d := newDesk(Behaviour{Workers: 1, Service: 10}, 1000)
	first := d.receive(1000)
	d.set(Behaviour{Workers: 1, Service: 4, Stall: Stall{Every: 20, For: 5}}, 1002)
	got := []time.Duration{first.Due, d.receive(1003).Due, d.receive(1003).Due}
	want := []time.Duration{1010, 1014, 1023} // work from 1014 to 1017 and from 1022 to 1023
	if !slices.Equal(got, want) {
		t.Errorf("due at %v, want %v", got, want)
	}
}

func TestBehaviourCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		b    Behaviour
		ok   bool
	}{
		{"nothing", Behaviour{}, true},
		{"everything", Behaviour{
			Workers: 3, Service: 1, Times: Exponential, Room: 3, Stall: Stall{2, 1},
			Slow: Slow{1, 1}, Fail: Fail{1, Silent}, Body: 9, Seed: 1,
			Admit: Admit{1, 1}, Wear: Wear{1, 2, 3}, Chunked: true, Closing: true,
		}, true},
		{"workers below none", Behaviour{Workers: -1}, false},
		{"other times", Behaviour{Times: "normal"}, false},
		{"room without workers", Behaviour{Room: 1}, false},
		{"less room than workers", Behaviour{Workers: 3, Room: 2}, false},
		{"stalls for ever", Behaviour{Stall: Stall{1, 1}}, false},
		{"a stall of nothing", Behaviour{Stall: Stall{Every: 1}}, false},
		{"more than all", Behaviour{Slow: Slow{Share: 1.1}}, false},
		{"a share that is not a number", Behaviour{Fail: Fail{Share: math.NaN()}}, false},
		{"admits nothing", Behaviour{Admit: Admit{Burst: 3}}, false},
		{"bursts of less than one", Behaviour{Admit: Admit{Rate: 3}}, false},
		{"wears off before it begins", Behaviour{Wear: Wear{2, 1, 2}}, false},
		{"wears to nothing", Behaviour{Wear: Wear{To: 1}}, false},
		{"fails otherwise", Behaviour{Fail: Fail{How: "explode"}}, false},
	} {
		if err := c.b.Check(); (err == nil) != c.ok {
			t.Errorf("%s: Check() = %v", c.name, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		of   []time.Duration
		p    float64
		want time.Duration
	}{
		{nil, .5, 0},
		{[]time.Duration{3}, .01, 3},
		{[]time.Duration{4, 3, 2, 1}, .5, 2},
		{[]time.Duration{4, 3, 2, 1}, .51, 3},
		{[]time.Duration{4, 3, 2, 1}, 1, 4},
	} {
		if got := quantile(slices.Clone(c.of), c.p); got != c.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.of, c.p, got, c.want)
		}
	}
}
