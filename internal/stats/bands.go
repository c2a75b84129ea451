package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// Bands are the bands of one metric, ascending.
type Bands struct {
	// Cuts are between them, in the unit of the values; a value that equals one belongs to the band above
	// it. There are none where there is one band: then Why says in plain words what speaks against more.
	Cuts []float64
	Why  string
	// DipP is the p of the dip test of all values, GapP that of the widest gap (see
	// [FindBands]), and P that of both together: no band is accepted unless P < .05.
	DipP, GapP, P float64
	// Step is that in which the values were recorded, or where OfReciprocal their
	// reciprocals; 0: finer than matters. Within a step no band is seen.
	Step         float64
	OfReciprocal bool
}

// What bands must show (shared by FindBands and its explanation).
const (
	bandP          = .05 // of all, and of each two neighbours
	dipPart        = .5  // of bandP is for the dip test, the rest for that of the gap
	bandShare      = .05 // the smallest band
	bandAshman     = 2   // of neighbours
	fewestForBands = 10
	// bandPoints is how many quantiles stand for the values in a fit.
	bandPoints = 512
	// bandDraws is how many samples are drawn for a p at most, and bandEnough how
	// many of them are as far from one mode as the values when p is known.
	bandDraws, bandEnough = 1000, 60
)

// FindBands divides at least one ascending value into bands, as section 6.1 of J.
// Schad, J. Dittrich and J.-A. Quiané-Ruiz, "Runtime measurements in the cloud",
// VLDB 2010, does by eye. Normal distributions are fitted to the logarithms, as
// many as BIC prefers; components that together make one mode are joined (C.
// Hennig, "Methods for merging Gaussian mixture components", Adv. Data Anal.
// Classif. 4, 2010), and between two bands the cut is where the values are as
// likely from either. Bands count only where
//
//   - the dip test (see [dipP]), or a gap, shows of all values, and of each two
//     neighbours, more than one mode with p < .05, so that one band of any form with
//     a single mode is seldom divided. The dip sees bands of like size; a small band
//     far from all others leaves a gap;
//   - each has at least 5 % of the values; components with less are outliers, which
//     make no band and count with the one on their side;
//   - neighbours are apart by Ashman's D = √2·|μ1−μ2|/√(σ1²+σ2²) > 2 (K. M. Ashman,
//     C. M. Bird and S. E. Zepf, Astron. J. 108, 1994).
//
// Values that a clock with ticks, or rounding, put on a lattice ([latticeOf]) are
// spread over its steps, since each step would be a mode of its own. Values
// tell as much as worth independent ones, at most their number: of a series in which
// neighbours are alike, chance makes heaps. Errors: ErrTooFew, ErrNotFinite,
// ErrArgument.
func FindBands(sorted []float64, worth float64, seed uint64) (Bands, error) {
	if err := checkSorted(sorted, 1); err != nil {
		return Bands{}, fmt.Errorf("bands: %w", err)
	}
	if !(worth > 0 && worth <= float64(len(sorted))) {
		return Bands{}, fmt.Errorf("bands: %d values cannot be worth %v: %w", len(sorted), worth, ErrArgument)
	}
	out := Bands{DipP: 1, GapP: 1, P: 1}
	if worth < fewestForBands {
		out.Why = fmt.Sprintf("%.0f independent values are too few to tell bands: %d are needed", worth, fewestForBands)
		return out, nil
	}
	s, ok := newSeeker(sorted, worth, seed)
	if !ok {
		out.Why = "all values are equal"
		return out, nil
	}
	out.Step, out.OfReciprocal = s.recorded.step, s.recorded.reciprocal
	out.DipP, out.GapP = s.dipP(0, len(sorted)), s.gapP(0, len(sorted))
	out.P = bothP(out.DipP, out.GapP)
	groups := s.groups(&out)
	if len(groups) == 1 {
		out.Why += s.recorded.words()
		return out, nil
	}
	out.Why = ""
	for i := range groups[1:] {
		out.Cuts = append(out.Cuts, s.original(cutBetween(groups[i], groups[i+1])))
	}
	return out, nil
}

// seeker looks for bands in values that were spread, of which logarithms were
// taken, and that were brought to mean 0 and deviation 1.
type seeker struct {
	values   []float64
	log      bool
	mean, sd float64
	recorded lattice // on which the values were recorded
	worth    float64 // of all values
	seed     uint64
}

