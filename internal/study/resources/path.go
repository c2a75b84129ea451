package resources

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// pathFindings defines what the data exclude on the way of the data, and what they point
// to (ScaleBench, sections 4.2 to 4.4).
var pathFindings = caveat.Table{channelShared, callsExcluded, callsLimit, networkCarriesMore, storeAboveTwoWay,
	oneWayAbove, linkRate}

var (
	channelShared = caveat.Define("channel_shared", channel.String)
	callsExcluded = caveat.Define("call_rate_excluded", func(a twoSizes) string {
		return fmt.Sprintf("%s: %s and %s have about the same rate of bytes. "+
			"So the rate of API calls is not the limit there", a.Resource, a.Small.bytesText(), a.Large.bytesText())
	})
	callsLimit = caveat.Define("call_rate_limit", func(a twoSizes) string {
		return fmt.Sprintf("%s: %s and %s have about the same rate of API calls. "+
			"So that rate is the limit, and not bytes", a.Resource, a.Small.opsText(), a.Large.opsText())
	})
	networkCarriesMore = caveat.Define("network_carries_more", func(a against) string {
		return fmt.Sprintf("%s: the network between the nodes carried %s together, and the store %s. "+
			"So that network is not the limit",
			a.Resource, amount(a.NetworkRate), amount(a.Rate))
	})
	storeAboveTwoWay = caveat.Define("store_above_two_way", func(a against) string {
		return fmt.Sprintf("%s: one node alone has %s, more than the %s of the two-way network. So the two-way rate "+
			"is not a limit of the store", a.Resource, amount(a.Rate), amount(a.NetworkRate))
	})
	oneWayAbove = caveat.Define("one_way_above_two_way", func(a against) string {
		return fmt.Sprintf("network: one node alone has %s one way, and %s each way if both ways are in use. So both ways "+
			"share a limit, such as a processor. It is not the rate of the link", amount(a.Rate), amount(a.NetworkRate))
	})
	linkRate = caveat.Define("link_rate", func(a nearLink) string {
		return fmt.Sprintf("%s: the total of %s is near %s, a usual rate of links. "+
			"A link or a quota of that rate may be the limit",
			a.Resource, amount(a.Total), num.Human(a.Link, "bit/s"))
	})
)

type (
	channel struct {
		Resource caveat.Verbatim     `json:"resource"`
		Workload caveat.Verbatim     `json:"workload"`
		Of       evaluation.Subjects `json:"of"`
		Unit     caveat.Verbatim     `json:"unit"`
		evaluation.Channel
		Link float64 `json:"link,omitempty"` // bit/s, if Total is near one
	}
	// flow is what all nodes have together in operations of one size.
	flow struct {
		Workload caveat.Verbatim `json:"workload"`
		Size     float64         `json:"size"`  // byte
		Bytes    float64         `json:"bytes"` // byte/s
		Ops      float64         `json:"ops"`   // op/s
	}
	twoSizes struct {
		Resource caveat.Verbatim `json:"resource"`
		Small    flow            `json:"small"`
		Large    flow            `json:"large"`
	}
	// against are rates in byte/s.
	against struct {
		Resource    caveat.Verbatim `json:"resource"`
		Rate        float64         `json:"rate"`
		Network     caveat.Verbatim `json:"network"` // workload that measured NetworkRate
		NetworkRate float64         `json:"network_rate"`
	}
	nearLink struct {
		Resource caveat.Verbatim `json:"resource"`
		Total    float64         `json:"total"` // byte/s
		Link     float64         `json:"link"`  // bit/s
	}
)

const (
	sameRate    = 1.1 // two rates of totals that differ by less are about the same
	sizesApart  = 1.5 // least ratio of two sizes that tell calls from bytes
	leastOfLink = .93 // of a link's rate that is payload: 1448/1538 with frames of Ethernet
	mostOfLink  = 1.02
)

// linkRates are usual ones, in bit/s.
var linkRates = []float64{10e9, 25e9, 40e9, 100e9}

// path is what the findings say of the way of the data.
func path(findings []evaluation.Finding, scalings []evaluation.Scaling) (out caveat.List) {
	answered := slices.DeleteFunc(slices.Clone(findings), func(f evaluation.Finding) bool {
		// What small packets carry is no rate of the network in bytes.
		packets := slices.ContainsFunc(findings, func(o evaluation.Finding) bool {
			return o.Workload == f.Workload && o.Unit == observe.PacketRate && f.Unit != o.Unit
		})
		return !f.Answered() || packets
	})
	for i, f := range answered {
		if slices.ContainsFunc(answered[:i], func(o evaluation.Finding) bool {
			return o.Workload == f.Workload && o.About() == f.About()
		}) {
			continue // bytes say what operations do
		}
		for _, c := range channelsOf(f, scalings) {
			out.Add(channelShared.At(model.Info, caveat.Subject{}, c))
		}
	}
	out.Add(callRates(answered)...)
	out.Add(besideNetwork(answered)...)
	for _, f := range answered {
		if link := linkOf(f); link > 0 {
			out.Add(linkRate.At(model.Info, caveat.Subject{}, nearLink{caveat.Verbatim(f.About()), total(f), link}))
		}
	}
	return out
}

