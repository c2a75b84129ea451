//go:build proof

package proof_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// boardTiers are those of the built-in application, in the order of a request.
var boardTiers = []string{"web", "app", "db"}

// boardCase is an application of three tiers: what each has, and what an operation
// takes there.
type boardCase struct {
	name          string
	work          [3]float64 // ms of processor time
	cpu           [3]float64 // cores
	pool, threads int        // of the application
	wait          float64    // ms for which each request keeps its connection beside its work
	link          string     // of the database
	generator     float64    // cores of the generator; 0: not limited
	proof         bool       // the suspect is then made faster
	// most is the throughput that is not exceeded where a processor does not limit
	// it; 0: the processors do.
	most float64
	// want is the verdict, with the resources that must be named, and no other; why
	// is what an answer without a name must say.
	want  string
	names []tiersResource
	why   string
}

// limit is min over the tiers of cores ÷ demand, where the demand is the work and
// what a page costs beside it, in ms.
func (c boardCase) limit(costs [3]float64) float64 {
	least := math.Inf(1)
	for i := range boardTiers {
		least = min(least, 1e3*c.cpu[i]/(c.work[i]+costs[i]))
	}
	return least
}

// sets are the arguments that make the case of the example.
func (c boardCase) sets() []string {
	set := []string{
		"study.configurations=[1-1-1]",
		fmt.Sprintf("services.app.environ={POOL: %q, THREADS: %q, WORK: %q, DB: %q}", strconv.Itoa(c.pool), strconv.Itoa(c.threads),
			fmt.Sprintf("app=%.3fms,db=%.3fms", c.work[1], c.work[2]), fmt.Sprintf("--meter-db --db-wait=%.3fms", c.wait)),
		fmt.Sprintf("services.web.environ={THREADS: %q, WORK: %q}", "400", fmt.Sprintf("web=%.3fms", c.work[0])),
	}
	for i, tier := range boardTiers {
		set = append(set, fmt.Sprintf("services.%s.steps.0.cpu=%.3f", tier, c.cpu[i]))
	}
	if c.link != "" {
		set = append(set, "fleet.lab.groups.db.link="+c.link)
	}
	if c.generator > 0 {
		set = append(set, fmt.Sprintf("fleet.lab.groups.users.cpu=%.3f", c.generator))
	}
	if c.proof {
		set = append(set, "study.proof=true")
	}
	return set
}

// loadPerRate are the users that bring an operation a second: they think for a second,
// and a page takes a tenth of it.
const loadPerRate = 1.1

// knee is the number of users up to which the throughput can grow.
func (c boardCase) knee(costs [3]float64) float64 {
	if c.most > 0 {
		return c.most * loadPerRate
	}
	return c.limit(costs) * loadPerRate
}

// loads are numbers of users about the knee.
func (c boardCase) loads(costs [3]float64, shares ...float64) string {
	var out []string
	for _, s := range shares {
		out = append(out, strconv.Itoa(max(2, int(math.Round(s*c.knee(costs))))))
	}
	return "study.users=[" + strings.Join(slices.Compact(out), ",") + "]"
}

// least Send-Q of a link that binds, in bytes: a page in the queue of each of two
// connections, and more.
const leastSendQueue = 10_000

