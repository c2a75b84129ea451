package telemetry

import (
	"maps"
	"math"
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
		out = append(out, *p)
	}
	for i := range out {
		had := out[i].Remarks
		out[i].order()
		out[i].Remarks = had
	}
	return out
}

// Sum is what all volumes of a node do together. A period that one of them does not have is
// not known, and a measure that one of them lacks is absent. Its Service is empty.
func Sum(volumes []Recording) Recording {
	first := volumes[0]
	out := Recording{Source: first.Source, Node: first.Node, Rates: make(map[Measure]Numbers)}
	for i := range first.Begin {
		of := first.row(i)
		maps.DeleteFunc(of, func(m Measure, _ float64) bool { return slices.Contains(measures[:shares], m) && !nodeWide(m) })
		for _, v := range volumes[1:] {
			k, ok := slices.BinarySearch(v.End, first.End[i])
			if !ok || v.Begin[k] != first.Begin[i] {
				for m := range of {
					of[m] = math.NaN()
				}
				continue
			}
			row := v.row(k)
			for m := range maps.Keys(of) {
				if _, has := row[m]; !has {
					delete(of, m)
				} else if nodeWide(m) {
					of[m] = math.Max(of[m], row[m])
				} else {
					of[m] += row[m]
				}
			}
		}
		if len(of) > 0 {
			out.add(first.Begin[i], first.End[i], of)
		}
	}
	return out
}

// nodeWide reports whether each volume of a node tells the same.
func nodeWide(m Measure) bool { return m == NodeExceededOps || m == NodeExceededBytes }
