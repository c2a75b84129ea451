package bottleneck

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Short is a resource that was full for parts of a second at a load, and more often than
// requests that come independently of each other fill it: a very short bottleneck (Q.
// Wang et al., "Detecting transient bottlenecks in n-tier applications through
// fine-grained analysis", ICDCS 2013). A mean over a second hides it.
type Short struct {
	Resource
	Users   int     `json:"users"`
	Window  float64 `json:"window"`  // seconds
	Windows int     `json:"windows"` // that are known, of all trials
	// Share is that of the windows in which it was full, ByChance what independent
	// requests with the same utilisation come to.
	Share    float64 `json:"share"`
	ByChance float64 `json:"share_by_chance"`
	Longest  float64 `json:"longest"` // stretch of full windows, in seconds
	P        float64 `json:"p"`       // of so large a share by chance
	Q        float64 `json:"q"`       // corrected for all resources and loads (Holm)
	// Effect is null where the response time by second is not known, or too few
	// seconds are with or without such stretches.
	Effect *ShortEffect `json:"effect"`
}

// ShortEffect holds the seconds with many full windows, more than chance brings to one
// second in ten, against the others. It is what goes together, which need not be a cause.
type ShortEffect struct {
	Windows int     `json:"windows"` // that a second has at least to be one with
	Seconds int     `json:"seconds"` // with
	Of      int     `json:"of"`
	With    float64 `json:"with"` // mean response time, in seconds
	Without float64 `json:"without"`
	// Longer is With − Without; CI heeds that neighbouring seconds are alike. Both are
	// less the mean of their trials.
	Longer float64        `json:"longer"`
	CI     stats.Interval `json:"ci"`
}

// How chance is simulated, and what matters.
const (
	// Period of a quota that is enforced in periods: Linux's default. Windows are
	// multiples of it: within one a service may use several cores, and then none.
	Period = .1
	// shortMatters is by how much the share must be above that of chance.
	shortMatters = .02
	// blockSeconds is over how long the utilisation of the null is a mean: slow changes
	// of the load are no short bottlenecks.
	blockSeconds = 10
	// slots of a window in the simulation of what works evenly.
	slots = 5
	// fewestRounds, mostRounds and simulated bound the rounds of the simulation: so many
	// windows in all.
	fewestRounds, mostRounds, simulated = 15, 60, 60_000
	// rareSeconds is which share of seconds has so many full windows by chance at most.
	rareSeconds = .1
	shortSeed   = 0x5407
)

// fine is a resource of one host at a load, by window.
type fine struct {
	Short
	runs []fineRun // of each trial
	// item is how much an operation takes on average, as a share of what a window has.
	item      float64
	threshold float64
	// shaped: what a window allows may be used at any time in it, as within a quota or
	// a bucket of tokens. periods are those of a quota in a window; 0: full is what
	// was used, not what was held back.
	shaped  bool
	periods int
	rare    int // as ShortEffect.Windows
}

// fineRun is one trial of it.
type fineRun struct {
	use       []float64 // NaN: not known
	full      []bool
	blocks    []float64 // mean of use in each block
	responses []float64 // by second
}

// short are the very short bottlenecks of all loads, the largest excess of each load
// first.
func (s System) short(loads []Load, laws *Laws) []Short {
	var all []*fine
	for _, l := range loads {
		all = append(all, s.fineOf(l, laws)...)
	}
	ps := make([]float64, len(all))
	for i, f := range all {
		if ps[i] = 1; f.Share >= shortMatters {
			f.test()
			ps[i] = f.P
		}
	}
	qs, err := stats.Holm(ps)
	if err != nil {
		return nil
	}
	var out []Short
	for i, f := range all {
		if qs[i] < 1-level && f.Share-f.ByChance >= shortMatters {
			f.Q, f.Effect = qs[i], f.effect()
			out = append(out, f.Short)
		}
	}
	slices.SortStableFunc(out, func(a, b Short) int {
		return cmp.Or(cmp.Compare(a.Users, b.Users), cmp.Compare(b.excess(), a.excess()))
	})
	return out
}

func (s Short) excess() float64 { return s.Share - s.ByChance }

// MainShort is the one to tell first: hardware before settings, which are full because
// of what is behind them, and of these the one furthest above chance; nil: there is none.
func (a Answer) MainShort() *Short {
	var out *Short
	for i := range a.Short {
		x := &a.Short[i]
		if out == nil || out.Kind.Soft() && !x.Kind.Soft() || out.Kind.Soft() == x.Kind.Soft() && x.excess() > out.excess() {
			out = x
		}
	}
	return out
}