// wrong says what a finding says that is not so; empty: nothing.
func (c boardCase) wrong(f tiersFinding) string {
	named := make([]tiersResource, 0, len(f.Bottlenecks))
	for _, b := range f.Bottlenecks {
		named = append(named, b.tiersResource)
	}
	pattern := []string{"", "single", "simultaneous"}[min(len(c.names), 2)]
	same := len(named) == len(c.names) && !slices.ContainsFunc(c.names, func(r tiersResource) bool { return !slices.Contains(named, r) })
	switch {
	case f.Verdict != c.want || !same || f.Pattern != pattern:
		return fmt.Sprintf("%s: %s %s %v (%s %s), want %s %s %v", c.name, f.Verdict, f.Pattern, named, f.Text, f.Why, c.want, pattern, c.names)
	case !strings.Contains(f.Why, c.why):
		return fmt.Sprintf("%s: %q, want that %q is said", c.name, f.Why, c.why)
	case c.proof && (f.Proof == nil || f.Proof.Outcome != "confirmed"):
		return fmt.Sprintf("%s: its proof is %+v, want it confirmed", c.name, f.Proof)
	case c.link == "":
		return ""
	}
	if q := f.Bottlenecks[0].SendQueue; q == nil || *q < leastSendQueue {
		return fmt.Sprintf("%s: its Send-Q is %s, want %d bytes and more", c.name, optional(q), leastSendQueue)
	}
	for _, l := range f.Loads {
		for _, tier := range boardTiers {
			if use := l.processor(tier); use > .8 {
				return fmt.Sprintf("%s: the processor of %s is used by %.2f with %d users, want none that is full", c.name, tier, use, l.Users)
			}
		}
	}
	return ""
}

// processor is the mean utilisation of that of a tier.
func (l tiersLoad) processor(tier string) float64 {
	i := slices.IndexFunc(l.Usage, func(u tiersUsage) bool { return u.tiersResource == tiersResource{tier, "cpu"} && u.Node == "" })
	if i < 0 {
		return math.NaN()
	}
	return l.Usage[i].Mean
}

// drawn are cases of each kind, at random. What binds has the least of what a page
// needs by a factor of two or more; pools and threads bind above hardware that is
// used to a third at most.
func drawn(rng *rand.Rand) []boardCase {
	between := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
	base := func(name, tier, kind string) boardCase {
		return boardCase{name: name, work: [3]float64{2, 10, 4}, cpu: [3]float64{.4, .6, .4}, pool: 50, threads: 300, want: "named", names: []tiersResource{{tier, kind}}}
	}
	web := base("processor of web", "web", "cpu")
	web.work[0], web.cpu[0] = between(8, 12), between(.12, .2)
	app := base("processor of app", "app", "cpu")
	app.work[1], app.cpu[1] = between(15, 25), between(.2, .35)
	// With more connections MariaDB falls back: what a page costs it grows with the number
	// that it has at a time.
	db := base("processor of db", "db", "cpu")
	db.work[2], db.cpu[2], db.pool = between(8, 14), between(.15, .25), 8
	link := base("link of db", "db", "link_out")
	rate := between(.7, 1.2) // Mbit/s
	link.work[1], link.link, link.most = 6, fmt.Sprintf("%.0fkbit/s", 1000*rate), rate*1e6/8/5.4/1024
	// A few connections or threads are kept by what takes no processor: so they end the
	// growth above hardware that is used to a third.
	few := func(c boardCase, size int) boardCase {
		c.work, c.most = [3]float64{1, 2, 2}, between(20, 35)
		c.wait = 1e3*float64(size)/c.most - c.work[2]
		return c
	}
	pool, threads := base("pool of app", "app", "pool"), base("threads of app", "app", "threads")
	pool.pool, threads.threads = 1+rng.IntN(4), 1+rng.IntN(4)
	pool, threads = few(pool, pool.pool), few(threads, threads.threads)
	return []boardCase{web, app, db, link, pool, threads}
}

// alike has two tiers with the same limit, by what pages cost them.
func alike(costs [3]float64) boardCase {
	return boardCase{name: "web and app alike", work: [3]float64{10 + costs[1] - costs[0], 10, 4}, cpu: [3]float64{.22, .22, .5}, pool: 100, threads: 300, want: "named", names: []tiersResource{{"web", "cpu"}, {"app", "cpu"}}}
}

// starved has a generator that cannot send what its users ask for.
func starved() boardCase {
	return boardCase{name: "starved generator", work: [3]float64{1, 2, 1}, cpu: [3]float64{.4, .4, .4}, pool: 50, threads: 200, generator: .01, most: 60, want: "unknown", why: "generator binds"}
}
