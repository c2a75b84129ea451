package capacity

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// reserveSeed and reserveRounds are of the cases that are drawn: others, and more,
// for the table of docs/capacity-search.md.
func reserveSeed(t *testing.T) uint64 { return uint64(fromEnv(t, "SCALEBENCH_RESERVE_SEED", 25)) }
func reserveRounds(t *testing.T) int  { return fromEnv(t, "SCALEBENCH_RESERVE_ROUNDS", 4) }

func fromEnv(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// server is a target by its arithmetic. Its state lasts from window to window.
type server interface {
	// take takes an operation that comes at now, in seconds; it ends at done, if
	// it is not refused. Operations come in order.
	take(now float64) (done float64, refused bool)
}

// bucket has so many tokens a second, and so many at most. What finds none is
// refused, or waits for its own.
type bucket struct {
	rate, burst float64
	delays      bool
	tokens, at  float64
}

func (b *bucket) take(now float64) (float64, bool) {
	b.tokens, b.at = min(b.tokens+(now-b.at)*b.rate, b.burst), now
	if b.tokens < 1 && !b.delays {
		return now, true
	}
	b.tokens--
	return now + 1e-3 + max(-b.tokens, 0)/b.rate, false
}

// queue has workers that take one operation after the other. Beyond room it
// refuses; credits, which come at a rate, make it quicker while there are any.
type queue struct {
	free            []float64 // when each worker is
	service, quick  float64
	room            int
	rate, most      float64 // of credits
	credits, at     float64
	costly          float64 // each that waits makes service longer by this share
	waiting, begins int
	starts          []float64
}

func (q *queue) take(now float64) (float64, bool) {
	for q.begins < len(q.starts) && q.starts[q.begins] <= now {
		q.begins++
	}
	q.waiting = len(q.starts) - q.begins
	if q.room > 0 && q.waiting >= q.room {
		return now, true
	}
	q.credits, q.at = min(q.credits+(now-q.at)*q.rate, q.most), now
	first := 0
	for i, at := range q.free {
		if at < q.free[first] {
			first = i
		}
	}
	took := q.service
	if q.quick > 0 && q.credits >= 1 {
		q.credits--
		took = q.quick
	}
	took *= 1 + q.costly*math.Min(float64(q.waiting), 100)/100
	begins := max(now, q.free[first])
	q.free[first] = begins + took
	q.starts = append(q.starts, begins)
	return q.free[first], false
}

// simulated is a search of a server in which time passes: between windows, in the
// recovery, and in windows.
type simulated struct {
	server      server
	connections int // 0: any number
	now         float64
	seconds     float64           // of load, in all
	latencies   [][]float64       // of the seconds of the latest window
	stall       func(int) float64 // seconds for which window k stands still; nil: never
	spoil       func(*replay, *load.Window)
}

// offer offers a load for so many seconds, of which those from warmUp on are in the
// window; answers are waited for until drain after the end.
func (s *simulated) offer(rate, warmUp, scored, drain, still float64) load.Window {
	w := load.Window{
		Load: rate, Scored: time.Duration(scored) * time.Second,
		Latencies: histogram.New(int64(time.Minute)), Services: histogram.New(int64(time.Minute)), Lags: histogram.New(int64(time.Minute)),
	}
	for i := range int(scored) {
		x := &w.Seconds
		x.Index, x.Due, x.OK, x.Replies = append(x.Index, int(warmUp)+i), append(x.Due, 0), append(x.OK, 0), append(x.Replies, 0)
		x.P50, x.P90 = append(x.P50, math.NaN()), append(x.P90, math.NaN())
	}
	free := make([]float64, s.connections)
	s.latencies = make([][]float64, int(scored))
	end := warmUp + scored
	for due, i := 0., 0; due < end; i++ {
		s.one(&w, due, warmUp, end+drain, still, free)
		due = float64(i+1) / rate
	}
	for i, all := range s.latencies {
		w.Seconds.P50[i] = stats.Median(all)
	}
	s.now += end + drain
	s.seconds += end + drain
	return w
}

// one is an operation that is due at a time of the window.
func (s *simulated) one(w *load.Window, due, warmUp, until, still float64, free []float64) {
	sent, on := due, -1
	for i := range free {
		if on < 0 || free[i] < free[on] {
			on = i
		}
	}
	if on >= 0 {
		sent = max(due, free[on])
	}
	done, refused := sent, false
	if sent < until {
		done, refused = s.server.take(s.now + sent)
		done -= s.now
		if from := warmUp + 3; done > from && sent < from+still { // nothing ends while it stands still
			done = max(done, from+still)
		}
	}
	if on >= 0 {
		free[on] = done
	}
	x := &w.Seconds
	second := func(t float64) int { return int(math.Floor(t - warmUp)) }
	if k := second(done); !refused && k >= 0 && k < x.Len() {
		x.Replies[k]++
		w.Replies++
	}
	k := second(due)
	if k < 0 || k >= x.Len() {
		return
	}
	w.Counts.Due++
	x.Due[k]++
	if sent > due {
		w.Counts.Waited++
	}
	histogram.Record(w.Lags, int64(20*time.Microsecond))
	switch {
	case refused:
		w.Counts.Errors[load.ErrStatus]++
	case done > until:
		w.Counts.Unfinished++
	default:
		w.Counts.OK++
		x.OK[k]++
		s.latencies[k] = append(s.latencies[k], done-due)
		histogram.Record(w.Latencies, int64((done-due)*1e9))
		histogram.Record(w.Services, int64((done-sent)*1e9))
	}
}

// search lets a configuration search.
func (s *simulated) search(t *testing.T, cfg Config) Answer {
	t.Helper()
	r, err := cfg.begin()
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; !r.over; k++ {
		if k > 100 {
			t.Fatal("the search does not end")
		}
		s.now += .7                                                      // between windows
		for good, i := 0, 0; r.next.Recover && good < 2 && i < 20; i++ { // as the generator does
			if w := s.offer(min(20, r.next.Load), 0, 1, 0, 0); len(cfg.SLA.Judge(w)) > 0 {
				good = -1
			}
			good++
		}
		still := 0.
		if s.stall != nil {
			still = s.stall(k)
		}
		w := s.offer(r.next.Load, cfg.WarmUp.Seconds(), r.next.Scored.Seconds(), cfg.SLA.Drain().Seconds(), still)
		if s.spoil != nil {
			s.spoil(r, &w)
		}
		r.take(w)
	}
	return r.result()
}

// timed is the search of the command, with windows of its own choice or of so long.
func timed(t *testing.T, warmUp, window time.Duration) Config {
	cfg := config(t)
	cfg.WarmUp, cfg.Scored, cfg.Given, cfg.Connections = warmUp, window, window > 0, 200
	if window == 0 {
		cfg.Scored = cfg.SLA.Scored(warmUp)
	}
	cfg.Max = 3000
	return cfg
}

func workers(n int, service float64) *queue {
	return &queue{free: make([]float64, n), service: service}
}

// TestReserve: a rate that a target gives for a while is none that it takes. What is
// confirmed is sustained; and of a target without a reserve, the search takes no
// longer than it did.
func TestReserve(t *testing.T) {
	rng := rand.New(rand.NewPCG(reserveSeed(t), 1)) //nolint:gosec // repeatable on purpose
	within := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	type trial struct {
		name    string
		server  server
		truth   float64
		windows int // at most, of a server without a reserve; 0: it has one
	}
	doubts, searches := 0, 0
	for range reserveRounds(t) {
		rate := math.Round(within(60, 400))
		burst := math.Round(rate * within(.2, 5))
		bursty := func() bucket { return bucket{rate: rate, burst: burst, tokens: burst} }
		refuses, delays := bursty(), bursty()
		delays.delays = true
		full, costly := workers(2, 2/rate), workers(1, 1/rate)
		full.room, costly.costly = int(rate*.1)+2, within(.05, .5)
		for _, c := range []trial{
			{fmt.Sprintf("refuses beyond %v/s, bursts of %v", rate, burst), &refuses, rate, 0},
			{fmt.Sprintf("delays beyond %v/s, bursts of %v", rate, burst), &delays, rate, 0},
			{fmt.Sprintf("half of %v/s a second quicker, and %v at once", rate, burst),
				&queue{free: make([]float64, 1), service: 1 / rate, quick: .4 / rate, rate: .5 * rate, most: burst, credits: burst}, 1.3 * rate, 0},
			{fmt.Sprintf("M/D/1, %v/s", rate), workers(1, 1/rate), rate, 14},
			{fmt.Sprintf("refuses what does not fit, %v/s", rate), full, rate, 14},
			{fmt.Sprintf("%v/s, less when it is full", rate), costly, rate, 24},
		} {
			s := simulated{server: c.server, connections: 200}
			a := s.search(t, timed(t, 2*time.Second, 0))
			text := fmt.Sprintf("%s: passed %v, failed %v, estimate %v %v, confirmed %v, %s, reserve %+v, %d windows, %.0f s, %q",
				c.name, number(a.Passed), number(a.Failed), number(a.Estimate), a.CI, a.Confirmed, a.Limit, a.Reserve, len(a.Windows), s.seconds, a.Warnings())
			t.Log(text)
			right := a.Estimate != nil && a.Confirmed && *a.Passed < 1.06*c.truth && a.CI[0] <= 1.01*c.truth && a.CI[1] >= .99*c.truth
			doubt := a.Estimate == nil && !a.Confirmed && (a.Reserve == nil || a.Reserve.Sustained < 1.03*c.truth)
			if searches++; doubt {
				doubts++
			}
			if !right && !doubt || c.windows > 0 && len(a.Windows) > c.windows {
				t.Error(text)
			}
		}
	}
	if t.Logf("%d of %d searches without an estimate", doubts, searches); 10*doubts > searches {
		t.Errorf("%d of %d searches have no estimate", doubts, searches)
	}
}

// TestBucket is the rate limiter that takes 100/s, and 200 at once. Where the user
// chose short windows, the answer says for how long it takes more.
func TestBucket(t *testing.T) {
	for window, want := range map[time.Duration]string{
		0:               "takes about 100",
		2 * time.Second: "for 3.00 s only; it sustains about 100",
		5 * time.Second: "for 6.00 s only; it sustains about 100",
	} {
		s := simulated{server: &bucket{rate: 100, burst: 200, tokens: 200}, connections: 200}
		cfg := timed(t, time.Second, window)
		a := s.search(t, cfg)
		text := fmt.Sprintf("windows of %v: %s %v, confirmed %v, reserve %+v, %d windows; %q", window, a.sentence(), a.CI, a.Confirmed, a.Reserve, len(a.Windows), a.Warnings())
		found := Search{Workload: "w", Config: cfg, Answer: a}
		err := gated(95, found)
		_, row := found.row(&frame.Frame{Values: []float64{1}})
		if window > 0 {
			if !strings.Contains(text, want) || a.Estimate != nil || a.Confirmed || !errors.Is(err, model.ErrInvalid) ||
				!hasDoubt(a, "reserve") || row || !strings.Contains(a.brief(), " only") {
				t.Errorf("%s; gate %v; want %q and no estimate", text, err, want)
			}
		} else if a.Estimate == nil || !a.Confirmed || *a.Passed > 105 || a.CI[0] > 100 || a.CI[1] < 101 || err != nil || !row {
			t.Errorf("%s; gate %v; want 100 to 105, confirmed", text, err)
		}
	}
}

// proofs are what becomes of the windows that are to show what is sustained, by chance.
var proofs = map[string]func(w *load.Window){
	"errors": func(w *load.Window) { lose(w, .1, load.ErrStatus) },
	"errors, and fewer answers": func(w *load.Window) {
		lose(w, .1, load.ErrStatus)
		for i := range w.Seconds.Replies[w.Seconds.Len()/3:] {
			w.Seconds.Replies[w.Seconds.Len()/3+i] = w.Seconds.Replies[w.Seconds.Len()/3+i] * 4 / 5
		}
	},
	"a lock": func(w *load.Window) {
		lose(w, .4, load.ErrTimeout)
		clear(w.Seconds.Replies[2:7])
	},
	"a full machine": func(w *load.Window) {
		lose(w, .1, load.ErrTimeout)
		w.Processor = 1
	},
}

// TestProofByChance: a server that does less when it is full has no reserve, whatever
// becomes of the window that is to show that: it is measured again or, if that does not
// tell either, what it sustains is not known. It is no largest load that was allowed.
func TestProofByChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(reserveSeed(t), 2)) //nolint:gosec // repeatable on purpose
	unneeded := 0
	for _, name := range slices.Sorted(maps.Keys(proofs)) {
		for _, times := range []int{1, 2} {
			rate := math.Round(60 + 340*rng.Float64())
			costly, spoiled := workers(1, 1/rate), 0
			costly.costly = .08 + .07*rng.Float64()
			s := simulated{server: costly, connections: 200, spoil: func(r *replay, w *load.Window) {
				if r.long.proving && spoiled < times {
					spoiled++
					proofs[name](w)
				}
			}}
			cfg := timed(t, 2*time.Second, 0)
			a := s.search(t, cfg)
			text := fmt.Sprintf("%s, %d times, %v/s and %.3f less: %s %v, reserve %+v, held for %v, %d windows; %q",
				name, times, rate, costly.costly, a.sentence(), a.CI, a.Reserve, a.HeldFor, len(a.Windows), a.Warnings())
			sure := strings.HasPrefix(name, "errors") || times == 1
			switch {
			case spoiled == 0:
				unneeded++ // no window told that it does less
			case a.Limit != LimitTarget || a.Estimate == nil || a.Reserve != nil || a.Failed == nil,
				*a.Passed < .93*rate || *a.Passed > 1.01*rate || a.CI[0] > rate || a.CI[1] < .98*rate,
				a.Confirmed != sure || sure == hasDoubt(a, "sustained_unknown"):
				t.Error(text)
			}
			if n := slices.IndexFunc(a.Windows, func(j Assessment) bool { return j.OnReserve }); n >= 0 && *a.Passed > .97*rate {
				t.Errorf("%s: window %d passed from a reserve", text, n+1)
			}
		}
	}
	if unneeded > len(proofs) {
		t.Errorf("%d of %d searches needed no proof", unneeded, 2*len(proofs))
	}
}