// channelsOf are those of a finding.
func channelsOf(f evaluation.Finding, scalings []evaluation.Scaling) (out []channel) {
	if f.Verdict != evaluation.Degraded {
		return nil
	}
	var smaller []evaluation.Kept
	for _, s := range scalings {
		if s.Workload == f.Workload && s.Metric == f.Metric {
			smaller = s.Smaller
		}
	}
	for _, c := range f.Channels(smaller) {
		x := channel{caveat.Verbatim(f.About()), caveat.Verbatim(f.Workload), f.Of, caveat.Verbatim(f.Unit), c, 0}
		if normal, factor := evaluation.NormalUnit(f.Unit); normal == evaluation.ByteRate {
			x.Link = nearestLink(factor * c.Total / ways(f))
		}
		out = append(out, x)
	}
	return out
}

func (a channel) String() string {
	count := len(a.Nodes) / a.Share
	text := fmt.Sprintf("%s: %ss %s keep %s of their capacity [%.1f, %.1f], near 1/%d (probability %s). "+
		"That points to %s of %s",
		a.Resource, a.Of, num.List(a.Nodes), num.Fraction(a.Kept), 100*a.CI[0], 100*a.CI[1], a.Share,
		num.Fraction(a.Probability), num.Count(count, "channel"),
		evaluation.AmountText(a.Total, string(a.Unit), string(a.Resource)))
	if a.Link > 0 {
		text += fmt.Sprintf(", near a link of %s,", num.Human(a.Link, "bit/s"))
	}
	text += fmt.Sprintf(" for %d %ss each", a.Share, a.Of)
	switch {
	case a.Outside > 0:
		text += fmt.Sprintf("; at least %d of them share with something outside the fleet", a.Outside)
	case count > 1 && len(a.Sets) == 0:
		text += ", or to fewer and wider ones; measure more fleet sizes (sizes) to see who shares with whom"
	case count > 1:
		var sets []string
		for _, set := range a.Sets {
			sets = append(sets, num.List(set))
		}
		text += ": " + strings.Join(sets, "; ")
	}
	return text
}

// callRates compares operations of different sizes of one resource, each with the next.
func callRates(findings []evaluation.Finding) (out caveat.List) {
	byResource := make(map[string][]flow)
	var order []string
	for _, f := range findings {
		if x, ok := flowOf(f, findings); ok {
			if byResource[f.Resource] == nil {
				order = append(order, f.Resource)
			}
			byResource[f.Resource] = append(byResource[f.Resource], x)
		}
	}
	about := func(a, b float64) bool { return max(a, b) < sameRate*min(a, b) }
	for _, resource := range order {
		flows := byResource[resource]
		slices.SortStableFunc(flows, func(a, b flow) int { return cmp.Compare(a.Size, b.Size) })
		for i := 1; i < len(flows); i++ {
			small, large := flows[i-1], flows[i]
			a := twoSizes{caveat.Verbatim(resource), small, large}
			switch {
			case large.Size < sizesApart*small.Size:
			case about(small.Bytes, large.Bytes):
				out.Add(callsExcluded.At(model.Info, caveat.Subject{}, a))
			case about(small.Ops, large.Ops):
				out.Add(callsLimit.At(model.Info, caveat.Subject{}, a))
			}
		}
	}
	return out
}

// lost reports whether a finding is of this unit and loses capacity.
func lost(f evaluation.Finding, unit string) bool {
	normal, _ := evaluation.NormalUnit(f.Unit)
	return f.Verdict == evaluation.Degraded && normal == unit && f.Parallel.Total != nil
}

// flowOf joins the bytes of a finding with the operations of its workload; !ok: it is none of
// bytes, loses nothing, or has no operations.
func flowOf(f evaluation.Finding, findings []evaluation.Finding) (out flow, ok bool) {
	// Operations of a disk's file are not those of the device: the kernel joins those in order.
	if evaluation.Category(f.Resource) != "objectstore" || !lost(f, evaluation.ByteRate) {
		return flow{}, false
	}
	i := slices.IndexFunc(findings, func(o evaluation.Finding) bool {
		return o.Workload == f.Workload && o.Resource == f.Resource && lost(o, observe.CallRate)
	})
	if i < 0 {
		return flow{}, false
	}
	bytes, ops := total(f), total(findings[i])
	return flow{caveat.Verbatim(f.Workload), bytes / ops, bytes, ops}, true
}