// newSeeker reports false if there is nothing to tell apart.
func newSeeker(sorted []float64, worth float64, seed uint64) (*seeker, bool) {
	s := &seeker{log: sorted[0] > 0, worth: worth, seed: seed, recorded: latticeOf(sorted, finestStep)}
	s.values = s.recorded.spread(sorted)
	if s.log {
		for i, x := range s.values {
			s.values[i] = math.Log(x)
		}
	}
	s.mean, s.sd = stat.PopMeanStdDev(s.values, nil)
	if s.values[0] == s.values[len(s.values)-1] || !(s.sd > noSpread*math.Abs(s.mean)) || math.IsInf(s.sd, 1) {
		return nil, false
	}
	for i, x := range s.values {
		s.values[i] = (x - s.mean) / s.sd
	}
	return s, true
}

// original takes a place back to the unit of the values.
func (s *seeker) original(z float64) float64 {
	x := s.mean + z*s.sd
	if s.log {
		return math.Exp(x)
	}
	return x
}

// dipP is the p of the values from index lo up to before hi.
func (s *seeker) dipP(lo, hi int) float64 {
	part := s.values[lo:hi]
	worth := s.worth * float64(len(part)) / float64(len(s.values))
	if worth < 4 {
		return 1
	}
	return dipP(dipOf(part), worth, bandDraws, bandEnough, s.seed)
}

// gapP is the p of the widest gap between the values from index lo up to before
// hi, with at least a band's share on either side. Where the density falls away
// from its one mode, a gap on the way is followed by values that lie even wider
// apart: of j values beyond it, all but the farthest lie as if drawn from no more
// than the gap and what they span, and leave the gap free with the chance
// (1−g)^(j−1) at most, g the gap's share of that. With one mode that holds on one
// side of the gap at least, so that the larger p counts. There are as many gaps as
// values: each p is multiplied by the number of values on the lesser side, and by
// the sum of its inverses over all gaps (a weighted Bonferroni correction, for the
// least p that few values can have is large). The farthest tenth on either side is
// left out: a few outliers say nothing of how wide a band is.
func (s *seeker) gapP(lo, hi int) float64 {
	xs := s.values[lo:hi]
	each := s.worth / float64(len(s.values))
	least := max(2, int(math.Ceil(bandShare*float64(len(s.values)))))
	best, inverses := 0.0, 0.0 // best is the logarithm of the least p
	for i := least; i <= len(xs)-least; i++ {
		gap, lesser := xs[i]-xs[i-1], float64(min(i, len(xs)-i))
		inverses += 1 / lesser
		if !(gap > 0) {
			continue
		}
		beyond := func(j int, far float64) float64 {
			return max(0, float64(j)*each-1) * math.Log(max(far/(gap+far), math.SmallestNonzeroFloat64))
		}
		below, above := i-i/10, len(xs)-i-(len(xs)-i)/10
		p := max(beyond(below, xs[i-1]-xs[i-below]), beyond(above, xs[i+above-1]-xs[i]))
		best = min(best, p+math.Log(max(1, lesser*each)))
	}
	return min(1, math.Exp(best)*max(1, inverses))
}

// bothP is the p of two tests of which one suffices, by their parts of the error
// rate.
func bothP(dip, gap float64) float64 { return min(1, dip/dipPart, gap/(1-dipPart)) }

func oneMode(p float64) string {
	return fmt.Sprintf("neither the dip test nor a gap shows more than one mode (p = %.2g)", p)
}

// groups are the components of the best mixture, joined until they are bands. If
// only one is left though the values show several modes, it is the two sides of
// that division which is the widest: of three components, two that are alike may
// have been joined last, and be as wide as the gap to the third. Or there are
// fewer components. Why is that of the best.
func (s *seeker) groups(out *Bands) []mixture {
	fits, bic := fitMixtures(quantilePoints(s.values, bandPoints), s.worth)
	best := slices.Index(bic, slices.Min(bic))
	groups := s.large(fits[best], out)
	halves := widest(groups)
	if s.bands(out, &groups) {
		return groups
	}
	why := out.Why
	for k := best; k > 0 && out.P < bandP; k-- {
		if s.bands(out, &halves) {
			return halves
		}
		groups = s.large(fits[k-1], out)
		halves = widest(groups)
		if s.bands(out, &groups) {
			return groups
		}
	}
	if out.Why = why; best > 0 && out.P >= bandP {
		out.Why = oneMode(out.P)
	}
	return make([]mixture, 1)
}