// TestNoMoreThanAllowed: where no larger load can be offered, by the file or by the
// generators, no window uses a reserve up. One long window tells whether the load is
// sustained; where the user wants short ones the words say for how long it was taken,
// and no gate lets that pass.
func TestNoMoreThanAllowed(t *testing.T) {
	rng := rand.New(rand.NewPCG(reserveSeed(t), 3)) //nolint:gosec // repeatable on purpose
	for range 4 {
		rate := math.Round(60 + 340*rng.Float64())
		most := math.Round(rate * (1.06 + .15*rng.Float64()))
		burst := math.Round((most - rate) * (15 + 30*rng.Float64()))
		for name, c := range map[string]struct {
			bursty bool
			window time.Duration
			late   bool          // the generators are, above the load allowed here
			most   time.Duration // of a window, by its timeout
			limit  Limit
			held   string // for so long at a time; empty: it is sustained
		}{
			"a bucket":                          {true, 0, false, 0, LimitTarget, ""},
			"a bucket, few generators":          {true, 0, true, 0, LimitTarget, ""},
			"a bucket, short windows":           {true, 2 * time.Second, false, 0, LimitCap, "4.00 s"},
			"a bucket, short, few generators":   {true, 2 * time.Second, true, 0, LimitGenerator, "4.00 s"},
			"a queue":                           {false, 0, false, 0, LimitCap, ""},
			"a queue, few generators":           {false, 0, true, 0, LimitGenerator, ""},
			"a queue, windows of a minute":      {false, time.Minute, false, 0, LimitCap, ""},
			"a queue, short windows":            {false, 2 * time.Second, false, 0, LimitCap, "4.00 s"},
			"a queue, short and few generators": {false, 2 * time.Second, true, 0, LimitGenerator, "4.00 s"},
			"a queue, half a minute at most":    {false, 0, false, 28 * time.Second, LimitCap, "30.0 s"},
			"a queue, no longer window":         {false, 0, false, 10 * time.Second, LimitCap, "12.0 s"},
		} {
			s := simulated{server: workers(1, .5/most), connections: 200}
			if c.bursty {
				s.server = &bucket{rate: rate, burst: burst, tokens: burst}
			}
			cfg := timed(t, 2*time.Second, c.window)
			cfg.Start, cfg.Max, cfg.Most = min(cfg.Start, most), most, c.most
			if c.late {
				cfg.Max = 3000
				s.spoil = func(_ *replay, w *load.Window) {
					if rate := w.Load; rate > most {
						*w = sentLate(answered(w.Counts.Due, w.Counts.Due, 400*time.Millisecond), 400*time.Millisecond)
						w.Load = rate
					}
				}
			}
			a := s.search(t, cfg)
			found := Search{Workload: "w", Config: cfg, Answer: a}
			text := fmt.Sprintf("%s, %v/s, %v at once, up to %v/s: %s %v, held for %v, %d windows, %.0f s; %q",
				name, rate, burst, most, a.sentence(), a.CI, a.HeldFor, len(a.Windows), s.seconds, a.Warnings())
			if over := *a.Passed - rate; c.bursty && c.window == 0 && (over*50 < burst || over < .045*rate) {
				continue // it is sustained for about a minute, or nearly
			}
			short := c.held != ""
			if a.Limit != c.limit || (a.HeldFor > 0) != short || short != hasDoubt(a, "sustained_unknown") ||
				short != strings.Contains(a.sentence(), "for "+c.held+" at a time") {
				t.Error(text)
			}
			err := gated(.99**a.Passed, found)
			if c.limit != LimitTarget && short != (err != nil) || err != nil && !errors.Is(err, model.ErrInvalid) {
				t.Errorf("%s; gate %v", text, err)
			}
			if c.limit == LimitTarget && (*a.Passed > 1.05*rate || gated(most, found) == nil) {
				t.Errorf("%s; it sustains %v", text, rate)
			}
			if _, ok := found.row(&frame.Frame{Values: []float64{1}}); ok == short {
				t.Errorf("%s; a row for other studies: %t", text, ok)
			}
		}
	}
}

