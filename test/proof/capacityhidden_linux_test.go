//go:build proof

package proof_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

var (
	hiddenServers = flag.Int("hidden", 40, "how many servers of hidden capacity the load proof draws")
	hiddenSeed    = flag.Uint64("hidden-seed", 1, "what they are drawn from")
)

// hidden is a server and what is asked of it.
type hidden struct {
	kind   string
	server loadserver.Behaviour
	args   []string // of scalebench capacity
	// truth is the load at the boundary, in requests per second; 0: there is
	// none that stays.
	truth float64
}

// What a window is: enough requests at 100/s for 1 % of errors in two of them,
// and in 3 s an overload of 1 % makes the last request wait for 30 ms.
const (
	hiddenWarmUp = time.Second
	hiddenWindow = 2 * time.Second
	hiddenWait   = 20 * time.Millisecond // that the SLA allows
)

// dealt are the kinds of ten servers in a row: those that are seldom are in all
// samples of ten.
var dealt = []func(*rand.Rand) hidden{
	admitting, working, closing, chunked, slowing,
	admitting, working, closing, redirecting, working,
}

// TestCapacityHidden: servers whose capacity the search does not know, drawn at
// random, while something else takes 0.3 of a core. Estimates hold the truth in
// 95 % of the cases, hardly any search is refused, and none is wrong.
func TestCapacityHidden(t *testing.T) {
	skip.UnlessLong(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	if !parts.Whole() {
		program.Calmly(t, func() error { return quickHidden().try(t) })
		return
	}
	defer busyLoop(.3)()
	rng := rand.New(rand.NewPCG(*hiddenSeed, 0x41dde)) //nolint:gosec // repeatable on purpose
	table := newHiddenTable()
	for i := range *hiddenServers {
		c := dealt[i%len(dealt)](rng)
		t.Run(fmt.Sprintf("%02d %s", i+1, c.kind), func(t *testing.T) {
			of := fmt.Sprintf("seed %d: %s, %v, %v", *hiddenSeed, c.kind, c.args, c.truth)
			table.add(parts.Measure(t, of, func() outcome { return c.outcome(t) }))
		})
	}
	t.Log("\n" + table.text.String())
	if err := table.judge(); err != nil && table.searches == *hiddenServers {
		t.Error(err)
	}
}

// quickHidden is for every day: 300 a second, as nginx with limit_req.
func quickHidden() hidden {
	const warmUp, window = time.Second, time.Second
	a := loadserver.Admit{Rate: 300, Burst: 10}
	return hidden{
		kind: "503 beyond 300/s", server: loadserver.Behaviour{Admit: a, Service: 2 * time.Millisecond},
		args:  []string{"--sla", "p90=50ms,errors=1%", "--window", "1s", "--warm-up", "1s", "--resolution", "0.1"},
		truth: a.Load(.01, warmUp, window),
	}
}

// try is one search that has to end with the truth.
func (c hidden) try(t *testing.T) error {
	defer busyLoop(.3)()
	f, err := c.find(t)
	if err != nil {
		return err
	}
	t.Log(f.row())
	if f.Estimate == nil || f.wrong() != "" {
		return fmt.Errorf("limit %s, passed %s, failed %s, confirmed %v, %s; want about %.0f; %q",
			f.Limit, program.Optional(f.Passed), program.Optional(f.Failed), f.Confirmed, f.wrong(), c.truth, f.Warnings)
	}
	return nil
}

// between draws from low to high, evenly in the logarithm.
func between(rng *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, rng.Float64())
}

// working is k workers with an exact service time, which is from 0.3 to 100 ms,
// and a queue of a second.
func working(rng *rand.Rand) hidden {
	c := between(rng, 100, 3000)
	k := 1 + rng.IntN(int(min(c/10, 32)))
	b := loadserver.Behaviour{Workers: k, Service: time.Duration(float64(k) / c * 1e9)}
	b.Room = max(int(b.Capacity()), k)
	return hidden{
		kind: fmt.Sprintf("%d × %v", k, b.Service.Round(10*time.Microsecond)), server: b,
		args:  hiddenArgs(fmt.Sprintf("p90=%v", (b.Service + hiddenWait).Round(10*time.Microsecond))),
		truth: b.Capacity(),
	}
}

func hiddenArgs(sla string) []string {
	return []string{"--sla", sla, "--window", hiddenWindow.String(), "--warm-up", hiddenWarmUp.String(), "--start", "200op/s"}
}

func closing(rng *rand.Rand) hidden {
	h := working(rng)
	h.kind, h.server.Closing = h.kind+", closing", true
	return h
}

