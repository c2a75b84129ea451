package queueing

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// reference is testdata/queueing.json, made by testdata/queueing.py.
type reference struct {
	Erlang      [][4]float64 // servers, erlangs, B, C
	MMcResponse [][4]float64 `json:"mmc_response"` // servers, erlangs, t, P(R > t)
	MD1         [][3]float64 // ρ, t, P(W ≤ t)
	MDc         [][4]float64 // servers, ρ, mean wait, P(W = 0)
	Simulated   []simulated
}

type simulated struct {
	Servers   int
	Rho       float64
	Constant  bool
	At        []float64
	Mean      float64
	MeanError float64 `json:"mean_error"`
	Over      []float64
	OverError []float64 `json:"over_error"`
}

func readQueueing(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/queueing.json")
	if err != nil {
		t.Fatal(err)
	}
	var q reference
	if err := json.Unmarshal(data, &q); err != nil {
		t.Fatal(err)
	}
	if len(q.Erlang) == 0 || len(q.MMcResponse) == 0 || len(q.MD1) == 0 || len(q.MDc) == 0 || len(q.Simulated) == 0 {
		t.Fatal("testdata/queueing.json is incomplete")
	}
	return q
}

// waiter is what both queues have.
type waiter interface {
	Utilisation() (float64, error)
	MeanWait() (float64, error)
	MeanResponse() (float64, error)
	WaitOver(t float64) (float64, error)
	WaitQuantile(p float64) (float64, error)
	ResponseQuantile(p float64) (float64, error)
}

func TestErlangAgreesWithItsDefinition(t *testing.T) {
	for _, c := range readQueueing(t).Erlang {
		name := fmt.Sprintf("%v servers, %v erlangs: ", c[0], c[1])
		b, err := ErlangB(int(c[0]), c[1])
		closeTo(t, name+"B", b/c[2], err, 1, 1e-13)
		wait, err := MMc{Servers: int(c[0]), Rate: c[1], Service: 1}.WaitProbability()
		closeTo(t, name+"C", wait/c[3], err, 1, 1e-13)
	}
}

func TestMMcResponseAgreesWithIntegration(t *testing.T) {
	for _, c := range readQueueing(t).MMcResponse {
		q := MMc{Servers: int(c[0]), Rate: c[1], Service: 1}
		over, err := q.ResponseOver(c[2])
		closeTo(t, fmt.Sprintf("%+v: P(R > %v)", q, c[2]), over, err, c[3], 1e-11)
		back, err := q.ResponseQuantile(1 - over)
		closeTo(t, fmt.Sprintf("%+v: quantile %v", q, 1-over), back, err, c[2], 1e-9)
	}
}

// TestMM1: the closed forms of the textbooks, at 1,000 requests a second.
func TestMM1(t *testing.T) {
	q := MMc{Servers: 1, Rate: 800, Service: .001}
	wait, err := q.MeanWait()
	closeTo(t, "mean wait", wait, err, .004, 1e-15)
	response, err := q.MeanResponse()
	closeTo(t, "mean response", response, err, .005, 1e-15)
	p99, err := q.ResponseQuantile(.99)
	closeTo(t, "p99 of the response", p99, err, .005*math.Log(100), 1e-15)
	p90, err := q.WaitQuantile(.9)
	closeTo(t, "p90 of the wait", p90, err, .005*math.Log(8), 1e-15)
	none, err := q.WaitQuantile(.2)
	closeTo(t, "p20 of the wait", none, err, 0, 0)
}

func TestMD1AgreesWithErlang(t *testing.T) {
	for _, c := range readQueueing(t).MD1 {
		q := MDc{Servers: 1, Rate: c[0], Service: 1}
		over, err := q.WaitOver(c[1])
		closeTo(t, fmt.Sprintf("%+v: P(W > %v)", q, c[1]), over, err, 1-c[2], 1e-12)
	}
}

func TestMDcAgreesWithIteration(t *testing.T) {
	for _, c := range readQueueing(t).MDc {
		q := MDc{Servers: int(c[0]), Rate: c[1] * c[0] * 100, Service: .01}
		mean, err := q.MeanWait()
		closeTo(t, fmt.Sprintf("%+v: mean wait in service times", q), 100*mean, err, c[2], 1e-10)
		over, err := q.WaitOver(0)
		closeTo(t, fmt.Sprintf("%+v: P(W > 0)", q), over, err, 1-c[3], 1e-10)
	}
}

// TestPollaczekKhinchine: the series for any number of servers gives, with
// one, what the closed form says.
func TestPollaczekKhinchine(t *testing.T) {
	for _, rho := range []float64{.01, .3, .6, .8, .95, .98} {
		q := MDc{Servers: 1, Rate: rho, Service: 1}
		w, err := q.walk(0)
		closeTo(t, fmt.Sprintf("mean wait at ρ = %v by the series", rho), w.mean/q.Rate, err, rho/2/(1-rho), 1e-12)
		closeTo(t, fmt.Sprintf("P(V = 0) at ρ = %v", rho), math.Exp(-w.over), err, (1-rho)*math.Exp(rho), 1e-13)
	}
}

