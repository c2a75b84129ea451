package bottleneck

import (
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Kind is what kind of resource it is.
type Kind string

// Kinds of resources. CPU and links are hardware; threads and pools are soft: their
// limits are settings, and full ones are often symptoms of what is behind them. A
// link has its rate in each direction: LinkOut is what hosts send, LinkIn what they
// receive.
const (
	CPU     Kind = "cpu"
	LinkOut Kind = "link_out"
	LinkIn  Kind = "link_in"
	Threads Kind = "threads"
	Pool    Kind = "pool"
)

// Kinds are all of them, in the order in which they are told.
func Kinds() []Kind { return []Kind{CPU, LinkOut, LinkIn, Threads, Pool} }

// Soft reports whether the limit is a setting.
func (k Kind) Soft() bool { return k == Threads || k == Pool }

// Link reports whether it is one of the directions of a link.
func (k Kind) Link() bool { return k == LinkOut || k == LinkIn }

var kindWords = map[Kind]string{CPU: "processor", LinkOut: "outgoing link", LinkIn: "incoming link", Threads: "threads", Pool: "connection pool"}

// signals that tell of a kind: what is used, how much there is, and who waits.
type signals struct{ used, limit, waiting string }

var kindSignals = map[Kind]signals{
	CPU: {SignalCPU, SignalQuota, ""}, LinkOut: {SignalSent, SignalLink, ""}, LinkIn: {SignalReceived, SignalLinkIn, ""},
	Threads: {SignalThreads, SignalThreadsMax, SignalThreadsQueue}, Pool: {SignalPool, SignalPoolMax, SignalPoolWaiting},
}

// Signal is the one that tells how much of it is used.
func (k Kind) Signal() string { return kindSignals[k].used }

// Resource is what may be full: something of a tier, or of one of its hosts. What
// hosts have that several tiers share is no tier's own: its Tier is all of them,
// "sql+data".
type Resource struct {
	Tier string       `json:"tier"`
	Kind Kind         `json:"kind"`
	Node model.NodeID `json:"node,omitempty"` // empty: of the whole tier
}

// sharing joins the tiers that share hosts. No service has it in its name.
const sharing = "+"

// tiersIn are those of a resource: several where their hosts are shared.
func tiersIn(tier string) []string { return strings.Split(tier, sharing) }

// Shared reports whether it belongs to hosts that several tiers share.
func (r Resource) Shared() bool { return strings.Contains(r.Tier, sharing) }

// ofTier is the same of all hosts of its tier.
func (r Resource) ofTier() Resource { return Resource{Tier: r.Tier, Kind: r.Kind} }

// Tiers are those that it belongs to.
func (r Resource) Tiers() []string { return tiersIn(r.Tier) }

// Of reports whether it belongs to a tier, alone or with others.
func (r Resource) Of(tier string) bool {
	for _, one := range tiersIn(r.Tier) {
		if one == tier {
			return true
		}
	}
	return false
}

// was is the verb for it.
func (r Resource) was() string {
	if r.Kind == Threads {
		return "were"
	}
	return "was"
}

// it is what stands for it before a verb, with that: "it was".
func (r Resource) it() string {
	if r.Kind == Threads {
		return "they were"
	}
	return "it was"
}

// String names it for people: "processor of db", "incoming link of the host of sql
// and data".
func (r Resource) String() string {
	of := r.Tier
	switch tiers := strings.Join(tiersIn(r.Tier), " and "); {
	case r.Shared() && r.Node != "":
		of = "host " + string(r.Node) + " of " + tiers
	case r.Shared():
		of = "the host of " + tiers
	case r.Node != "":
		of += " host " + string(r.Node)
	}
	return kindWords[r.Kind] + " of " + of
}
