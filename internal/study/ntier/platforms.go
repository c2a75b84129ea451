package ntier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/observe"
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
	// GrewFirst: the throughput of A still grew on First, so that the ratio is the least;
	// GrewSecond: that of B did on Second, so that it is the most.
	GrewFirst  bool `json:"still_grew_first,omitempty"`
	GrewSecond bool `json:"still_grew_second,omitempty"`
}

// pair is two configurations on one platform.
type pair struct{ a, b Finding }

// alike reports whether it is that of the same configurations, with the same users, on
// another platform.
func (p pair) alike(q pair) bool {
	return p.a.Shape == q.a.Shape && p.b.Shape == q.b.Shape && p.a.asked == q.a.asked && p.a.place() != q.a.place()
}

// Rankings are how many pairs of configurations that two platforms have in common were
// compared, of how many the same is ahead on both, by whole intervals, and how many are
// open because what is behind still grew.
type Rankings struct {
	Pairs     int `json:"pairs"`
	Same      int `json:"same"`
	StillGrew int `json:"still_grew"`
	// WithoutInterval are those of which chance is not known, and Why that is so.
	WithoutInterval int    `json:"without_interval"`
	Why             string `json:"why,omitempty"`
}

// reversals compares each two shapes that two platforms have in common, by their
// throughput at the load where it is largest. What still grew there can do at least that,
// so that it may be ahead and never behind; of two that grew nothing is known.
// Operations of users who do something else are no others' measure.
func reversals(all []Finding) (out []Reversal, of Rankings) {
	var pairs []pair
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.place() == b.place() && a.Shape != b.Shape && a.Mix == b.Mix && a.asked == b.asked &&
				len(a.peaks)*len(b.peaks) > 0 && (!a.stillGrew() || !b.stillGrew()) {
				pairs = append(pairs, pair{a, b})
			}
		}
	}
	var both [][2]pair
	for i, p := range pairs {
		for _, q := range pairs[i+1:] {
			if p.alike(q) {
				both = append(both, [2]pair{p, q})
			}
		}
	}
	out, of.Pairs = []Reversal{}, len(both)
	for _, x := range both {
		switch r, sides, why := compared(x[0], x[1], len(both)); {
		case why != "":
			if of.WithoutInterval++; !strings.Contains(of.Why, why) {
				of.Why = strings.TrimPrefix(of.Why+"; "+why, "; ")
			}
		case sides > 0:
			of.Same++
		case sides < 0:
			out = append(out, r)
		case side(r.CIFirst)*side(r.CISecond) != 0:
			of.StillGrew++
		}
	}
	return out, of
}

func (f Finding) place() string { return Configuration{Platform: f.Platform, Type: f.Type}.Place() }

// placeWords are those for a platform with its type, also where none is named.
func placeWords(place string) string { return cmp.Or(place, "no platform") }

// compared compares on both platforms, as one of so many; sides is 1 where the same is
// ahead on both, -1 where the ranking turns over, and else 0; why says why chance is not
// known, so that there is no interval.
func compared(p, q pair, of int) (r Reversal, sides int, why string) {
	r = Reversal{A: p.a.Shape, B: p.b.Shape, First: p.a.place(), Second: q.a.place(),
		Level:     1 - (1-stats.DefaultLevel)/float64(2*of),
		GrewFirst: p.a.stillGrew(), GrewSecond: q.b.stillGrew()}
	var errP, errQ error
	r.RatioFirst, r.CIFirst, errP = stats.RatioOfIndependentMeans(p.a.peaks, p.b.peaks, r.Level)
	r.RatioSecond, r.CISecond, errQ = stats.RatioOfIndependentMeans(q.a.peaks, q.b.peaks, r.Level)
	switch err := errors.Join(errP, errQ); {
	case errors.Is(err, stats.ErrTooFew):
		return r, 0, "a single trial at a peak: it takes two"
	case errors.Is(err, stats.ErrNoSpread):
		return r, 0, "the trials at peaks are all alike: what chance does is not seen"
	case err != nil: // may be 0, so that the ratio may be any
		r.CIFirst = stats.Interval{Hi: math.Inf(1)}
		return r, 0, ""
	}
	first, second := p.side(r.CIFirst), q.side(r.CISecond)
	if first < 0 && second > 0 {
		return compared(q, p, of)
	}
	return r, first * second, ""
}

// side is on which side of 1 all of an interval lies, by more than chance and by more
// than what is alike; 0: on none.
func side(ci stats.Interval) int {
	switch {
	case ci.Lo > 1+bottleneck.Repeatability:
		return 1
	case ci.Hi < 1/(1+bottleneck.Repeatability):
		return -1
	}
	return 0
}

// side is which is ahead by the interval of the ratio; 0: that is chance, or what is
// behind still grew.
func (p pair) side(ci stats.Interval) int {
	s := side(ci)
	if s > 0 && p.b.stillGrew() || s < 0 && p.a.stillGrew() {
		return 0
	}
	return s
}

// otherThink is how many times as long users think who are not alike; the means of few
// operations differ by chance.
const otherThink = 1.25

// unlike says of which configurations the users are not like those of others: then as many
// are another load, or do something else. Think times that are not known beside others that
// are may be so, too.
func unlike(all []Finding) (out []warning) {
	i := max(0, slices.IndexFunc(all, func(f Finding) bool { return f.asked != "" }))
	known := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return math.IsNaN(f.think()) })
	for _, f := range all {
		if f.asked != all[i].asked && f.asked != "" {
			out = append(out, warning{f.Configuration, fmt.Sprintf("its users do something else than those of %s (mix, tables "+
				"or site). An operation is another there: no numbers of the two compare, and the cheapest is not known",
				all[i].Configuration)})
		}
		if len(known) > 0 && len(f.Loads) > 0 && math.IsNaN(f.think()) {
			out = append(out, warning{f.Configuration, "for how long its users think is not known: as many may be another " +
				"load than with others, so that knees and response times do not compare; peaks do"})
		}
	}
	slices.SortStableFunc(known, func(a, b Finding) int { return cmp.Compare(a.think(), b.think()) })
	if last := len(known) - 1; last > 0 && known[last].think() > otherThink*known[0].think() {
		out = append(out, warning{text: fmt.Sprintf("users think for %s with %s, and for %s with %s: as many are another "+
			"load, so that knees and response times do not compare, nor which is the cheapest for so many; peaks do",
			num.Seconds(known[last].think()), known[last].Configuration, num.Seconds(known[0].think()), known[0].Configuration)})
	}
	return out
}

// think is for how long users thought on average; NaN: not known.
func (f Finding) think() float64 {
	sum, n := 0.0, 0.0
	for _, l := range f.Loads {
		if l.Think != nil {
			sum, n = sum+*l.Think, n+1
		}
	}
	return sum / n
}

// asked is what the users of a configuration do, by their parameters; empty: not known.
func (m measured) asked() string {
	if len(m.trials) == 0 || len(observe.Measuring(m.trials[0].of)) == 0 {
		return ""
	}
	var of []any
	params := observe.Measuring(m.trials[0].of)[0].Spec.Params // all generators do the same
	for _, key := range []string{"mix", "site", "transitions", "author_transitions", "author_share", "properties"} {
		of = append(of, params[key])
	}
	if of[0] == nil {
		of[0] = session.BrowseOnly
	}
	text, _ := json.Marshal(of) // of what came from JSON
	return string(text)
}
