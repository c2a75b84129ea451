package telemetry

import (
	"maps"
	"slices"
)

// The services that are no volumes.
const (
	Network   = "network"
	Processor = "cpu"
)

// Join puts recordings of one service of one node together, in the order of their periods:
// parts that were recorded at different times. Where parts overlap one of them counts.
func Join(parts []Recording) []Recording {
	var out []Recording
	for i := range parts {
		p := &parts[i]
		if k := slices.IndexFunc(out, func(r Recording) bool {
			return r.Source == p.Source && r.Node == p.Node && r.Service == p.Service
		}); k >= 0 {
			for j := range p.Begin {
				out[k].add(p.Begin[j], p.End[j], p.row(j))
			}
			for _, x := range p.Remarks {
				out[k].remark(x)
			}
			continue
		}
		first := *p
		first.Rates = maps.Clone(p.Rates) // the parts stay as they are
		out = append(out, first)
	}
	for i := range out {
		had := out[i].Remarks
		out[i].Settle()
		out[i].Remarks = had
	}
	return out
}