// fineOf are the resources of a load whose signals were recorded faster than a second,
// each host by itself, without those that are full by the second, too.
func (s System) fineOf(l Load, laws *Laws) (out []*fine) {
	found := make(map[Resource]*fine)
	for _, t := range l.trials {
		if !(t.Window > 0) || t.Window != l.trials[0].Window {
			continue
		}
		fast := t
		fast.Services = t.Fine
		for r, of := range s.parts(fast) {
			for _, h := range of {
				key := r
				if len(of) > 1 {
					key.Node = h.node
				}
				if !l.usage(key).Full && !l.usage(r).Full {
					s.add(found, key, fast, h, len(of))
				}
			}
		}
	}
	for _, f := range found {
		mean := f.sumUp()
		if f.Users = l.Users; f.Windows > 0 && l.Throughput > 0 {
			f.item *= min(mean/l.Throughput, laws.most(f.Resource))
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *fine) int { return a.compare(b.Resource) })
	return out
}

// most is how much an operation takes of a resource at most, as a share of what it has a
// second, where it is told from what is used without operations; or infinite.
func (l *Laws) most(r Resource) float64 {
	for i := 0; l != nil && i < len(l.Demands); i++ {
		if d := l.Demands[i]; d.Tier == r.Tier && d.Kind == r.Kind && d.Idle > 0 && d.BelowCI != nil {
			return d.BelowCI.Hi / d.Capacity
		}
	}
	return math.Inf(1)
}

// add adds a trial of one of so many hosts to what was found.
func (s System) add(found map[Resource]*fine, r Resource, t Trial, h host, hosts int) {
	f := found[r]
	if f == nil {
		f = &fine{Short: Short{Resource: r, Window: t.Window}, threshold: s.Thresholds.Saturated, shaped: r.Kind.Link()}
		if r.Kind.Link() {
			f.threshold = s.Thresholds.Link
		}
		f.item = float64(hosts) / t.Window
		found[r] = f
	}
	held, periods := t.heldBack(r, h.node)
	if r.Kind == CPU && t.quotas(h.node) {
		f.shaped = true
	}
	if held != nil {
		f.periods = periods
	}
	run := fineRun{responses: t.Responses}
	for i := range min(len(h.used), len(h.limit)) {
		u := h.used[i] / h.limit[i]
		if !(h.limit[i] > 0) || held != nil && (i >= len(held) || math.IsNaN(held[i])) {
			u = math.NaN()
		}
		full := u >= f.threshold && h.waits(i)
		if held != nil { // half a period is what falls into the window beside it
			full = u == u && held[i]*t.Window >= float64(f.periods)-.5 //nolint:gocritic // not NaN
		}
		run.use, run.full = append(run.use, u), append(run.full, full)
	}
	f.runs = append(f.runs, run)
}

// heldBack is the rate of periods in which a quota held a service back, by window, and
// how many periods a window has; nil: there is none.
func (t Trial) heldBack(r Resource, node model.NodeID) (held []float64, periods int) {
	for _, x := range t.Services {
		if r.Kind == CPU && x.Tier == r.Tier && x.Node == node && len(x.Signals[SignalHeld]) > 0 {
			most, second := 1/Period, int(math.Ceil(1/t.Window))
			for of := range slices.Chunk(x.Signals[SignalPeriods], second) { // shorter ones show where it is busy
				if rate := meanOf(of); len(of) == second && rate > most {
					most = rate
				}
			}
			return x.Signals[SignalHeld], max(1, int(math.Round(most*t.Window)))
		}
	}
	return nil, 0
}

// quotas reports whether anything on a node has a quota that is enforced in periods.
func (t Trial) quotas(node model.NodeID) bool {
	return slices.ContainsFunc(t.Services, func(x Service) bool { return x.Node == node && len(x.Signals[SignalHeld]) > 0 })
}

// sumUp counts full windows, finds the longest stretch of them, and sets the utilisation
// of each block. It returns that over all windows.
func (f *fine) sumUp() float64 {
	full, longest := 0, 0
	var all []float64
	for i := range f.runs {
		run, stretch := &f.runs[i], 0
		for i, u := range run.use {
			if !math.IsNaN(u) {
				f.Windows++
			}
			if stretch++; !run.full[i] {
				stretch = 0
				continue
			}
			full++
			longest = max(longest, stretch)
		}
		for of := range slices.Chunk(run.use, f.block()) {
			run.blocks = append(run.blocks, meanOf(of))
		}
		all = append(all, run.use...)
	}
	f.Share, f.Longest = float64(full)/float64(max(1, f.Windows)), float64(longest)*f.Window
	return meanOf(all)
}