func chunked(rng *rand.Rand) hidden {
	h := working(rng)
	h.kind, h.server.Chunked, h.server.Body = h.kind+", chunked", true, 1+rng.IntN(5000)
	return h
}

// admitting answers 503 beyond a rate. The burst is what comes in 10 ms: a
// generator that pauses for longer offers more than the rate afterwards.
func admitting(rng *rand.Rand) hidden {
	a := loadserver.Admit{Rate: between(rng, 150, 3000)}
	a.Burst = max(4, math.Round(a.Rate/100))
	return hidden{
		kind:   fmt.Sprintf("503 beyond %.0f/s", a.Rate),
		server: loadserver.Behaviour{Admit: a, Service: time.Duration(between(rng, 1e6, 2e7))},
		args:   hiddenArgs("p90=50ms,errors=1%"), truth: a.Load(.01, hiddenWarmUp, hiddenWindow),
	}
}

// slowing needs two to three times as long for a request from somewhere in the
// middle of the search on: at once, or by and by. A window at its capacity is
// three seconds' worth, and a search has about ten of those.
func slowing(rng *rand.Rand) hidden {
	h := working(rng)
	second := h.server.Capacity()
	from := between(rng, 5, 15) * second
	to := from + rng.Float64()*10*second*float64(rng.IntN(2))
	h.server.Wear = loadserver.Wear{From: int(from), To: int(to), Factor: 2 + rng.Float64()}
	h.kind += fmt.Sprintf(", %.1f times as long after %.0f to %.0f s", h.server.Wear.Factor, from/second, to/second)
	h.truth = 0
	return h
}

// redirecting breaks its SLA at any load.
func redirecting(rng *rand.Rand) hidden {
	h := hidden{
		kind: "1 in 20 redirected",
		server: loadserver.Behaviour{
			Service: time.Duration(between(rng, 1e6, 2e7)), Fail: loadserver.Fail{Share: .05, How: loadserver.Redirect},
		},
		args: hiddenArgs("p90=50ms,errors=1%"),
	}
	if rng.IntN(2) == 0 {
		h.kind, h.args = h.kind+", from 50/s on", append(h.args, "--min", "50op/s")
	}
	return h
}

// found is what a search says of a hidden server.
type found struct {
	hidden
	capacity.Record
	now  float64 // what its workers take after the search; 0 where each request alone takes too long
	took time.Duration
}

// find searches; exit code 4 says that there is no capacity to report.
func (c hidden) find(t *testing.T) (f found, err error) {
	server := loadserver.Start(t, c.server)
	defer server.Stop()
	w := install(t)
	begun := time.Now()
	out, stderr, err := w.Try(append([]string{"capacity", server.URL(), "--format", "json"}, c.args...)...)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 4) {
		return f, fmt.Errorf("scalebench capacity: %w\n%s", err, stderr)
	}
	f = found{hidden: c, took: time.Since(begun), now: c.server.Capacity()}
	if err := json.Unmarshal([]byte(out), &f.Record); err != nil {
		return f, fmt.Errorf("reading what capacity prints: %w\n%s", err, stderr)
	}
	r := server.Take()
	times := c.server.Wear.After(len(r.Requests) - r.Count(loadserver.Refused))
	f.now /= times
	if (times-1)*c.server.Service.Seconds() > hiddenWait.Seconds() {
		f.now = 0
	}
	return f, nil
}

// wrong says in what a result contradicts the truth; empty: in nothing.
func (f found) wrong() string {
	const beyond, bound = .03, .05
	truth, wears := f.truth, f.server.Wear != (loadserver.Wear{})
	switch {
	case f.Limit == capacity.LimitDrift && !wears:
		return "a drift of what stays the same"
	case f.Drift != nil && f.Drift.Now != nil && *f.Drift.Now > f.now*(1+bound):
		return "a load that it does not take any more"
	case f.Confirmed && f.Estimate == nil:
		return "confirmed without an estimate"
	case f.Confirmed && f.Limit != capacity.LimitTarget:
		return fmt.Sprintf("confirmed, beside the limit %s", f.Limit)
	case truth == 0 && !f.Confirmed:
		return "" // it does not say that this is its capacity
	case truth == 0 && !wears:
		return "confirmed, and no load is right"
	case truth == 0:
		truth = f.now
	}
	switch {
	case f.Confirmed && (f.CI == nil || truth < f.CI[0]*(1-beyond) || truth > f.CI[1]*(1+beyond)):
		return "the interval misses the truth"
	case f.Passed != nil && *f.Passed > truth*(1+bound):
		return "passed exceeds the truth"
	case f.Failed != nil && *f.Failed < truth*(1-bound):
		return "failed is below the truth"
	}
	return ""
}