// TestQueuesAgreeWithSimulation: within four standard errors of two million
// requests, and those are small.
func TestQueuesAgreeWithSimulation(t *testing.T) {
	for _, c := range readQueueing(t).Simulated {
		rate := c.Rho * float64(c.Servers)
		var q waiter = MMc{Servers: c.Servers, Rate: rate, Service: 1}
		if c.Constant {
			q = MDc{Servers: c.Servers, Rate: rate, Service: 1}
		}
		name := fmt.Sprintf("%T%+v: ", q, q)
		mean, err := q.MeanWait()
		closeTo(t, name+"mean wait", mean, err, c.Mean, 4*c.MeanError/math.Max(1, c.Mean))
		if c.MeanError > .03*c.Mean {
			t.Errorf("%sthe simulation is too short: %v ± %v", name, c.Mean, c.MeanError)
		}
		for i, at := range c.At {
			over, err := q.WaitOver(at)
			closeTo(t, fmt.Sprintf("%sP(W > %v)", name, at), over, err, c.Over[i], 4*c.OverError[i])
		}
	}
}

// TestWaitsAreConsistent: the mean is the integral of the tail, the quantile
// its inverse, the tail never rises, and constant service waits less than
// exponential, by half with one server.
func TestWaitsAreConsistent(t *testing.T) {
	for _, servers := range []int{1, 2, 3, 7} {
		for _, rho := range []float64{.2, .6, .8} {
			md := MDc{Servers: servers, Rate: rho * float64(servers), Service: 1}
			mm := MMc{Servers: servers, Rate: rho * float64(servers), Service: 1}
			for _, q := range []waiter{md, mm} {
				checkWaiter(t, fmt.Sprintf("%T%+v", q, q), q)
			}
			meanD, errD := md.MeanWait()
			meanM, errM := mm.MeanWait()
			if err := errors.Join(errD, errM); err != nil || meanD >= meanM {
				t.Errorf("%+v: mean wait %v is not below %v of exponential service (%v)", md, meanD, meanM, err)
			}
			if servers == 1 {
				closeTo(t, fmt.Sprintf("ρ = %v: M/D/1 of M/M/1", rho), meanD/meanM, nil, .5, 1e-12)
			}
		}
	}
}

func checkWaiter(t *testing.T, name string, q waiter) {
	t.Helper()
	// Simpson's rule; with constant service the tail has a kink at each whole
	// service time, where pieces end.
	const step = 1. / 16
	integral, before := 0.0, 1.0
	for i := 0; before > 1e-9; i++ {
		over, err := q.WaitOver(float64(i) * step)
		if err != nil || over > before+1e-13 {
			t.Fatalf("%s: P(W > %v) = %v after %v (%v)", name, float64(i)*step, over, before, err)
		}
		weight := 2 + 2*float64(i%2)
		if i == 0 {
			weight = 1
		}
		integral += weight * over * step / 3
		before = over
	}
	mean, err := q.MeanWait()
	closeTo(t, name+": mean against the integral of the tail", integral, err, mean, 1e-3)
	for _, p := range []float64{.5, .9, .99, .999} {
		at, err := q.WaitQuantile(p)
		if err != nil {
			t.Fatalf("%s: quantile %v: %v", name, p, err)
		}
		over, err := q.WaitOver(at)
		if at == 0 && err == nil && over <= 1-p {
			continue
		}
		closeTo(t, fmt.Sprintf("%s: P(W > quantile %v)", name, p), over, err, 1-p, 1e-9)
	}
}

func TestQueuesRefuse(t *testing.T) {
	ok := MMc{Servers: 2, Rate: 1, Service: 1}
	for _, c := range []struct {
		name string
		ask  func() (float64, error)
	}{
		{"no servers", MMc{Rate: 1, Service: 1}.MeanWait},
		{"no arrivals", MMc{Servers: 1, Service: 1}.MeanWait},
		{"no service", MDc{Servers: 1, Rate: 1}.MeanWait},
		{"rate NaN", MDc{Servers: 1, Rate: math.NaN(), Service: 1}.MeanWait},
		{"as much as it can do", MMc{Servers: 2, Rate: 2, Service: 1}.MeanResponse},
		{"more than it can do", MDc{Servers: 2, Rate: 3, Service: 1}.MeanResponse},
		{"too near its limit", MDc{Servers: 2, Rate: 1.99999, Service: 1}.MeanWait},
		{"negative time", func() (float64, error) { return ok.WaitOver(-1) }},
		{"time without end", func() (float64, error) { return ok.ResponseOver(math.Inf(1)) }},
		{"quantile 1", func() (float64, error) { return ok.ResponseQuantile(1) }},
		{"quantile below 0", func() (float64, error) { return ok.WaitQuantile(-.1) }},
		{"quantile NaN", func() (float64, error) { return MDc{Servers: 2, Rate: 1, Service: 1}.WaitQuantile(math.NaN()) }},
		{"quantile beyond the precision", func() (float64, error) { return MDc{Servers: 2, Rate: 1, Service: 1}.WaitQuantile(1 - 1e-12) }},
		{"wait beyond what is computed", func() (float64, error) { return MDc{Servers: 2, Rate: 1, Service: 1}.WaitOver(1e9) }},
		{"negative load", func() (float64, error) { return ErlangB(3, -1) }},
	} {
		if got, err := c.ask(); !errors.Is(err, stats.ErrArgument) {
			t.Errorf("%s: %v, %v, want ErrArgument", c.name, got, err)
		}
	}
}

// closeTo compares with a relative tolerance, absolute below 1.
func closeTo(t *testing.T, what string, got float64, err error, want, tolerance float64) {
	t.Helper()
	if err != nil || !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, %v, want %.15g", what, got, err, want)
	}
}
