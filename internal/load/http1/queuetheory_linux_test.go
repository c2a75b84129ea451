package http1

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/queueing"
)

// queues is how many queues of one worker are loaded at a time. A Poisson stream
// that is dealt out among them at random is as many independent ones. So theory
// shows in a hundredth of the time that one queue would need, and service times
// can be long beside what the machine adds.
const queues = 128

// theoryCase is a queue, and how long all of them take to show what theory says.
//
// Response times of neighbours in a queue are alike, so n of them are worth only
// n/τ independent ones, where τ is 1 + 2·(the sum of their autocorrelations).
// For M/M/1 at 80 % τ is about 110 for the response time, and about 100 for
// whether it is above the 99th percentile q. With the density f at q,
//
//	sd(mean)/mean = √(τ/n)·sd/mean      sd(p99)/q = √(τ·.01·.99/n) / (f·q)
//
// where sd = mean and f·q = .01·ln 100, as response times of M/M/1 are
// exponential. For a sampling error (standard deviation) of a third of 5 % that
// is n = 110/(.05/3)² = 400,000 for the mean and 100·.0099/(.046·.05/3)² =
// 1,700,000 for the 99th percentile, which so decides. It does so everywhere; by
// simulation, M/D/1 at 30, 60 and 80 % needs 20,000, 140,000 and 500,000 requests,
// M/M/1 at 30 and 60 % 50,000 and 230,000. Durations are for a fifth more or so;
// TestQueuesLongEnough checks them.
type theoryCase struct {
	queueCase
	lasts time.Duration
}

func theoryCases() []theoryCase {
	const ms = time.Millisecond
	return []theoryCase{
		{queueCase{loadserver.Constant, .3, 20 * ms}, 14 * time.Second},
		{queueCase{loadserver.Constant, .6, 10 * ms}, 22 * time.Second},
		{queueCase{loadserver.Constant, .8, 10 * ms}, 60 * time.Second},
		{queueCase{loadserver.Exponential, .3, 20 * ms}, 30 * time.Second},
		{queueCase{loadserver.Exponential, .6, 10 * ms}, 36 * time.Second},
		{queueCase{loadserver.Exponential, .8, 10 * ms}, 195 * time.Second},
	}
}

// theory is the mean and the 99th percentile of the response time, in seconds.
func (c queueCase) theory(t *testing.T) (mean, p99 float64) {
	t.Helper()
	var q interface {
		MeanResponse() (float64, error)
		ResponseQuantile(p float64) (float64, error)
	} = queueing.MDc{Servers: 1, Rate: c.rate(), Service: c.service.Seconds()}
	if c.times == loadserver.Exponential {
		q = queueing.MMc{Servers: 1, Rate: c.rate(), Service: c.service.Seconds()}
	}
	mean, err := q.MeanResponse()
	if err != nil {
		t.Fatal(err)
	}
	if p99, err = q.ResponseQuantile(.99); err != nil {
		t.Fatal(err)
	}
	return mean, p99
}

// TestQueuesTheory: mean and 99th percentile measured are those of queueing
// theory, within 5 %, at 30, 60 and 80 % of what a server can do. Beside them
// stands what arithmetic gives for just these arrivals: from theory it differs
// by chance only, and from what is measured by what machine and engine add.
func TestQueuesTheory(t *testing.T) {
	if os.Getenv("LOAD_PROOF") == "" {
		t.Skip("takes six minutes; `make load-proof` runs it")
	}
	rows := []string{"| queue | requests | mean: theory | these arrivals | measured | p99: theory | these arrivals | measured |"}
	for _, c := range theoryCases() {
		t.Run(c.String(), func(t *testing.T) {
			rows = append(rows, parts.Measure(t, "", func() (row string) {
				repeatedly(t, 2, func() (err error) {
					row, err = c.measure(t)
					t.Log(row)
					return err
				})
				return row
			}))
		})
	}
	t.Log("\n" + strings.Join(rows, "\n"))
}

// measure loads all queues with one engine, and returns a row of the table.
func (c theoryCase) measure(t *testing.T) (row string, err error) {
	server := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Queues: queues, Service: c.service, Times: c.times, Seed: 7})
	defer server.Stop()
	plan := hold(queues*c.rate(), c.lasts)
	plan.Arrivals = load.Poisson
	d := open(t, Config{Requests: get("http://" + server.Address()), Loops: 1, Connections: 4000})
	got := run(t.Context(), t, d, load.Run{Plan: plan, Drain: 10 * time.Second})
	due, did := dueTimes(plan, 1), server.Take()
	if got.OK != int64(len(due)) || len(did.Requests) != len(due) {
		t.Fatalf("%+v, and %d at the server, want all %d OK", got.Counts, len(did.Requests), len(due))
	}
	t.Logf("p99 of the send lag %v, of how late answers were %v; the engine used %v, the server %v",
		time.Duration(got.lag.ValueAtPercentile(99)), did.Late(.99), got.usage.CPU, did.CPU)
	return c.compare(t, got, lindleys(due, did.Requests))
}