func hasDoubt(a Answer, code string) bool {
	return slices.ContainsFunc(a.Doubts, func(d model.Doubt) bool { return d.Code == code })
}

// parallel takes so long for each operation, and then a short time for one after
// the other.
type parallel struct {
	wait float64
	queue
}

func (p *parallel) take(now float64) (float64, bool) { return p.queue.take(now + p.wait) }

// TestSaturatedOverFewConnections: a server that is saturated keeps all connections
// busy. They are not too few if they would do while answers come as usual.
func TestSaturatedOverFewConnections(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 5)) //nolint:gosec // repeatable on purpose
	type trial struct {
		wait, capacity float64
		connections    int
		limit          Limit
	}
	all := []trial{{.2, 194, 64, LimitTarget}, {.2, 194, 1024, LimitTarget}, {.2, 194, 30, LimitGenerator}, {.02, 1200, 64, LimitTarget}}
	for range 6 { // of connections, some are too few and some are enough
		c := trial{wait: .02 + .2*rng.Float64(), capacity: 60 + 300*rng.Float64(), limit: LimitTarget}
		enough := c.capacity * (c.wait + 1/c.capacity)
		c.connections = int(enough*1.3+2*math.Sqrt(enough)) + 2
		all = append(all, c, trial{c.wait, c.capacity, int(enough*.7) + 1, LimitGenerator})
	}
	for _, c := range all {
		s := simulated{server: &parallel{c.wait, *workers(1, 1/c.capacity)}, connections: c.connections}
		cfg := timed(t, time.Second, 5*time.Second)
		cfg.SLA, cfg.Connections = sla("p90=500ms"), c.connections
		a := s.search(t, cfg)
		capacity := c.capacity
		if c.limit == LimitGenerator {
			capacity = math.Inf(1)
		}
		if a.Limit != c.limit || c.limit == LimitTarget && (a.Estimate == nil || math.Abs(*a.Passed/capacity-1) > .08) || len(a.Windows) > 24 {
			t.Errorf("%+v: limit %s, passed %v, failed %v, confirmed %v, %d windows; %q", c, a.Limit, number(a.Passed), number(a.Failed), a.Confirmed, len(a.Windows), a.Warnings())
		}
	}
}

