package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// Ranking orders the resources of a run by how much of them was lost at scale.
type Ranking struct {
	Resources []RankedResource `json:"resources"` // worst first
	// Unknown says what the run cannot tell: the texts of unknown.
	Unknown []caveat.Text `json:"unknown"`
	unknown caveat.List
}

// RankedResource is one resource with the finding that speaks for it.
type RankedResource struct {
	Rank     int    `json:"rank"`     // from 1; equal where intervals do not tell them apart
	Resource string `json:"resource"` // of the taxonomy, or "workload/metric"
	// Finding is the metric with the largest loss among those of the resource.
	Finding evaluation.Finding `json:"finding"`
	// Limits are the shared limits that were inferred for it.
	Limits []evaluation.SharedLimit `json:"limits,omitempty"`
	// Peak is the size from which on its total falls; nil where it does not.
	Peak *evaluation.Peak `json:"peak,omitempty"`
	Text caveat.Text      `json:"text"`
}

// categories are what can be bought, and so what a run should measure before
// it names a culprit.
var categories = []category{"cpu", "memory", "disk", "network", "objectstore"}

// closeLimits is how far apart two limits may lie, relative to the larger, and
// still be one and the same: the headers of packets and requests, which count
// in the limit of a link, take so much.
const closeLimits = 0.05

// rank orders the resources of a run by their CDI, worst first. For each
// resource the metric with the largest loss speaks. Resources share a rank
// where their intervals overlap: the order within it is chance. What has no
// verdict has no rank; it is among what the run cannot tell, with the
// resources that were not measured and the limits that larger fleets may meet.
func rank(findings []evaluation.Finding, scalings []evaluation.Scaling) Ranking {
	answered := slices.DeleteFunc(slices.Clone(findings), func(f evaluation.Finding) bool { return !f.Answered() })
	out := Ranking{Resources: ranked(worst(answered), scalings)}
	out.unknown = slices.Concat(unanswered(findings), behindNetwork(out.Resources, findings), sharedEnds(out.Resources),
		notMeasured(findings), onlyUpTo(out.Resources))
	return out
}

// worst returns the finding with the largest index of each resource, worst first. All
// findings have an index.
func worst(findings []evaluation.Finding) []evaluation.Finding {
	var out []evaluation.Finding
	for _, f := range findings {
		i := slices.IndexFunc(out, func(o evaluation.Finding) bool { return o.About() == f.About() })
		switch {
		case i < 0:
			out = append(out, f)
		case *f.CDI > *out[i].CDI:
			out[i] = f
		}
	}
	slices.SortStableFunc(out, func(a, b evaluation.Finding) int { return cmp.Compare(*b.CDI, *a.CDI) })
	return out
}

// ranked gives ranks: 1, 1, 3 if the first two cannot be told apart. A rank
// begins with the first resource with an interval that does not overlap that of
// the first resource of the rank before.
func ranked(findings []evaluation.Finding, scalings []evaluation.Scaling) []RankedResource {
	out := make([]RankedResource, 0, len(findings))
	leader := 0
	for i, f := range findings {
		if i > 0 && f.CI[1] < findings[leader].CI[0] {
			leader = i
		}
		r := RankedResource{Rank: leader + 1, Resource: f.About(), Finding: f, Limits: limitsOf(f, scalings),
			Peak: peakOf(f, scalings)}
		r.Text = rankText(r)
		out = append(out, r)
	}
	causeFirst(out)
	return out
}

// causeFirst puts the network before an object store that cannot be told from
// it and shows its limit: the store is only reached through the network, so the
// network explains both.
func causeFirst(rs []RankedResource) {
	for i, store := range rs {
		if evaluation.Category(store.Resource) != "objectstore" {
			continue
		}
		for j := i + 1; j < len(rs) && rs[j].Rank == store.Rank; j++ {
			if net := rs[j]; evaluation.Category(net.Resource) == "network" && sameLimit(store, net) {
				copy(rs[i+1:j+1], rs[i:j])
				rs[i] = net
				break
			}
		}
	}
}

// limitsOf collects the limits that were inferred for a resource.
func limitsOf(f evaluation.Finding, scalings []evaluation.Scaling) []evaluation.SharedLimit {
	var out []evaluation.SharedLimit
	for _, s := range scalings {
		if s.Workload != f.Workload || s.Metric != f.Metric {
			continue
		}
		if s.Limit != nil {
			out = append(out, *s.Limit)
		}
		out = append(out, s.Groups...)
	}
	return out
}

// peakOf is the size from which on the total of a resource falls.
func peakOf(f evaluation.Finding, scalings []evaluation.Scaling) *evaluation.Peak {
	for _, s := range scalings {
		if s.Workload == f.Workload && s.Metric == f.Metric {
			return s.Peak
		}
	}
	return nil
}

// rankText is the finding in one sentence.
func rankText(r RankedResource) caveat.Text {
	f := r.Finding
	fleet := f.Count()
	lose, gain, whose, together := "lose", "gain", "their", " together"
	if f.Nodes == 1 {
		lose, gain, whose, together = "loses", "gains", "its", ""
	}
	var text string
	switch f.Verdict {
	case evaluation.Degraded:
		text = fmt.Sprintf("%s: %s %s %.1f %% of %s capacity%s [%.1f, %.1f]", r.Resource, fleet, lose, *f.CDI, whose, together, f.CI[0], f.CI[1])
	case evaluation.Gain:
		text = fmt.Sprintf("%s: %s %s %.1f %%%s [%.1f, %.1f]", r.Resource, fleet, gain, -*f.CDI, together, -f.CI[1], -f.CI[0])
	default: // none, unclear
		text = fmt.Sprintf("%s: no loss seen with %s; one of up to %s is not excluded", r.Resource, fleet,
			f.MostLostText())
	}
	if parts := f.PartsText(); parts != "" {
		text += "; " + parts
	}
	for _, l := range r.Limits {
		text += "; " + doc.Words(l.Text)
	}
	if r.Peak != nil {
		text += "; " + doc.Words(r.Peak.Text)
	}
	return caveat.Sentence(text)
}

