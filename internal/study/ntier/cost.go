package ntier

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/stats"
)

// list are the prices that the user gave: those of the table, or else of the file.
func (p *Params) list() (prices.List, error) {
	if p.PriceTable != "" {
		return prices.Read(p.PriceTable)
	}
	return prices.Of(p.Prices, p.PriceList)
}

// untyped is what to do for a host without a type.
const untyped = "give them the label type, or name it in the configuration, as in 1-2-1-ec2-large"

// cost compares configurations by what they cost, and returns what speaks against it. The
// cheapest is among those where as many users are alike.
func (p *Params) cost(findings []Finding, all []measured, alike bool) (out *prices.Cost, doubts []warning, err error) {
	list, err := p.list()
	if err != nil {
		return nil, nil, err
	}
	out = &prices.Cost{Rows: []prices.Offer{}, Currency: list.Currency, Priced: !list.Empty()}
	if p.SLA != "" && alike {
		if out.At = p.at(findings); out.At == 0 {
			doubts = append(doubts, warning{text: "no number of users was measured with all configurations: which keeps the " +
				"SLA at the least cost is not told; measure them with the same, or name one (--at)"})
		}
	}
	hosts, why := make([]int, len(findings)), make([]string, len(findings))
	for i, f := range findings {
		row := prices.Offer{Configuration: f.Configuration}
		hosts[i] = f.Hosts
		row.Keeps, why[i] = f.keeps(out.At)
		// Corrected for the loads among which the peak was chosen (Bonferroni).
		peak, ci := stats.MeanWithin(f.peaks, 1-(1-stats.DefaultLevel)/float64(max(1, len(bottleneck.Counted(f.Loads)))))
		if !math.IsNaN(peak) {
			row.Peak = &prices.Rated{Users: f.peak().Users, Throughput: peak, StillGrew: f.stillGrew()}
		}
		users, doubt := f.slaLoad()
		if doubt != "" && f.withdrawn() == "" {
			doubts = append(doubts, warning{f.Configuration, doubt})
		}
		at := slices.IndexFunc(f.Loads, func(l bottleneck.Load) bool { return l.Users == users })
		if at >= 0 {
			row.SLA = &prices.Rated{Users: users, Throughput: f.Loads[at].Throughput}
		}
		if out.Priced {
			hourly, missing := list.Sum(all[i].places(), untyped)
			if missing != "" {
				doubts = append(doubts, warning{f.Configuration, missing})
			} else {
				row.Hourly = &hourly
				row.Peak.Price(hourly, ci)
				if at >= 0 {
					row.SLA.Price(hourly, f.Loads[at].CI)
				}
			}
		}
		out.Rows = append(out.Rows, row)
	}
	out.Choose(hosts, why)
	return out, doubts, nil
}

// at is the load for which the cheapest is wanted: what was asked for, or the
// largest of all configurations; 0: they have none in common.
func (p *Params) at(findings []Finding) int {
	if p.At > 0 {
		return p.At
	}
	count := make(map[int]int) // of configurations, by numbers of users
	configurations, most := 0, 0
	for _, f := range findings {
		configurations += min(1, len(f.Loads)) // else all trials failed
		for _, l := range f.Loads {
			count[l.Users]++
		}
	}
	for users, n := range count {
		if n == configurations {
			most = max(most, users)
		}
	}
	return most
}

// places are those of all nodes of a configuration, with their types: of the nodes
// themselves, or the type of the configuration's name. A node that has several tiers is
// there once.
func (m measured) places() []prices.Place {
	out := make([]prices.Place, m.configuration.Hosts())
	for _, t := range m.trials {
		if len(t.hosts) > 0 {
			out = slices.Clone(t.hosts)
		}
	}
	for i := range out {
		out[i].Type = cmp.Or(out[i].Type, m.configuration.Type)
	}
	return out
}