// widest makes two groups of several, divided where Ashman's D is the largest.
func widest(groups []mixture) (halves []mixture) {
	most := 0.0
	for i := 1; i < len(groups); i++ {
		a, b := slices.Concat(groups[:i]...), slices.Concat(groups[i:]...)
		if d := ashman(a.whole(), b.whole()); d > most {
			most, halves = d, []mixture{a, b}
		}
	}
	return halves
}

// bands joins groups until they are bands; it reports whether several are left.
func (s *seeker) bands(out *Bands, groups *[]mixture) bool {
	for len(*groups) > 1 && !s.stand(out, groups) {
	}
	return len(*groups) > 1
}

// large returns the components of a mixture, each a group of its own, without
// those that are outliers.
func (s *seeker) large(fit mixture, out *Bands) []mixture {
	out.Why = "one normal distribution describes the values best (BIC)"
	if len(fit) > 1 {
		out.Why = "all but one part have less than 5 % of the values"
	}
	slices.SortFunc(fit, func(a, b component) int { return cmp.Compare(a.mean, b.mean) })
	var groups []mixture
	for _, c := range fit {
		if c.share >= bandShare {
			groups = append(groups, mixture{c})
		}
	}
	return groups
}

// stand reports whether the groups are bands; if not, it joins the two
// neighbours that are least so, and says why.
func (s *seeker) stand(out *Bands, groups *[]mixture) bool {
	gs := *groups
	bounds := []int{0}
	weakest, least := -1, math.Inf(1)
	for i := range gs[1:] {
		a, b := gs[i].whole(), gs[i+1].whole()
		if d := ashman(a, b); d < least {
			weakest, least = i, d
		}
		cut := cutBetween(gs[i], gs[i+1])
		bounds = append(bounds, sort.SearchFloat64s(s.values, cut))
	}
	bounds = append(bounds, len(s.values))
	if !(least > bandAshman) {
		out.Why = fmt.Sprintf("the groups overlap: Ashman's D is %.2g, bands need more than %d", least, bandAshman)
		*groups = join(gs, weakest)
		return false
	}
	for i := range gs {
		if share := float64(bounds[i+1]-bounds[i]) / float64(len(s.values)); share < bandShare {
			out.Why = fmt.Sprintf("a group has %.2g %% of the values, a band needs 5 %%", 100*share)
			*groups = join(gs, min(i, len(gs)-2))
			return false
		}
	}
	weakest, most := -1, 0.0
	for i := range gs[1:] {
		p := out.P
		if len(gs) > 2 {
			p = bothP(s.dipP(bounds[i], bounds[i+2]), s.gapP(bounds[i], bounds[i+2]))
		}
		if p > most {
			weakest, most = i, p
		}
	}
	if most < bandP {
		return true
	}
	out.Why = oneMode(most)
	*groups = join(gs, weakest)
	return false
}

// join makes one group of i and the next.
func join(groups []mixture, i int) []mixture {
	joined := append(slices.Clone(groups[i]), groups[i+1]...)
	return slices.Replace(groups, i, i+2, joined)
}

// ashman is D of two components.
func ashman(a, b component) float64 {
	return math.Sqrt2 * math.Abs(a.mean-b.mean) / math.Hypot(a.sd, b.sd)
}

// cutBetween returns the place between the means of two groups where a value is
// as likely from either.
func cutBetween(a, b mixture) float64 {
	wa, wb := a.whole(), b.whole()
	lo, hi := wa.mean, wb.mean
	above := func(x float64) bool { return b.logDensity(x) > a.logDensity(x) }
	if above(lo) || !above(hi) { // one is likelier at both means: by deviations
		return lo + (hi-lo)*wa.sd/(wa.sd+wb.sd)
	}
	for range 60 {
		if mid := lo + (hi-lo)/2; above(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// quantilePoints returns at most so many values that stand for all.
func quantilePoints(sorted []float64, most int) []float64 {
	if len(sorted) <= most {
		return sorted
	}
	out := make([]float64, most)
	for i := range out {
		out[i] = sorted[int((float64(i)+.5)*float64(len(sorted))/float64(most))]
	}
	return out
}