// lindleys is lindley for several queues. Two requests that are due within the
// delay of the machine may arrive in the other order, and then have each other's
// due time: that error is at most the delay of the machine.
func lindleys(due []time.Duration, served []loadserver.Request) []float64 {
	dueAt, servedAt := make([][]time.Duration, queues), make([][]loadserver.Request, queues)
	for i, r := range served {
		dueAt[r.Queue] = append(dueAt[r.Queue], due[i])
		servedAt[r.Queue] = append(servedAt[r.Queue], r)
	}
	all := make([]float64, 0, len(due))
	for i := range queues {
		all = append(all, lindley(dueAt[i], servedAt[i])...)
	}
	return all
}

// compare is of what was measured with theory. Response times of these arrivals
// are only shown.
func (c theoryCase) compare(t *testing.T, got result, these []float64) (row string, err error) {
	t.Helper()
	mean, p99 := c.theory(t)
	theseMean, theseP99 := meanAndP99(these)
	gotMean, gotP99 := got.latency.Mean()/1e9, float64(got.latency.ValueAtPercentile(99))/1e9
	beside := func(x, theory float64) string { return fmt.Sprintf("%.2f ms (%+.1f %%)", 1e3*x, 100*(x/theory-1)) }
	row = fmt.Sprintf("| %s | %d | %.2f ms | %s | %s | %.2f ms | %s | %s |", c, len(these),
		1e3*mean, beside(theseMean, mean), beside(gotMean, mean), 1e3*p99, beside(theseP99, p99), beside(gotP99, p99))
	if far(gotMean, mean) || far(gotP99, p99) {
		err = fmt.Errorf("mean %v, p99 %v, theory %v and %v, not within 5 %%", gotMean, gotP99, mean, p99)
	}
	return row, err
}

// TestQueuesLongEnough: by chance alone, without a server or an engine, mean and
// 99th percentile differ from theory by less than a third of 5 % (a standard
// deviation) in the time that TestQueuesTheory takes; and it makes no difference
// that queues are empty at the beginning.
func TestQueuesLongEnough(t *testing.T) {
	parts.Begin(t)
	if os.Getenv("LOAD_PROOF") == "" {
		t.Skip("takes half a minute of a processor; `make load-proof` runs it")
	}
	const times = 40
	for _, c := range theoryCases() {
		mean, p99 := c.theory(t)
		var means, p99s []float64
		for seed := range uint64(times) {
			m, q := meanAndP99(c.simulate(seed))
			means, p99s = append(means, m/mean), append(p99s, q/p99)
		}
		m, sdMean := spread(t, means)
		q, sdP99 := spread(t, p99s)
		t.Logf("%s in %v: mean %.4f ± %.4f, p99 %.4f ± %.4f of theory", c, c.lasts, m, sdMean, q, sdP99)
		if sdMean > .05/3 || sdP99 > .05/3 || math.Abs(m-1) > .01 || math.Abs(q-1) > .01 {
			t.Errorf("%s is not long enough: mean %v ± %v, p99 %v ± %v of theory", c, m, sdMean, q, sdP99)
		}
	}
}

// simulate returns the response times of all queues, in seconds.
func (c theoryCase) simulate(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, queues))
	work := func() float64 { return c.service.Seconds() }
	if c.times == loadserver.Exponential {
		work = func() float64 { return rng.ExpFloat64() * c.service.Seconds() }
	}
	var all []float64
	for range queues {
		free := 0.0
		for at := rng.ExpFloat64() / c.rate(); at < c.lasts.Seconds(); at += rng.ExpFloat64() / c.rate() {
			free = max(free, at) + work()
			all = append(all, free-at)
		}
	}
	return all
}

// spread is the mean and the standard deviation.
func spread(t *testing.T, xs []float64) (mean, sd float64) {
	t.Helper()
	mean, meanErr := stats.Mean(xs)
	sd, sdErr := stats.SampleSD(xs)
	if meanErr != nil || sdErr != nil {
		t.Fatal(meanErr, sdErr)
	}
	return mean, sd
}
