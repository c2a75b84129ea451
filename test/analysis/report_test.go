package analysis

import (
	"encoding/json"
	"maps"
)

// report is what `scalebench variability` and the full work of work.py both say of
// a table.
type report struct {
	Rows   int     `json:"rows"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Lag1   float64 `json:"lag1"`
	// Effective is how many independent rows the rows are worth by autocorrelation.
	Effective float64            `json:"effective"`
	Eta2      map[string]float64 `json:"eta2"`    // by fact
	Between   map[string]float64 `json:"between"` // by level of the decomposition
	In        map[string]float64 `json:"in"`
	// Groups are, by fact and level, n, mean, COV and the quantiles at 1, 25, 50, 75
	// and 99 %. scalebench shows only facts that explain something.
	Groups  map[string]map[string][]float64 `json:"groups"`
	Seconds float64                         `json:"seconds"`
}

// parseReport reads the JSON form of `scalebench variability`.
func parseReport(text []byte) (r report, err error) {
	var all struct {
		Metrics []struct {
			N                          int
			Mean, SD, Median, Min, Max float64
			Dependence                 struct {
				Lag1      float64
				Effective float64 `json:"effective_n_in_time"`
			}
			Facts []struct {
				Fact string
				Eta2 float64
			}
			Decomposition struct {
				Levels []struct {
					Level       string
					Between, In float64
				}
			}
			Groups []struct {
				Fact   string
				Groups []struct {
					Level                                    string
					N, Mean, COV, P01, P25, Median, P75, P99 float64
				}
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return r, err
	}
	m := all.Metrics[0]
	r = report{
		Rows: m.N, Mean: m.Mean, SD: m.SD, Median: m.Median, Min: m.Min, Max: m.Max, Lag1: m.Dependence.Lag1, Effective: m.Dependence.Effective,
		Eta2: make(map[string]float64), Between: make(map[string]float64), In: make(map[string]float64), Groups: make(map[string]map[string][]float64),
	}
	for _, f := range m.Facts {
		r.Eta2[f.Fact] = f.Eta2
	}
	for _, l := range m.Decomposition.Levels {
		r.Between[l.Level], r.In[l.Level] = l.Between, l.In
	}
	for _, g := range m.Groups {
		if g.Fact == "hour" {
			continue // the others do not draw it
		}
		r.Groups[g.Fact] = make(map[string][]float64)
		for _, x := range g.Groups {
			r.Groups[g.Fact][x.Level] = []float64{x.N, x.Mean, x.COV, x.P01, x.P25, x.Median, x.P75, x.P99}
		}
	}
	return r, nil
}

// keepGroups drops the groups by facts that another report does not show.
func (r report) keepGroups(of report) report {
	r.Groups = maps.Clone(r.Groups)
	maps.DeleteFunc(r.Groups, func(fact string, _ map[string][]float64) bool { return of.Groups[fact] == nil })
	return r
}