// holds reports whether the interval holds the truth, as exactly as the server
// keeps time.
func (f found) holds() bool {
	const exact = .01
	return f.CI != nil && f.truth >= f.CI[0]*(1-exact) && f.truth <= f.CI[1]*(1+exact)
}

// hiddenTable counts what became of searches, and has a row for each.
type hiddenTable struct {
	text                               strings.Builder
	searches, estimates, held, refused int
	failed                             []string
}

func newHiddenTable() *hiddenTable {
	h := &hiddenTable{}
	h.text.WriteString("| server | truth | passed | failed | estimate | 95 % interval | limit | confirmed | windows | took | |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	return h
}

// outcome is what became of a search, in so far as all of them are judged.
type outcome struct {
	Row                      string
	Wrong                    string // empty: in nothing
	Refused, Estimates, Held bool
}

// outcome searches.
func (c hidden) outcome(t *testing.T) (o outcome) {
	f, err := c.find(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(f.row())
	if wide := f.CI != nil && f.CI[1] > 1.25*f.CI[0]; wide || f.verdict() != "holds" {
		t.Log(f.course())
	}
	o = outcome{Row: f.row(), Wrong: f.wrong(), Estimates: f.truth > 0 && f.Estimate != nil}
	o.Refused = o.Wrong == "" && f.truth > 0 && f.Estimate == nil
	o.Held = o.Estimates && f.holds()
	if o.Wrong != "" {
		o.Wrong = f.kind + ": " + o.Wrong
	}
	return o
}

// add takes down what came of a search.
func (h *hiddenTable) add(o outcome) {
	h.searches++
	h.text.WriteString(o.Row + "\n")
	if o.Wrong != "" {
		h.failed = append(h.failed, o.Wrong)
	}
	for of, is := range map[*int]bool{&h.refused: o.Refused, &h.estimates: o.Estimates, &h.held: o.Held} {
		if is {
			*of++
		}
	}
}

// judge holds all searches to what is demanded of them.
func (h *hiddenTable) judge() error {
	what := fmt.Sprintf("%d searches: %d of %d estimates hold the truth, %d refused, %d wrong %q", h.searches, h.held, h.estimates, h.refused, len(h.failed), h.failed)
	if len(h.failed) > 0 || 20*h.held < 19*h.estimates || 20*h.refused > h.searches {
		return fmt.Errorf("%s; want 95 %%, 5 %% at most, none", what)
	}
	return nil
}

// verdict is a word for the last column.
func (f found) verdict() string {
	switch wrong := f.wrong(); {
	case wrong != "":
		return "WRONG: " + wrong
	case f.truth == 0:
		return "right"
	case f.Estimate == nil:
		return "refused"
	case f.holds():
		return "holds"
	}
	return "beside the truth"
}

func (f found) row() string {
	truth, ci := fmt.Sprintf("%.0f", f.truth), "none"
	if f.truth == 0 {
		truth = "none"
		if f.server.Wear != (loadserver.Wear{}) {
			truth = fmt.Sprintf("%.0f, then %.0f", f.server.Capacity(), f.now)
		}
	}
	if f.CI != nil {
		ci = fmt.Sprintf("%.0f to %.0f", f.CI[0], f.CI[1])
	}
	limit := string(f.Limit)
	if f.Drift != nil {
		limit += fmt.Sprintf(" (%.0f, then %s)", f.Drift.Then, program.Optional(f.Drift.Now))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %v | %d | %.0f s | %s |",
		f.kind, truth, program.Optional(f.Passed), program.Optional(f.Failed), program.Optional(f.Estimate),
		ci, limit, f.Confirmed, len(f.Windows), f.took.Seconds(), f.verdict())
}

// course is what is needed to find out why.
func (f found) course() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", f.Warnings)
	for _, w := range f.Windows {
		fmt.Fprintf(&b, "%8.1f %-8s %-8s lag p99 %s ms, busy %.2f, errors %v, %q %q %s\n",
			w.Load, w.Phase, w.Verdict, program.Optional(w.LagP99), w.Busy, w.Errors, w.Misses, w.Generators, w.PathChange)
	}
	return b.String()
}

// busyLoop takes a share of one core, in periods of 10 ms, until it is stopped.
func busyLoop(share float64) (stop func()) {
	const period = 10 * time.Millisecond
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			for begun := time.Now(); time.Since(begun).Seconds() < share*period.Seconds(); {
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(quit); <-ended }
}
