package variability

import (
	"cmp"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// bands looks for bands, and for the fact that tells them. Where the level changed
// in time, which part of the time a value is of may be that.
func (x *examined) bands(d Dependence, course *Course) BandSearch {
	found, err := stats.FindBands(x.sorted, d.EffectiveN, x.level, seed)
	if err != nil {
		return BandSearch{Why: err.Error()}
	}
	out := BandSearch{P: finite(found.P), Why: found.Why}
	switch {
	case !found.Accepted:
		return out
	case found.P > x.alpha:
		out.Why = "neither the dip test nor a gap shows more than one mode with the error rate of alarms"
		return out
	}
	out.Found, out.Why = true, ""
	at := 0
	for _, b := range found.Bands {
		one := x.band(at, at+b.N, d.EffectiveN)
		out.Bands = append(out.Bands, one)
		at += b.N
	}
	out.By = x.explains(found.Cuts, course)
	return out
}

// seed is that of all that is drawn: the same question has the same answer.
const seed = 12

// band describes the sorted values from lo up to before hi.
func (x *examined) band(lo, hi int, effective float64) Band {
	b := Band{N: hi - lo, Share: float64(hi-lo) / float64(len(x.sorted))}
	if b.N == 0 {
		return b
	}
	s, _ := stats.NewSpread(x.sorted[lo:hi]) // without a COV where that is not defined
	b.From, b.To, b.Mean, b.COV = s.Min, s.Max, s.Mean, covOf(x.sorted[lo:hi])
	// As many as they are worth: a share of rows that are alike is known worse.
	n := max(1, int(effective))
	b.ShareCI = interval(stats.Wilson(min(n, int(b.Share*float64(n)+0.5)), n, x.level))
	return b
}

// cutoffs divide the values where the user says.
func (x *examined) cutoffs(at []float64, effective float64) []Cutoff {
	var out []Cutoff
	for _, c := range at {
		k, _ := slices.BinarySearch(x.sorted, c)
		cut := Cutoff{At: c, Lower: x.band(0, k, effective), Upper: x.band(k, len(x.sorted), effective)}
		if k > 0 && k < len(x.sorted) {
			cut.By = x.explains([]float64{c}, nil)
		} else {
			x.doubts.Warn("cutoff", "all values are on one side of the cutoff %v", c)
		}
		out = append(out, cut)
	}
	return out
}

// tells is the Cramér V from which a fact tells anything of the bands.
const tells = 0.3

// factPart is the part of the time between two changes of the level.
const factPart = "time"

// explains is the fact that tells best in which band a value is; of those that
// tell it about as well that with the fewest levels.
func (x *examined) explains(cuts []float64, course *Course) *Explains {
	band := frame.Fact{Levels: make([]string, len(cuts)+2), Codes: make([]uint16, x.f.Len())}
	y := *x // the bands as values, so that they are tested over what is independent
	y.f, y.sorted = &frame.Frame{Values: make([]float64, x.f.Len()), Times: x.f.Times, Facts: x.f.Facts}, []float64{0}
	for i, v := range x.f.Values {
		c := uint16(1)
		for _, cut := range cuts {
			if v >= cut {
				c++
			}
		}
		band.Codes[i], y.f.Values[i] = c, float64(c)
	}
	type candidate struct {
		fact *frame.Fact
		used int
		v    float64
	}
	var all []candidate
	add := func(fact *factor) {
		v := cramer(&band, &fact.Fact)
		if v < tells {
			return
		}
		var e Effect
		if y.test(&e, fact); e.P != nil && *e.P <= x.alpha/float64(len(x.facts)+1) {
			all = append(all, candidate{&fact.Fact, fact.used, v})
		}
	}
	for i := range x.facts {
		if f := &x.facts[i]; f.Name != factDay && f.Name != factWeek {
			add(f)
		}
	}
	if course != nil && len(course.Changes) > 0 {
		part := course.parts(x.f.Len())
		add(&factor{Fact: part, used: len(part.Levels) - 1, known: x.f.Len()})
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.v, a.v) })
	alike := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.v < 0.95*all[0].v })
	slices.SortStableFunc(alike, func(a, b candidate) int { return cmp.Compare(a.used, b.used) })
	first := alike[0]
	out := &Explains{Fact: first.fact.Name, V: first.v}
	for _, c := range alike[1:] {
		if v := cramer(first.fact, c.fact); v >= likeness {
			out.Same = append(out.Same, c.fact.Name)
		}
	}
	out.Levels = mostOf(&band, first.fact)
	return out
}

// mostOf is the level that most values of each band have.
func mostOf(band, fact *frame.Fact) []BandLevel {
	bands := len(band.Levels) - 1
	counts := make([]int, bands*len(fact.Levels))
	totals := make([]int, bands)
	for i, b := range band.Codes {
		counts[int(b-1)*len(fact.Levels)+int(fact.Codes[i])]++
		totals[b-1]++
	}
	out := make([]BandLevel, bands)
	for b := range out {
		most := 0
		for c, n := range counts[b*len(fact.Levels) : (b+1)*len(fact.Levels)] {
			if n > most {
				most = n
				out[b] = BandLevel{fact.Levels[c], float64(n) / float64(totals[b])}
			}
		}
	}
	return out
}