func (x flow) bytesText() string {
	return fmt.Sprintf("%s of %s", num.Human(x.Bytes, "B/s"), num.Human(x.Size, "B"))
}

func (x flow) opsText() string {
	return fmt.Sprintf("%s of %s", num.Human(x.Ops, "op/s"), num.Human(x.Size, "B"))
}

// besideNetwork compares object stores with the network between the nodes, and ways of
// using that.
func besideNetwork(findings []evaluation.Finding) (out caveat.List) {
	var oneWay, twoWay, stores []evaluation.Finding
	for _, f := range findings {
		normal, _ := evaluation.NormalUnit(f.Unit)
		category := evaluation.Category(f.Resource)
		switch {
		case normal != evaluation.ByteRate || f.Serial.Mean == nil || f.Parallel.Total == nil:
		case category == "objectstore":
			stores = append(stores, f)
		case category == "network" && bothWays(f, findings):
			twoWay = append(twoWay, f)
		case category == "network":
			oneWay = append(oneWay, f)
		}
	}
	add := func(def caveat.Def[against], f evaluation.Finding, rate float64, net evaluation.Finding, netRate float64) {
		out.Add(def.At(model.Info, caveat.Subject{},
			against{caveat.Verbatim(f.About()), rate, caveat.Verbatim(net.Workload), netRate}))
	}
	for _, net := range twoWay {
		for _, f := range slices.Concat(stores, oneWay) {
			def := storeAboveTwoWay
			if evaluation.Category(f.Resource) == "network" {
				def = oneWayAbove
			}
			rate, half := byItself(f)
			if netRate, netHalf := byItself(net); rate-half > netRate+netHalf {
				add(def, f, rate, net, netRate)
			}
		}
	}
	for _, f := range stores {
		for _, net := range slices.Concat(oneWay, twoWay) {
			_, hi := limitRange(RankedResource{Finding: f}, total(f) / *f.Parallel.Total)
			lo, _ := limitRange(RankedResource{Finding: net}, total(net) / *net.Parallel.Total)
			if f.Verdict == evaluation.Degraded && lo > hi && len(nodesOf(net)) <= len(nodesOf(f)) {
				add(networkCarriesMore, f, total(f), net, total(net))
				break
			}
		}
	}
	return out
}

// bothWays reports whether the nodes of a network's finding sent and received at once.
func bothWays(f evaluation.Finding, findings []evaluation.Finding) bool {
	return endsMeasure(f) || slices.ContainsFunc(findings, func(o evaluation.Finding) bool {
		return o.Workload == f.Workload && o.Resource != f.Resource && evaluation.Category(o.Resource) == "network"
	})
}

// endsMeasure reports whether a subject is a pair of which both ends measure: "a+b".
func endsMeasure(f evaluation.Finding) bool {
	return len(f.Pairs) > 0 && strings.Contains(string(f.Pairs[0].Node), "+")
}

// nodesOf are the nodes of all subjects.
func nodesOf(f evaluation.Finding) map[string]bool {
	out := make(map[string]bool)
	for _, p := range f.Pairs {
		for _, name := range strings.FieldsFunc(string(p.Node), func(r rune) bool { return r == '+' || r == '>' }) {
			out[name] = true
		}
	}
	return out
}

// byItself is what one node has by itself in byte/s, and how far from it the truth may be.
func byItself(f evaluation.Finding) (rate, half float64) {
	_, factor := evaluation.NormalUnit(f.Unit)
	rate = factor * *f.Serial.Mean
	half = rate * closeLimits / 2
	if f.Serial.SD != nil {
		half += 2 * factor * *f.Serial.SD / math.Sqrt(float64(f.Nodes))
	}
	if endsMeasure(f) {
		return rate / 2, half / 2
	}
	return rate, half
}

// linkOf is the usual rate of links that the total of a finding is near, in bit/s; 0: none,
// or its subjects do not lose alike.
func linkOf(f evaluation.Finding) float64 {
	switch evaluation.Category(f.Resource) {
	case "network", "objectstore", "disk":
	default:
		return 0
	}
	if f.Nodes < 2 || len(f.Parts) > 0 || !lost(f, evaluation.ByteRate) {
		return 0
	}
	return nearestLink(total(f) / ways(f))
}

// ways is how many directions a total counts: a link has its rate in each.
func ways(f evaluation.Finding) float64 {
	if endsMeasure(f) {
		return 2
	}
	return 1
}

// nearestLink is the link of which the payload is about so many byte/s; 0: none.
func nearestLink(rate float64) float64 {
	for _, link := range linkRates {
		if share := 8 * rate / link; share >= leastOfLink && share <= mostOfLink {
			return link
		}
	}
	return 0
}

func amount(bytesPerSecond float64) string { return num.Human(bytesPerSecond, "B/s") }