// TestStallIsTheTargets: a target that stands still keeps few connections busy, and
// that is not for want of connections. The window counts, and says for how long.
func TestStallIsTheTargets(t *testing.T) {
	for _, connections := range []int{4, 64} {
		s := simulated{server: workers(2, 2e-3), connections: connections, stall: func(k int) float64 {
			if k == 2 {
				return 5
			}
			return 0
		}}
		cfg := timed(t, 2*time.Second, 0)
		cfg.Connections, cfg.Start, cfg.Max = connections, 20, 300
		a := s.search(t, cfg)
		w := a.Windows[2]
		if w.Verdict != Missed || len(w.Problems) > 0 || w.Stall < 4*time.Second || w.Stall > 6*time.Second || !strings.Contains(w.String(), "no answer came for ") ||
			a.Limit != LimitCap || !hasDoubt(a, "stall") || w.Record().Stall != w.Stall.Seconds() {
			t.Errorf("%d connections: %s, stall %v, problems %q; the search: %s, %q", connections, w, w.Stall, texts(w.Problems), a.Limit, a.Warnings())
		}
	}
}

// slowly takes long for what comes in a part of the time.
type slowly struct {
	parallel
	from, until, takes float64
}

func (s *slowly) take(now float64) (float64, bool) {
	if now >= s.from && now < s.until {
		return now + s.takes, false
	}
	return s.parallel.take(now)
}

