package bottleneck

import (
	"slices"
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

// Kinds are all of them, in the order in which they are listed.
func Kinds() []Kind { return []Kind{CPU, LinkOut, LinkIn, Threads, Pool} }

// Soft reports whether the limit is a setting.
func (k Kind) Soft() bool { return k == Threads || k == Pool }

// Link reports whether it is one of the directions of a link.
func (k Kind) Link() bool { return k == LinkOut || k == LinkIn }

// kinds are what each is called, and the signals that tell what is used, how much there
// is, and who waits.
var kinds = map[Kind]struct{ words, used, limit, waiting string }{
	CPU: {"processor", SignalCPU, SignalQuota, ""}, LinkOut: {"outgoing link", SignalSent, SignalLink, ""},
	LinkIn:  {"incoming link", SignalReceived, SignalLinkIn, ""},
	Threads: {"threads", SignalThreads, SignalThreadsMax, SignalThreadsQueue},
	Pool:    {"connection pool", SignalPool, SignalPoolMax, SignalPoolWaiting},
}

// Signals are those that tell how much of it is used, and how much there is.
func (k Kind) Signals() (used, limit string) { return kinds[k].used, kinds[k].limit }

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

// Shared reports whether it belongs to hosts that several tiers share.
func (r Resource) Shared() bool { return strings.Contains(r.Tier, sharing) }

// ofTier is the same of all hosts of its tier.
func (r Resource) ofTier() Resource { return Resource{Tier: r.Tier, Kind: r.Kind} }

// Tiers are those that it belongs to: several where their hosts are shared.
func (r Resource) Tiers() []string { return strings.Split(r.Tier, sharing) }

// Of reports whether it belongs to a tier, alone or with others.
func (r Resource) Of(tier string) bool { return slices.Contains(r.Tiers(), tier) }

// was is the verb for it.
func (r Resource) was() string {
	if r.Kind == Threads {
		return "were"
	}
	return "was"
}

// itWas is what stands for it, with the verb.
func (r Resource) itWas() string {
	if r.Kind == Threads {
		return "they were"
	}
	return "it was"
}

// String names it for people: "processor of db", "incoming link of the host of sql
// and data".
func (r Resource) String() string {
	of := r.Tier
	switch tiers := strings.Join(r.Tiers(), " and "); {
	case r.Shared() && r.Node != "":
		of = "host " + string(r.Node) + " of " + tiers
	case r.Shared():
		of = "the host of " + tiers
	case r.Node != "":
		of += " host " + string(r.Node)
	}
	return kinds[r.Kind].words + " of " + of
}
