package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// Ranking orders the resources of a run by how much of them was lost at scale.
type Ranking struct {
	Resources []RankedResource `json:"resources"` // worst first
	// Unknown says what the run cannot tell.
	Unknown []string `json:"unknown"`
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
	Text string           `json:"text"`
}

// categories are what can be bought, and so what a run should measure before
// it names a culprit.
var categories = []string{"cpu", "memory", "disk", "network", "objectstore"}

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
	out := Ranking{Resources: ranked(worst(findings), scalings), Unknown: []string{}}
	out.Unknown = append(out.Unknown, unanswered(findings)...)
	out.Unknown = append(out.Unknown, behindNetwork(out.Resources, findings)...)
	out.Unknown = append(out.Unknown, sharedEnds(out.Resources)...)
	out.Unknown = append(out.Unknown, notMeasured(findings)...)
	out.Unknown = append(out.Unknown, onlyUpTo(out.Resources)...)
	return out
}

// worst returns the finding that speaks for each resource, worst first.
func worst(findings []evaluation.Finding) []evaluation.Finding {
	var out []evaluation.Finding
	for _, f := range findings {
		if !f.Answered() {
			continue
		}
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
func rankText(r RankedResource) string {
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
		text += "; " + l.Text
	}
	if r.Peak != nil {
		text += "; " + r.Peak.Text
	}
	return text
}

// unanswered lists the findings without a verdict, with the first reason.
func unanswered(findings []evaluation.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Answered() {
			continue
		}
		why := "verdict unknown"
		if len(f.Warnings) > 0 {
			why = f.Warnings[0]
		}
		name := strings.TrimSuffix(f.About(), "/")
		if f.Resource != "" {
			name += " (" + strings.TrimSpace(f.Workload+" "+f.Metric) + ")"
		}
		out = append(out, name+": "+why)
	}
	return out
}

// notMeasured names the resources that no workload of the run is about.
func notMeasured(findings []evaluation.Finding) []string {
	var missing []string
	for _, c := range categories {
		if !slices.ContainsFunc(findings, func(f evaluation.Finding) bool { return evaluation.Category(f.Resource) == c }) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	verb := "was"
	if len(missing) > 1 {
		verb = "were"
	}
	return []string{fmt.Sprintf("%s %s not measured in this run, so that a limit there cannot be seen", strings.Join(missing, ", "), verb)}
}

// onlyUpTo says of the resources without a loss how far that was tested.
func onlyUpTo(resources []RankedResource) []string {
	var out []string
	bySize := make(map[string][]string)
	var order []string
	for _, r := range resources {
		if r.Finding.Verdict == evaluation.Degraded {
			continue
		}
		fleet := r.Finding.Count()
		if _, seen := bySize[fleet]; !seen {
			order = append(order, fleet)
		}
		bySize[fleet] = append(bySize[fleet], r.Resource)
	}
	for _, fleet := range order {
		out = append(out, fmt.Sprintf("%s: measured with up to %s only; a larger fleet may meet a limit", strings.Join(bySize[fleet], ", "), fleet))
	}
	return out
}

// behindNetwork says where a loss of object storage may be one of the network
// in front of it: nothing reaches an object store but through the network.
func behindNetwork(resources []RankedResource, findings []evaluation.Finding) []string {
	var out []string
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
		if !measured {
			out = append(out, fmt.Sprintf("%s is reached through the network, which was not measured: object storage may not be the cause", store.Resource))
			continue
		}
		if !answered {
			out = append(out, fmt.Sprintf("%s is reached through the network, which has no verdict: object storage "+
				"may not be the cause", store.Resource))
			continue
		}
		same := false
		for _, net := range resources {
			if evaluation.Category(net.Resource) == "network" && sameLimit(store, net) {
				same = true
				out = append(out, fmt.Sprintf("%s: %s shows the same limit (%s and %s); object storage may not be the cause",
					store.Resource, net.Resource, totalText(store.Finding), totalText(net.Finding)))
			}
		}
		if !same {
			out = append(out, fmt.Sprintf("%s: the network was measured between nodes, and not on the way to the "+
				"store: the store's own link may be the limit", store.Resource))
		}
	}
	return out
}

// sharedEnds says where all pairs of nodes that lose capacity have one end in
// common. A transfer is named after what the node does that measures it; what
// limits it may be at the other end, and that is the one that all share.
func sharedEnds(resources []RankedResource) []string {
	var out []string
	for _, r := range resources {
		end := sharedEnd(r.Finding.Pairs)
		if end == "" || r.Finding.Verdict != evaluation.Degraded {
			continue
		}
		other := map[string]string{
			model.ResourceNetworkSend: model.ResourceNetworkReceive, model.ResourceNetworkReceive: model.ResourceNetworkSend,
		}[r.Resource]
		if other != "" {
			out = append(out, fmt.Sprintf("%s: all %d pairs end at %s, so that the limit may be %s of that node, and not what the others send or receive: give it more, or measure pairs without a common end",
				r.Resource, r.Finding.Nodes, end, other))
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

// totalText prints what all subjects of a finding had together.
func totalText(f evaluation.Finding) string {
	return evaluation.AmountText(*f.Parallel.Total, f.Unit, model.ResourceNetworkSend)
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
