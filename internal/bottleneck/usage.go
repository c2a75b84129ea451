package bottleneck

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// host is the part of one host in a resource, by second: what is used, how much
// there is, and who waits for it (nil: not known).
type host struct {
	node                 model.NodeID
	used, limit, waiting []float64
}

// seconds is what one resource did in one trial.
type seconds struct {
	use   []float64 // share of the limit in each second; NaN: not known
	full  []bool    // of a tier: at least half of its hosts were
	share float64   // of the seconds of its hosts in which these were full
	// amount is how much was used a second, capacity how much there is, of so many
	// hosts together, on average over the seconds that are known; of threads and pools
	// capacity is the median.
	amount, capacity float64
	known, hosts     int // seconds that are known, hosts
	nodes            []model.NodeID
}

// resources are those that a trial tells of: of tiers and of hosts that they share,
// and of single hosts where there are several.
func (s System) resources(t Trial) map[Resource]seconds {
	out := make(map[Resource]seconds)
	for r, of := range s.parts(t) {
		if all, ok := secondsOf(r.Kind, of); ok {
			out[r] = all
		}
		for _, h := range of {
			if one, ok := secondsOf(r.Kind, []host{h}); ok && len(of) > 1 {
				out[Resource{r.Tier, r.Kind, h.node}] = one
			}
		}
	}
	return out
}

// parts are the hosts of each resource. Threads and pools are those of services, as
// are processors within a limit of their own. A link is the node's: each service on
// it reports the same bytes. So are its processors where no smaller limits divide
// them.
func (s System) parts(t Trial) map[Resource][]host {
	out := make(map[Resource][]host)
	add := func(tier string, kind Kind, h host) {
		r := Resource{Tier: tier, Kind: kind}
		out[r] = append(out[r], h)
	}
	var nodes []model.NodeID
	on := make(map[model.NodeID][]Service)
	for _, x := range t.Services {
		if on[x.Node] == nil {
			nodes = append(nodes, x.Node)
		}
		on[x.Node] = append(on[x.Node], x)
	}
	for _, node := range nodes {
		of := on[node]
		all, divided := s.sharers(of), !sharesProcessor(of, t.Cores[node])
		for _, x := range of {
			for _, kind := range []Kind{CPU, Threads, Pool} {
				if kind != CPU || divided || meanOf(x.Signals[SignalQuota]) < ownQuota*t.Cores[node] {
					add(x.Tier, kind, x.part(kind))
				}
			}
		}
		if !divided {
			add(all, CPU, processorOf(of, t.Cores[node]))
		}
		for _, kind := range []Kind{LinkOut, LinkIn} {
			add(all, kind, linkOf(of, kind))
		}
	}
	return out
}

// sharers are the tiers with services on one node, in their order: "sql+data".
func (s System) sharers(of []Service) string {
	var names []string
	for _, x := range of {
		names = append(names, x.Tier)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(s.depth(a)-s.depth(b), strings.Compare(a, b)) })
	return strings.Join(slices.Compact(names), sharing)
}

// sharesProcessor reports whether services on a node with so many cores can fill it
// with none of them at a limit of its own: their limits together are above it.
func sharesProcessor(of []Service, cores float64) bool {
	sum := 0.0
	for _, x := range of {
		sum += meanOf(x.Signals[SignalQuota])
	}
	return len(of) > 1 && cores > 0 && sum*ownQuota > cores // not where a limit is not known
}

// part is what a service has for itself.
func (s Service) part(kind Kind) host {
	of := kinds[kind]
	limit := s.Signals[of.limit]
	if kind == LinkIn && len(limit) == 0 {
		limit = s.Signals[SignalLink]
	}
	return host{s.Node, s.Signals[of.used], limit, s.Signals[of.waiting]}
}

// processorOf is the processor of a node: what its services use, of so many cores.
func processorOf(of []Service, cores float64) host {
	out := host{node: of[0].Node}
	n := math.MaxInt
	for _, x := range of {
		n = min(n, len(x.Signals[SignalCPU]))
	}
	for i := range n {
		sum := 0.0
		for _, x := range of {
			sum += x.Signals[SignalCPU][i]
		}
		out.used, out.limit = append(out.used, sum), append(out.limit, cores)
	}
	return out
}