// TestLockIsNoLackOfConnections: while a target stands still, or crawls, all connections
// are in use. More of them would wait for it as well.
func TestLockIsNoLackOfConnections(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 6)) //nolint:gosec // repeatable on purpose
	for range 12 {
		light, connections := .02+.2*rng.Float64(), 16+rng.IntN(100)
		carry := float64(connections) / light
		lock := 2 + 6*rng.Float64()
		for name, c := range map[string]struct {
			share, still, crawls float64
			few                  bool
		}{
			"a lock":   {.8 + .15*rng.Float64(), lock, 0, false},
			"a crawl":  {.8 + .15*rng.Float64(), 0, lock, false},
			"too few":  {1.1 + .5*rng.Float64(), 0, 0, true},
			"too many": {.5, 0, 0, false},
		} {
			server := &slowly{parallel{light - 1e-4, *workers(1, 1e-4)}, 4, 4 + c.crawls, 10 * light}
			s := simulated{server: server, connections: connections}
			cfg := timed(t, 2*time.Second, 10*time.Second)
			cfg.SLA, cfg.Connections = sla("p90=300ms"), connections
			w := s.offer(math.Round(c.share*carry), 2, 10, cfg.SLA.Drain().Seconds(), c.still)
			got := cfg.health(w, seconds(light))
			if (len(got) > 0) != c.few || len(missed(cfg.SLA, w)) == 0 && name != "too many" {
				t.Errorf("%s: %d connections, %.0f ms, %v/s: %q, missed %q", name, connections, 1000*light, w.Load, texts(got), texts(missed(cfg.SLA, w)))
			}
		}
	}
}

// TestMinAboveCapacity: where the smallest load allowed is twice what the server
// takes, two windows tell.
func TestMinAboveCapacity(t *testing.T) {
	for name, target := range map[string]server{
		"a queue": workers(1, .01), "a rate limit": &bucket{rate: 100, burst: 10, tokens: 10}, "nothing works": &bucket{burst: .5},
		"a bucket that is full at first": &bucket{rate: 100, burst: 200, tokens: 200},
	} {
		s := simulated{server: target, connections: 64}
		cfg := timed(t, 2*time.Second, 0)
		cfg.Min, cfg.Start = 200, 200
		a := s.search(t, cfg)
		if a.Limit != LimitFloor || *a.Failed != 200 || len(a.Windows) != 2 {
			t.Errorf("%s: limit %s, failed %v, after %d windows; want the floor after 2", name, a.Limit, number(a.Failed), len(a.Windows))
		}
		if helps := strings.Contains(strings.Join(a.Warnings(), " "), "allow a smaller load"); helps != (name != "nothing works") {
			t.Errorf("%s: a smaller load helps: %v; %q", name, helps, a.Warnings())
		}
	}
}
