package http1

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// queueCase is a server with one worker under Poisson load. What a machine adds
// to a latency by waking up four times, up to .3 ms where it is virtual and
// idle, is small beside the service time.
type queueCase struct {
	times       loadserver.Times
	utilisation float64
	service     time.Duration
}

func queueCases() []queueCase {
	var out []queueCase
	for _, times := range []loadserver.Times{loadserver.Constant, loadserver.Exponential} {
		out = append(out,
			queueCase{times, .3, 20 * time.Millisecond},
			queueCase{times, .6, 10 * time.Millisecond},
			queueCase{times, .8, 5 * time.Millisecond})
	}
	return out
}

func (c queueCase) String() string {
	model := map[loadserver.Times]string{loadserver.Constant: "M/D/1", loadserver.Exponential: "M/M/1"}[c.times]
	return fmt.Sprintf("%s at %.0f %%", model, 100*c.utilisation)
}

func (c queueCase) rate() float64 { return c.utilisation / c.service.Seconds() }

// TestQueues: the latencies measured are those that arithmetic gives for just
// these arrivals and service times (Lindley's recursion), within 5 %. That they
// are also those of theory takes longer to show: TestQueuesTheory. Without
// LOAD_PROOF two of the six queues are measured.
func TestQueues(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	cases := queueCases()
	if os.Getenv("LOAD_PROOF") == "" {
		cases = []queueCase{cases[1], cases[5]} // M/D/1 at 60 %, M/M/1 at 80 %
	}
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			parts.Begin(t)
			onCalmMachine(t, func() error { return c.measure(t) })
		})
	}
}

// measure reports an error where the latencies are not what they should be.
func (c queueCase) measure(t *testing.T) error {
	server := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: c.service, Times: c.times, Seed: 7})
	defer server.Stop()
	plan := hold(c.rate(), 3*time.Second)
	plan.Arrivals = load.Poisson
	d := open(t, Config{Requests: get("http://" + server.Address()), Loops: 1})
	got := run(t.Context(), t, d, load.Run{Plan: plan, Drain: 10 * time.Second})
	due := dueTimes(plan, 1)
	if got.OK != int64(len(due)) {
		t.Fatalf("%+v, want all %d OK", got.Counts, len(due))
	}
	mean, p99 := meanAndP99(lindley(due, server.Take().Requests))
	gotMean, gotP99 := got.latency.Mean()/1e9, float64(got.latency.ValueAtPercentile(99))/1e9
	t.Logf("%d requests: mean %.3f ms, p99 %.3f ms; by arithmetic %.3f and %.3f ms", len(due), 1e3*gotMean, 1e3*gotP99, 1e3*mean, 1e3*p99)
	if far(gotMean, mean) || far(gotP99, p99) {
		return fmt.Errorf("mean %v, p99 %v, want %v and %v within 5 %%", gotMean, gotP99, mean, p99)
	}
	return nil
}

func far(got, want float64) bool { return math.Abs(got-want) > .05*want }

// lindley computes the response times, in seconds, of a queue with one worker,
// first come, first served, from when requests are due and how long each was
// served (Lindley 1952).
func lindley(due []time.Duration, served []loadserver.Request) []float64 {
	var free time.Duration
	all := make([]float64, len(due))
	for i, at := range due {
		free = max(free, at) + served[i].Due - served[i].Began
		all[i] = (free - at).Seconds()
	}
	return all
}

// meanAndP99 sorts what it is given. The rank of the percentile is rounded as in
// histograms: of 181 values the next one can be 5 % away.
func meanAndP99(all []float64) (mean, p99 float64) {
	for _, x := range all {
		mean += x / float64(len(all))
	}
	slices.Sort(all)
	return mean, all[int(.99*float64(len(all))+.5)-1]
}
