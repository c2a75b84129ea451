package pressure

import (
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/telemetry"
)

// NormalisedOf is the size by which a provider counts the operations of a volume.
type NormalisedOf struct {
	Node    string `json:"node"`
	Service string `json:"service"`
	SizeEstimate

	counts []Counts
}

// sizesOf are the normalised sizes of the volumes of which a provider counted operations.
// Ours are those of the same source, or else of the one other source of that volume.
func sizesOf(recordings []telemetry.Recording) (out []NormalisedOf) {
	for i := range recordings {
		r := &recordings[i]
		if r.Rates[telemetry.ConsumedOps] == nil {
			continue
		}
		ours := r
		if k := slices.IndexFunc(recordings, func(x telemetry.Recording) bool {
			return x.Service == r.Service && x.Rates[telemetry.ConsumedOps] == nil &&
				(x.Node == r.Node || x.Node == "" || r.Node == "")
		}); k >= 0 {
			ours = &recordings[k]
		}
		all := counts(r, ours)
		if size := EstimateSize(all, stats.DefaultLevel); size.Periods > 0 {
			out = append(out, NormalisedOf{r.Node, r.Service, size, all})
		}
	}
	return out
}

// counts are those of the provider's periods, with ours over the same time.
func counts(provider, ours *telemetry.Recording) (out []Counts) {
	n, _ := NewSeries(ours, loadOn(levels.Level{Quality: levels.Ops, Ways: both}, ours).Least)
	b, _ := NewSeries(ours, loadOn(levels.Level{Quality: levels.Bytes, Ways: both}, ours).Least)
	const most = .02 // of a period that is not ours
	for i, consumed := range provider.Rates[telemetry.ConsumedOps] {
		from, to := provider.Begin[i], provider.End[i]
		slack := most * (to - from)
		nn, bb := n.Between(from-slack, to+slack), b.Between(from-slack, to+slack)
		if nn.Seconds() >= (1-most)*(to-from) {
			out = append(out, Counts{nn.Mean(), bb.Mean(), consumed, to})
		}
	}
	return out
}

// sizeBlocks are the table of normalised sizes.
func (r *Result) sizeBlocks() []doc.Block {
	if len(r.Sizes) == 0 {
		return nil
	}
	t := &doc.Table{Columns: []doc.Column{doc.Label("node", "node"), doc.Label("service", "service"),
		doc.Number("ratio", "provider's operations to ours"), doc.Interval("size", "normalised size"),
		doc.Number("periods", "periods")}}
	for _, s := range r.Sizes {
		cell := doc.Of(nil, "not known")
		if s.Size != nil {
			cell = doc.Of(s.Size.Lo, num.Digits(s.Size.Lo/1024, 3)+" .. "+num.Digits(s.Size.Hi/1024, 3)+" KiB").Within(s.Size.Lo,
				s.Size.Hi)
		}
		t.Add(doc.Say(s.Node), doc.Say(s.Service), doc.Of(s.Ratio, num.Digits(s.Ratio, 3)), cell, doc.Int(s.Periods))
	}
	blocks := []doc.Block{{Table: t},
		doc.Remark("An operation of more than the normalised size counts for each part of that size.")}
	for i := range r.Sizes {
		blocks = append(blocks, doc.Plot("", "", r.Sizes[i].chart(r.zone)).On(doc.Page))
	}
	return blocks
}

// chart is the paper's Fig. 8: what the provider counts, and what we do, over time.
func (x *NormalisedOf) chart(zone string) chart.Chart {
	lines := []chart.Layer{{Mark: chart.Line, Role: chart.Series1, Name: "the provider's operations"},
		{Mark: chart.Line, Role: chart.Series2, Name: "ours"}}
	if x.Size != nil {
		lines = append(lines, chart.Layer{Mark: chart.Line, Role: chart.Estimate,
			Name: "ours, at least, by the middle of the normalised sizes"})
	}
	for _, c := range x.counts {
		for i, value := range []float64{c.Consumed, c.Ops} {
			lines[i].Add(c.end, value)
		}
		if x.Size != nil {
			lines[2].Add(c.end, max(c.Ops, c.Bytes*2/(x.Size.Lo+x.Size.Hi)))
		}
	}
	return chart.Chart{Title: "Operations of " + x.Service, X: chart.Axis{Kind: chart.Time, Zone: zone},
		Y: chart.Axis{Unit: "op/s"}, Layers: lines}
}
