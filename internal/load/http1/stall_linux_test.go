package http1

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// stallCase is a server that stalls in the last part of every period, under
// evenly spaced requests far below its capacity.
//
// With λ requests per second, a server that answers C of them per second, its
// utilisation ρ = λ/C, and a stall of S in every T (seconds): a request that is
// due x after the stall began waits for what is left of it, S-x, and then until
// the λx before it are answered, at C per second:
//
//	S - x + λx/C = S - (1-ρ)x
//
// One that is due y after the stall's end finds λS + λy - Cy before it, and
// waits for ρS - (1-ρ)y: the same line, with x = S+y. So requests wait from the
// beginning of a stall until S/(1-ρ) later, evenly for anything from S down to
// 0. These are the share
//
//	f = S / ((1-ρ)T)
//
// of all, P(wait > w) = f·(1 - w/S), and therefore with the service time s
//
//	p-quantile = s + S·(1 - (1-p)/f) where 1-p < f, else s
//	mean       = s + f·S/2
//
// The tool that waits for an answer before it sends the next request sees each
// stall as one slow request per connection.
type stallCase struct {
	stall   loadserver.Stall
	rate    float64 // λ
	workers int     // k, so that C = k/s
	service time.Duration
	periods int
}

// issueStall is one second in ten for a minute; shortStall is the same in
// small.
var (
	issueStall = stallCase{loadserver.Stall{Every: 10 * time.Second, For: time.Second}, 1000, 4, time.Millisecond, 6}
	shortStall = stallCase{loadserver.Stall{Every: 2 * time.Second, For: 200 * time.Millisecond}, 1000, 4, time.Millisecond, 1}
)

func (c stallCase) behaviour() loadserver.Behaviour {
	return loadserver.Behaviour{Workers: c.workers, Service: c.service, Stall: c.stall}
}

func (c stallCase) lasts() time.Duration { return time.Duration(c.periods) * c.stall.Every }

// delayed is f: the share of requests that a stall delays.
func (c stallCase) delayed() float64 {
	utilisation := c.rate * c.service.Seconds() / float64(c.workers)
	return c.stall.For.Seconds() / c.stall.Every.Seconds() / (1 - utilisation)
}

// stallQuantiles are the percentiles that the tools are compared by.
var stallQuantiles = []float64{.9, .95, .99, .999}

// expected is what a client sees that asks at a constant rate.
func (c stallCase) expected() latencies {
	f, stall, service := c.delayed(), c.stall.For.Seconds(), c.service.Seconds()
	want := latencies{name: "arithmetic", rate: c.rate, mean: service + f*stall/2}
	for _, p := range stallQuantiles {
		want.quantiles = append(want.quantiles, service+max(0, stall*(1-(1-p)/f)))
	}
	return want
}

// TestStallEvery: percentiles and mean under a server that stalls again and
// again are those of arithmetic, within 5 %. Where LOAD_PROOF is set, with a
// second in every ten for a minute, and with what hey and wrk say beside it.
func TestStallEvery(t *testing.T) {
	parts.Begin(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	proof := os.Getenv("LOAD_PROOF") != ""
	c, tries := shortStall, 8
	if proof {
		c, tries = issueStall, 2
	}
	server := loadserver.Start(t, c.behaviour())
	var got latencies
	repeatedly(t, tries, func() error {
		got = c.measure(t, server)
		return got.differ(c.expected())
	})
	all := []latencies{c.expected(), got}
	if proof {
		all = append(all, hey(t, server.URL(), c.rate, c.lasts()), wrk(t, server.URL(), c.lasts()))
	}
	t.Logf("a stall of %v in every %v, for %v:\n%s", c.stall.For, c.stall.Every, c.lasts(), table(all))
}

// measure offers the load for whole periods. It begins one stall's length into
// a period, when the backlog of a stall before would be gone, and so that the
// backlog of the last one is offered whole.
func (c stallCase) measure(t *testing.T, server *loadserver.Server) latencies {
	t.Helper()
	d := open(t, Config{Requests: get("http://" + server.Address()), Loops: 1})
	since := server.Set(c.behaviour())
	start := time.Now().Add(since + c.stall.For - loadserver.Now())
	plan := hold(c.rate, c.lasts())
	got := run(t.Context(), t, d, load.Run{Plan: plan, Drain: 10 * time.Second, Start: start})
	if want := int64(c.rate * c.lasts().Seconds()); got.OK != want || got.Due != want {
		t.Fatalf("%+v, want all %d OK", got.Counts, want)
	}
	l := latencies{name: "scalebench", rate: float64(got.OK) / c.lasts().Seconds(), mean: got.latency.Mean() / 1e9}
	for _, p := range stallQuantiles {
		l.quantiles = append(l.quantiles, float64(got.latency.ValueAtPercentile(100*p))/1e9)
	}
	return l
}

// differ reports what is not within 5 % of what it should be.
func (l latencies) differ(want latencies) error {
	if far(l.mean, want.mean) {
		return fmt.Errorf("the mean is %.4f s, want %.4f within 5 %%", l.mean, want.mean)
	}
	for i, p := range stallQuantiles {
		if far(l.quantiles[i], want.quantiles[i]) {
			return fmt.Errorf("the %v-quantile is %.4f s, want %.4f within 5 %%", p, l.quantiles[i], want.quantiles[i])
		}
	}
	return nil
}
