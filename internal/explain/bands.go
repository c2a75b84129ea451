package explain

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// BandSearch is whether the values fall into bands, by Hartigan's dip test, or
// a gap, and a mixture in the logarithm (docs/methods.md).
type BandSearch struct {
	Found bool     `json:"found"`
	P     *float64 `json:"p"`             // of dip test and gap; null where they were not made
	Why   string   `json:"why,omitempty"` // none were found, or looked for
	Bands []Band   `json:"bands,omitempty"`
	// Step is that in which the values were recorded, or where StepOfReciprocal is
	// set 1 over the values, as those of rates from durations in clock ticks; null:
	// finer than matters. No band is seen within a step.
	Step             *float64 `json:"step"`
	StepOfReciprocal bool     `json:"step_of_reciprocal,omitempty"`
	// By is the fact that explains best in which band a value is; null: none does.
	By *Explains `json:"explained_by"`
}

// Band is a part of the values between two gaps.
type Band struct {
	From    float64   `json:"from"` // least and greatest value in it; null of none, as the mean
	To      float64   `json:"to"`
	N       int       `json:"n"`
	Share   float64   `json:"share"`
	ShareCI *Interval `json:"share_ci"` // Wilson
	Mean    float64   `json:"mean"`
	COV     *float64  `json:"cov"`
}

// MarshalJSON has no ends and no mean of a band without values.
func (b Band) MarshalJSON() ([]byte, error) {
	type plain Band
	if b.N > 0 {
		return json.Marshal(plain(b)) //nolint:wrapcheck // as json does
	}
	return json.Marshal(struct { //nolint:wrapcheck // as json does
		plain
		From *float64 `json:"from"`
		To   *float64 `json:"to"`
		Mean *float64 `json:"mean"`
	}{plain: plain(b)})
}

// Cutoff is two bands divided by a value, as in Table 2 of the paper: those
// strictly below it, and the others.
type Cutoff struct {
	At    float64   `json:"at"`
	Lower Band      `json:"lower"`
	Upper Band      `json:"upper"`
	By    *Explains `json:"explained_by"`
}

// Explains is how well a fact tells the band.
type Explains struct {
	Fact string `json:"fact"`
	// V is Cramér's, corrected for bias: 1 where the fact tells the band, 0 where it
	// tells nothing.
	V float64 `json:"cramers_v"`
	// Levels are those of each band that are in it most, with their share of it.
	Levels []BandLevel `json:"levels,omitempty"`
	// Same are facts that tell it as well, and cannot be told apart from this one.
	Same []string `json:"same,omitempty"`
}

// BandLevel is the level that most values of a band have.
type BandLevel struct {
	Level string  `json:"level"`
	Share float64 `json:"share"` // of the band's values
}

// Bands looks for bands, and for the fact that tells them. Where the level changed
// in time, which part of the time a value is of may be that.
func (x *Rows) Bands(d Dependence, course *Course) BandSearch {
	found, err := stats.FindBands(x.Sorted, d.EffectiveN, seed)
	if err != nil {
		return BandSearch{Why: err.Error()}
	}
	out := BandSearch{P: num.IfFinite(found.P), Why: found.Why, StepOfReciprocal: found.OfReciprocal}
	if found.Step > 0 {
		out.Step = num.IfFinite(found.Step)
	}
	switch {
	case len(found.Cuts) == 0:
		return out
	case found.P > x.Alpha:
		out.Why = "neither the dip test nor a gap shows more than one mode with the error rate of alarms"
		return out
	}
	out.Found, out.Why = true, ""
	from := 0
	for _, cut := range append(slices.Clone(found.Cuts), math.Inf(1)) {
		if to, _ := slices.BinarySearch(x.Sorted, cut); to > from {
			out.Bands, from = append(out.Bands, x.band(from, to, d.EffectiveN)), to
		}
	}
	out.By = x.explains(found.Cuts, course)
	return out
}

// seed is that of all that is drawn: the same question has the same answer.
const seed = 12

// band describes the sorted values from lo up to before hi.
func (x *Rows) band(lo, hi int, effective float64) Band {
	b := Band{N: hi - lo, Share: float64(hi-lo) / float64(len(x.Sorted))}
	if b.N == 0 {
		return b
	}
	s, _ := stats.NewSpread(x.Sorted[lo:hi]) // without a COV where that is not defined
	b.From, b.To, b.Mean, b.COV = s.Min, s.Max, s.Mean, covOf(x.Sorted[lo:hi])
	// As many as they are worth: a share of rows that are alike is known worse.
	n := max(1, int(effective))
	b.ShareCI = interval(stats.Wilson(min(n, int(b.Share*float64(n)+0.5)), n, x.Level))
	return b
}

// Cut divides the values where the user says; effective is of how many independent
// ones. Where one side is empty nothing explains the bands.
func (x *Rows) Cut(at, effective float64) Cutoff {
	k, _ := slices.BinarySearch(x.Sorted, at)
	cut := Cutoff{At: at, Lower: x.band(0, k, effective), Upper: x.band(k, len(x.Sorted), effective)}
	if k > 0 && k < len(x.Sorted) {
		cut.By = x.explains([]float64{at}, nil)
	}
	return cut
}

// tells is the Cramér V from which a fact tells anything of the bands.
const tells = 0.3

// factPart is the part of the time between two changes of the level.
const factPart = "time"

// explains is the fact that tells best in which band a value is; of those that
// tell it about as well that with the fewest levels.
func (x *Rows) explains(cuts []float64, course *Course) *Explains {
	band := frame.Fact{Levels: make([]string, len(cuts)+2), Codes: make([]uint16, x.Frame.Len())}
	if x.divisions == nil { // Effects were not asked
		x.divide()
	}
	// the bands as values, so that they are tested over what is independent
	y := x.withValues(make([]float64, x.Frame.Len()))
	y.Sorted, y.divisions = []float64{0}, x.divisions
	for i, v := range x.Frame.Values {
		c := uint16(1)
		for _, cut := range cuts {
			if v >= cut {
				c++
			}
		}
		band.Codes[i], y.Frame.Values[i] = c, float64(c)
	}
	type candidate struct {
		fact *frame.Fact
		used int
		v    float64
	}
	var all []candidate
	add := func(fact *Fact) {
		if v := cramer(&band, &fact.Fact); v >= tells && y.differBy(fact, x.Alpha/float64(len(x.facts)+1)) {
			all = append(all, candidate{&fact.Fact, fact.Used, v})
		}
	}
	for i := range x.facts {
		if f := &x.facts[i]; f.Name != FactDay && f.Name != FactWeek {
			add(f)
		}
	}
	if course != nil && len(course.Changes) > 0 {
		part := course.parts(x.Frame.Len())
		add(&Fact{Fact: part, Used: len(part.Levels) - 1, Known: x.Frame.Len()})
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
