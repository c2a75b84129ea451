package ntier

import (
	"github.com/scalebench/scalebench/internal/stats"
)

// Reversal is two configurations of which one has more throughput on one platform,
// and the other on another, by whole intervals on both (the paper's section III-B:
// what is best on Emulab is worst on EC2).
type Reversal struct {
	A string `json:"a"` // the shape that is ahead on First
	B string `json:"b"` // and the one that is on Second
	// First and Second are platforms, with their types.
	First  string `json:"first"`
	Second string `json:"second"`
	// RatioFirst and RatioSecond are the throughput of A over that of B, of each at the
	// load with the largest mean, with intervals at Level: that of the comparison is shared by all that were made
	// (Bonferroni).
	RatioFirst  float64        `json:"ratio_first"`
	CIFirst     stats.Interval `json:"ci_first"`
	RatioSecond float64        `json:"ratio_second"`
	CISecond    stats.Interval `json:"ci_second"`
	Level       float64        `json:"level"`
}

// pair is two configurations on one platform.
type pair struct {
	place, a, b string
	x, y        []float64
}

// reversals compares each two shapes that two platforms have in common, by their
// throughput at the load where it is largest. What still grew there has no peak.
func reversals(all []Finding) []Reversal {
	var pairs []pair
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.place() == b.place() && a.Shape != b.Shape && !a.stillGrew() && !b.stillGrew() {
				pairs = append(pairs, pair{a.place(), a.Shape, b.Shape, a.peaks, b.peaks})
			}
		}
	}
	compared := 0
	for i, p := range pairs {
		for _, q := range pairs[i+1:] {
			if p.a == q.a && p.b == q.b && p.place != q.place {
				compared++
			}
		}
	}
	out := []Reversal{}
	for i, p := range pairs {
		for _, q := range pairs[i+1:] {
			if p.a == q.a && p.b == q.b && p.place != q.place {
				if r, ok := turned(p, q, compared); ok {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

func (f Finding) place() string { return Configuration{Platform: f.Platform, Type: f.Type}.Place() }

// turned compares on both platforms; ok is false unless the ranking turns over.
func turned(p, q pair, compared int) (r Reversal, ok bool) {
	r = Reversal{A: p.a, B: p.b, First: p.place, Second: q.place, Level: 1 - (1-stats.DefaultLevel)/float64(2*compared)}
	var errP, errQ error
	r.RatioFirst, r.CIFirst, errP = stats.RatioOfIndependentMeans(p.x, p.y, r.Level)
	r.RatioSecond, r.CISecond, errQ = stats.RatioOfIndependentMeans(q.x, q.y, r.Level)
	switch {
	case errP != nil || errQ != nil:
		return r, false
	case r.CIFirst.Lo > 1 && r.CISecond.Hi < 1:
		return r, true
	case r.CIFirst.Hi < 1 && r.CISecond.Lo > 1:
		r.First, r.Second = r.Second, r.First
		r.RatioFirst, r.RatioSecond, r.CIFirst, r.CISecond = r.RatioSecond, r.RatioFirst, r.CISecond, r.CIFirst
		return r, true
	}
	return r, false
}