// test holds the share against rounds of chance, on the scale on which the variance of
// shares hardly depends on them (arcsine of the root), as one more of them.
func (f *fine) test() {
	rng := rand.New(rand.NewPCG(shortSeed, uint64(f.Users)))
	rounds := min(mostRounds, max(fewestRounds, simulated/f.Windows))
	scaled := make([]float64, rounds)
	seconds := make([]int, int(math.Ceil(1/f.Window))+1) // by how many full windows they have
	for i := range scaled {
		share := f.chance(rng, seconds)
		f.ByChance += share / float64(rounds)
		scaled[i] = math.Asin(math.Sqrt(share))
	}
	f.rare = rareCount(seconds)
	mean, _ := stats.Mean(scaled)                  // of a positive number
	sd, _ := stats.SampleSD(scaled)                // of values
	sd = max(sd, .5/math.Sqrt(float64(f.Windows))) // of independent windows
	e := stats.Estimate{Mean: math.Asin(math.Sqrt(f.Share)) - mean, Var: sd * sd * (1 + 1/float64(rounds)), Degrees: float64(rounds - 1)}
	if f.P = 1; e.Mean > 0 {
		f.P = e.P(0) / 2
	}
}

// rareCount is how many full windows at most so rare seconds have.
func rareCount(seconds []int) int {
	all, above := 0, 0
	for _, n := range seconds {
		all += n
	}
	k := len(seconds)
	for ; k > 1 && float64(above+seconds[k-1]) <= rareSeconds*float64(all); k-- {
		above += seconds[k-1]
	}
	return k
}

// chance is the share of full windows in one round: arrivals are Poisson's, with the
// rate that makes the utilisation of each block, what one takes is exponential, and one
// queue works it off. It adds by how many full windows the seconds have.
func (f *fine) chance(rng *rand.Rand, seconds []int) float64 {
	full, all, block := 0, 0, f.block()
	for _, run := range f.runs {
		waiting, second, inSecond := 0.0, 0, 0
		for range min(block, len(run.use)) { // it begins in the middle of things
			_, waiting = f.window(rng, run.blocks[0], waiting)
		}
		for i, u := range run.use {
			if now := f.second(i); now != second {
				seconds[inSecond]++
				second, inSecond = now, 0
			}
			if math.IsNaN(u) {
				continue
			}
			is, left := f.window(rng, run.blocks[i/block], waiting)
			if waiting = left; is {
				full, inSecond = full+1, inSecond+1
			}
			all++
		}
	}
	return float64(full) / float64(all)
}

// block is how many windows there are in a block, second that of a window.
func (f *fine) block() int        { return max(1, int(math.Round(blockSeconds/f.Window))) }
func (f *fine) second(at int) int { return int((float64(at) + .5) * f.Window) }

// window simulates one with a utilisation, from what waits before it to what does after.
func (f *fine) window(rng *rand.Rand, use, waiting float64) (full bool, left float64) {
	per := slots
	if f.shaped {
		per = max(1, f.periods)
	}
	item := f.item * float64(per)
	used, held := 0.0, 0
	for range per {
		waiting += item * work(rng, use/item)
		did := min(1, waiting)
		used, waiting = used+did, waiting-did
		if waiting > 0 {
			held++
		}
	}
	if f.periods > 0 {
		return held == per, waiting
	}
	return used >= f.threshold*float64(per), waiting
}

// work is the sum of a Poisson number of exponential amounts of mean 1. Many are as a
// gamma variable of the same mean and variance, by the cube of a normal one (E. B. Wilson
// and M. M. Hilferty, PNAS 17, 1931), which is a little more skew.
func work(rng *rand.Rand, mean float64) (sum float64) {
	const many = 8
	if mean > many {
		shape := mean / 2
		root := 1 - 1/(9*shape) + rng.NormFloat64()/(3*math.Sqrt(shape))
		return max(0, mean*root*root*root)
	}
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		sum += rng.ExpFloat64()
	}
	return sum
}

// effect compares the response times of seconds, each less the mean of its trial; nil: too
// few are known.
func (f *fine) effect() *ShortEffect {
	var of [2][]float64 // without, with
	var series [][]float64
	var all []float64
	for _, run := range f.runs {
		counts, mean := make([]int, len(run.responses)), meanOf(run.responses)
		for i, full := range run.full {
			if at := f.second(i); full && at < len(counts) {
				counts[at]++
			}
		}
		var known []float64
		for at, v := range run.responses {
			if !math.IsNaN(v) {
				kind := map[bool]int{true: 1}[counts[at] >= f.rare]
				of[kind], known, all = append(of[kind], v-mean), append(known, v-mean), append(all, v)
			}
		}
		series = append(series, known)
	}
	r, mean := stats.Autocorrelation(series...), meanOf(all)
	without, errA := stats.BatchMeans(of[0], r)
	with, errB := stats.BatchMeans(of[1], r)
	longer := stats.Sum([]stats.Estimate{with, without}, []float64{1, -1})
	ci, err := longer.Interval(level)
	if cmp.Or(errA, errB, err) != nil {
		return nil
	}
	return &ShortEffect{Windows: f.rare, Seconds: len(of[1]), Of: len(all), With: mean + with.Mean, Without: mean + without.Mean, Longer: longer.Mean, CI: ci}
}
