package bottleneck

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// Kind is what kind of resource it is.
type Kind string

// Kinds of resources. CPU and links are hardware; threads and pools are soft: their
// limits are settings, and full ones are often symptoms of what is behind them.
const (
	CPU     Kind = "cpu"
	Link    Kind = "link"
	Threads Kind = "threads"
	Pool    Kind = "pool"
)

// Soft reports whether the limit is a setting.
func (k Kind) Soft() bool { return k == Threads || k == Pool }

// Resource is what may be full: something of a tier, or of one of its hosts.
type Resource struct {
	Tier string       `json:"tier"`
	Kind Kind         `json:"kind"`
	Node model.NodeID `json:"node,omitempty"` // empty: of the whole tier
}

var kindWords = map[Kind]string{CPU: "processor", Link: "link", Threads: "threads", Pool: "connection pool"}

// String names it for people: "processor of db".
func (r Resource) String() string {
	if r.Node != "" {
		return kindWords[r.Kind] + " of " + r.Tier + " host " + string(r.Node)
	}
	return kindWords[r.Kind] + " of " + r.Tier
}

// signals that tell of a kind: what is used, how much there is, and who waits.
type signals struct{ used, limit, waiting string }

var kindSignals = map[Kind]signals{
	CPU: {SignalCPU, SignalQuota, ""}, Link: {SignalSent, SignalLink, ""},
	Threads: {SignalThreads, SignalThreadsMax, SignalThreadsQueue}, Pool: {SignalPool, SignalPoolMax, SignalPoolWaiting},
}

// kinds in the order in which they are told.
var kinds = []Kind{CPU, Link, Threads, Pool}

// seconds is what one resource did in one trial.
type seconds struct {
	use   []float64 // share of the limit in each second; NaN: not known
	full  []bool    // of a tier: at least half of its hosts were
	share float64   // of the seconds of its hosts in which these were full
}

// known is how many seconds are.
func (s seconds) known() int {
	n := 0
	for _, u := range s.use {
		if !math.IsNaN(u) {
			n++
		}
	}
	return n
}

// resourcesOf are the resources that a trial tells of: those of tiers, and of
// single hosts of tiers that have several.
func resourcesOf(t Trial, limits Thresholds) map[Resource]seconds {
	out := make(map[Resource]seconds)
	hosts := make(map[string][]Service)
	for _, s := range t.Services {
		hosts[s.Tier] = append(hosts[s.Tier], s)
	}
	for tier, of := range hosts {
		for _, kind := range kinds {
			if all, ok := secondsOf(kind, of, limits); ok {
				out[Resource{Tier: tier, Kind: kind}] = all
			}
			for _, s := range of {
				if one, ok := secondsOf(kind, []Service{s}, limits); ok && len(of) > 1 {
					out[Resource{tier, kind, s.Node}] = one
				}
			}
		}
	}
	return out
}

// secondsOf adds up hosts: what all of them use of what all of them have. ok is
// false where hardly a second is known.
func secondsOf(kind Kind, of []Service, limits Thresholds) (out seconds, ok bool) {
	with := kindSignals[kind]
	n := math.MaxInt
	for _, s := range of {
		n = min(n, len(s.Signals[with.used]), len(s.Signals[with.limit]))
	}
	if n < FewestSeconds || len(of) == 0 {
		return seconds{}, false
	}
	threshold := limits.Saturated
	if kind == Link {
		threshold = limits.Link
	}
	total := 0
	for i := range n {
		var used, limit float64
		full := 0
		for _, s := range of {
			u, l := s.Signals[with.used][i], s.Signals[with.limit][i]
			used, limit = used+u, limit+l
			if u >= threshold*l && l > 0 && s.waits(with.waiting, i) {
				full++
			}
		}
		u := math.NaN()
		if limit > 0 {
			u = used / limit
		}
		if math.IsNaN(u) { // a host without a reading: nothing is said of this second
			full = 0
		}
		total += full
		out.use, out.full = append(out.use, u), append(out.full, 2*full >= len(of))
	}
	out.share = float64(total) / float64(len(of)*max(1, out.known()))
	return out, out.known() >= FewestSeconds
}

// waits reports whether requests wait, or it is not known: a pool holds nothing up
// while none waits for it, even if all its connections are used.
func (s Service) waits(signal string, second int) bool {
	w := s.Signals[signal]
	return signal == "" || second >= len(w) || math.IsNaN(w[second]) || w[second] > 0
}

// Usage is how full a resource was at a load, over all its trials.
type Usage struct {
	Resource
	Mean  float64 `json:"mean"`  // utilisation, 0 to 1
	Share float64 `json:"share"` // of the seconds in which it was full
	// Full: in nearly all of them. Partial: at times.
	Full    bool `json:"full"`
	Partial bool `json:"partial"`
}

// usageOf sums up the trials of a load.
func usageOf(trials []map[Resource]seconds, limits Thresholds) []Usage {
	var out []Usage
	for _, r := range resourcesIn(trials) {
		var sum, full float64
		known := 0
		for _, t := range trials {
			s := t[r]
			for _, u := range s.use {
				if !math.IsNaN(u) {
					sum, known = sum+u, known+1
				}
			}
			full += s.share * float64(s.known())
		}
		u := Usage{Resource: r, Mean: sum / float64(known), Share: full / float64(known)}
		mean := limits.Mean
		if r.Kind == Link {
			mean -= limits.Saturated - limits.Link
		}
		u.Full = u.Share >= limits.Full || u.Mean >= mean && !r.Kind.Soft()
		out = append(out, u)
	}
	shareOut(out)
	for i := range out {
		out[i].Partial = !out[i].Full && out[i].Share >= limits.Partial
	}
	return out
}

// shareOut lets full hosts stand for their tier where the others are busy, too, though
// not always full; a host speaks for itself only where the others are not: then the
// load is not shared evenly.
func shareOut(all []Usage) {
	for i := range all {
		tier := &all[i]
		if tier.Node != "" {
			continue
		}
		hosts, sum := 0, 0.0
		for _, h := range all {
			if h.Tier == tier.Tier && h.Kind == tier.Kind && h.Node != "" {
				hosts, sum = hosts+1, sum+h.Mean
			}
		}
		for j := range all {
			h := &all[j]
			if h.Tier != tier.Tier || h.Kind != tier.Kind || h.Node == "" || !h.Full {
				continue
			}
			if others := (sum - h.Mean) / float64(max(1, hosts-1)); others >= herdLevel {
				h.Full, tier.Full = false, true
			}
		}
	}
}

// resourcesIn are those of several trials, in a fixed order.
func resourcesIn(trials []map[Resource]seconds) []Resource {
	seen := make(map[Resource]bool)
	var out []Resource
	for _, t := range trials {
		for r := range t {
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Node, b.Node))
	})
	return out
}

// Utilisation is how much of a resource several hosts use together in each second;
// nil: it is not known.
func Utilisation(of []Service, kind Kind) []float64 {
	s, _ := secondsOf(kind, of, Defaults())
	return s.use
}