// unanswered lists the findings without a verdict, with the first reason.
func unanswered(findings []evaluation.Finding) (out caveat.List) {
	for _, f := range findings {
		if f.Answered() {
			continue
		}
		a := finding{Resource: caveat.Verbatim(f.Resource), Workload: caveat.Verbatim(f.Workload),
			Metric: caveat.Verbatim(f.Metric)}
		if len(f.Doubts) > 0 {
			a.Why = &f.Doubts[0]
		}
		out.Add(noVerdict.Warn(a))
	}
	return out
}

// notMeasured names the resources that no workload of the run is about.
func notMeasured(findings []evaluation.Finding) (out caveat.List) {
	missing := slices.DeleteFunc(slices.Clone(categories), func(c category) bool {
		return slices.ContainsFunc(findings, func(f evaluation.Finding) bool {
			return evaluation.Category(f.Resource) == string(c)
		})
	})
	if len(missing) > 0 {
		out.Add(unmeasured.Warn(resourceList{missing}))
	}
	return out
}

// onlyUpTo says of the resources without a loss how far that was tested.
func onlyUpTo(resources []RankedResource) (out caveat.List) {
	type fleet struct {
		nodes int
		of    evaluation.Subjects
	}
	bySize := make(map[fleet][]caveat.Verbatim)
	var order []fleet
	for _, r := range resources {
		if r.Finding.Verdict == evaluation.Degraded {
			continue
		}
		at := fleet{r.Finding.Nodes, r.Finding.Of}
		if _, seen := bySize[at]; !seen {
			order = append(order, at)
		}
		bySize[at] = append(bySize[at], caveat.Verbatim(r.Resource))
	}
	for _, at := range order {
		out.Add(testedUpTo.Warn(tested{bySize[at], at.nodes, at.of}))
	}
	return out
}

// behindNetwork says where a loss of object storage may be one of the network
// in front of it: nothing reaches an object store but through the network.
func behindNetwork(resources []RankedResource, findings []evaluation.Finding) (out caveat.List) {
	var measured, answered bool
	for _, f := range findings {
		if evaluation.Category(f.Resource) == "network" {
			measured, answered = true, answered || f.Answered()
		}
	}
	for _, store := range resources {
		if evaluation.Category(store.Resource) != "objectstore" || store.Finding.Verdict != evaluation.Degraded {
			continue
		}
		name := caveat.Verbatim(store.Resource)
		if !answered {
			out.Add(networkUnknown.Warn(behind{name, measured}))
			continue
		}
		same := false
		for _, net := range resources {
			if evaluation.Category(net.Resource) == "network" && sameLimit(store, net) {
				same = true
				out.Add(networkAlike.Warn(alike{name, total(store.Finding), caveat.Verbatim(net.Resource), total(net.Finding)}))
			}
		}
		if !same {
			out.Add(networkBetween.Warn(between{name}))
		}
	}
	return out
}

// sharedEnds says where all pairs of nodes that lose capacity have one end in
// common. A transfer is named after what the node does that measures it; what
// limits it may be at the other end, and that is the one that all share.
func sharedEnds(resources []RankedResource) (out caveat.List) {
	others := map[string]caveat.Verbatim{
		model.ResourceNetworkSend: model.ResourceNetworkReceive, model.ResourceNetworkReceive: model.ResourceNetworkSend,
	}
	for _, r := range resources {
		end, other := sharedEnd(r.Finding.Pairs), others[r.Resource]
		if end != "" && other != "" && r.Finding.Verdict == evaluation.Degraded {
			out.Add(commonEnd.Warn(endOfPairs{caveat.Verbatim(r.Resource), r.Finding.Nodes, model.NodeID(end), other}))
		}
	}
	return out
}

// sharedEnd is the node at which all of several pairs "client>server" end; empty:
// none.
func sharedEnd(pairs []evaluation.NodePair) string {
	var end string
	for i, p := range pairs {
		_, server, connected := strings.Cut(string(p.Node), ">")
		if !connected || i > 0 && server != end {
			return ""
		}
		end = server
	}
	if len(pairs) < 2 {
		return ""
	}
	return end
}

// sameLimit reports whether two resources that lose capacity had the same total
// when they did: within the intervals of their limits, where these are known,
// or within what headers take.
func sameLimit(a, b RankedResource) bool {
	if b.Finding.Verdict != evaluation.Degraded || a.Finding.Parallel.Total == nil || b.Finding.Parallel.Total == nil {
		return false
	}
	unitA, factorA := evaluation.NormalUnit(a.Finding.Unit)
	unitB, factorB := evaluation.NormalUnit(b.Finding.Unit)
	if unitA != evaluation.ByteRate || unitB != evaluation.ByteRate {
		return false
	}
	loA, hiA := limitRange(a, factorA)
	loB, hiB := limitRange(b, factorB)
	return loA <= hiB && loB <= hiA
}

// limitRange is where the total of a resource may lie.
func limitRange(r RankedResource, factor float64) (lo, hi float64) {
	total := factor * *r.Finding.Parallel.Total
	lo, hi = total*(1-closeLimits/2), total*(1+closeLimits/2)
	for _, l := range r.Limits {
		if l.Among == "" && l.CI != nil {
			lo, hi = min(lo, factor*l.CI[0]), max(hi, factor*l.CI[1])
		}
	}
	return lo, hi
}