// linkOf is one direction of the link of a node, as the first service tells it that
// does.
func linkOf(of []Service, kind Kind) host {
	for _, x := range of {
		if h := x.part(kind); len(h.used) > 0 && len(h.limit) > 0 {
			return h
		}
	}
	return host{node: of[0].Node}
}

// secondsOf adds up hosts: what all of them use of what all of them have. ok is
// false where hardly a second is known.
func secondsOf(kind Kind, of []host) (out seconds, ok bool) {
	n := math.MaxInt
	for _, h := range of {
		n = min(n, len(h.used), len(h.limit))
	}
	if n < FewestSeconds || len(of) == 0 {
		return seconds{}, false
	}
	threshold := saturated
	if kind.Link() {
		threshold = saturatedLink
	}
	out.hosts = len(of)
	for _, h := range of {
		out.nodes = append(out.nodes, h.node)
	}
	total := 0
	var totals []float64
	for i := range n {
		var used, limit float64
		full := 0
		for _, h := range of {
			u, l := h.used[i], h.limit[i]
			used, limit = used+u, limit+l
			if u >= threshold*l && l > 0 && h.waits(i) {
				full++
			}
		}
		u := used / limit
		if !(limit > 0) || math.IsNaN(u) { // a host without a reading: nothing is said of this second
			u, full = math.NaN(), 0
		} else {
			out.amount, out.capacity, totals = out.amount+used, out.capacity+limit, append(totals, limit)
			out.known++
		}
		total += full
		out.use, out.full = append(out.use, u), append(out.full, 2*full >= len(of))
	}
	known := float64(max(1, out.known))
	out.amount, out.capacity = out.amount/known, out.capacity/known
	if size, err := stats.Quantile(totals, .5); err == nil && kind.Soft() {
		out.capacity = size // probes tell of the fullest of several pools, and a mean of two is the size of none
	}
	out.share = float64(total) / float64(len(of)) / known
	return out, out.known >= FewestSeconds
}

// waits reports whether requests wait, or it is not known: a pool holds nothing up
// while none waits for it, even if all its connections are used.
func (h host) waits(second int) bool {
	return second >= len(h.waiting) || math.IsNaN(h.waiting[second]) || h.waiting[second] > 0
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
func usageOf(trials []map[Resource]seconds) []Usage {
	out := []Usage{}
	for _, r := range resourcesIn(trials) {
		var use []float64
		full, known := 0.0, 0
		for _, t := range trials {
			s := t[r]
			use, full, known = append(use, s.use...), full+s.share*float64(s.known), known+s.known
		}
		u := Usage{Resource: r, Mean: meanOf(use), Share: full / float64(known)}
		mean := fullMean
		if r.Kind.Link() {
			mean -= saturated - saturatedLink
		}
		u.Full = u.Share >= FullShare || u.Mean >= mean && !r.Kind.Soft()
		out = append(out, u)
	}
	shareOut(out)
	for i := range out {
		out[i].Partial = !out[i].Full && out[i].Share >= partialShare
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
			if others := (sum - h.Mean) / float64(max(1, hosts-1)); others >= minUtilisationAtKnee {
				h.Full, tier.Full = false, true
			}
		}
	}
}

// resourcesIn are those of several trials, in a fixed order.
func resourcesIn(trials []map[Resource]seconds) []Resource {
	var out []Resource
	for _, t := range trials {
		out = slices.AppendSeq(out, maps.Keys(t))
	}
	slices.SortFunc(out, Resource.compare)
	return slices.Compact(out)
}

// compare is the fixed order.
func (r Resource) compare(o Resource) int {
	return cmp.Or(cmp.Compare(r.Tier, o.Tier), slices.Index(Kinds(), r.Kind)-slices.Index(Kinds(), o.Kind),
		cmp.Compare(r.Node, o.Node))
}

// Utilisation is how much of a resource of their own several hosts of a tier use
// together in each second; nil: it is not known.
func Utilisation(of []Service, kind Kind) []float64 {
	var hosts []host
	for _, x := range of {
		hosts = append(hosts, x.part(kind))
	}
	s, _ := secondsOf(kind, hosts)
	return s.use
}
