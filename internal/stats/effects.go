package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Effect is how much of the variance of values a fact explains.
type Effect struct {
	N       int // values with a known level
	Unknown int // values without (code 0), left out
	Levels  int // levels with at least one value

	// Eta2 is the share of the variance that lies between the levels, 0 to 1. By
	// chance alone it is about (Levels−1)/N. Omega2 is the same without what chance
	// gives, at least 0: compare facts by it.
	Eta2, Omega2 float64
	// F is the ratio of the mean squares; MaxFloat64 where nothing varies within
	// the levels. P is the probability of that F if the fact explains nothing.
	F, P float64
	// CI is the interval of the population's η², its share without what chance gives.
	CI Interval
}

// EtaSquared says how much of the variance of values a fact explains: one-way
// analysis of variance, η² and ω² (W. L. Hays, Statistics, 1994, chapter 10). codes
// are below levels (len(Levels) of a frame's fact); code 0 is left out. level is that
// of the interval.
//
// The interval is that by inverting the noncentral F distribution (J. H. Steiger,
// "Beyond the F test", Psychological Methods 9(2), 2004), which supposes normal
// values of equal spread and groups of fixed size, widened to what the influence
// function of η² gives without these (P. J. Huber, Robust Statistics, 1981,
// section 1.5), on the scale of Fisher's z. docs/methods.md shows how often it
// holds the truth at 95 %.
//
// Errors: ErrTooFew below two levels, or with no level of two values; ErrNoSpread
// where all values are equal; ErrLength, ErrArgument, ErrNotFinite.
func EtaSquared(values []float64, codes []uint16, levels int, level float64) (Effect, error) {
	g, err := groupMoments(values, codes, levels)
	if err != nil {
		return Effect{}, err
	}
	total, d1, d2 := g.total(), float64(g.groups-1), float64(g.n-g.groups)
	switch {
	case d2 < 1:
		return Effect{}, ErrTooFew
	case total == 0:
		return Effect{}, ErrNoSpread
	}
	e := Effect{N: g.n, Unknown: g.unknown, Levels: g.groups, Eta2: g.between / total}
	if g.within <= total*noSpread {
		e.Eta2, e.Omega2, e.F, e.CI = 1, 1, math.MaxFloat64, Interval{1, 1}
		return e, nil
	}
	meanWithin := g.within / d2
	e.F = g.between / d1 / meanWithin
	e.P = FTail(e.F, d1, d2)
	e.Omega2 = max(0, (g.between-d1*meanWithin)/(total+meanWithin))
	e.CI, err = e.interval(etaError(values, codes, g), level)
	return e, err
}

// WelchANOVA returns the p of the levels having the same mean, however their
// spreads differ (B. L. Welch, "On the comparison of several mean values: an
// alternative approach", Biometrika 38, 1951), where each value tells as much as
// worth independent ones, more than 0 and at most 1. The p of [EtaSquared] supposes
// that all levels have one spread: of ten values with ten times the spread of 490
// others, it finds a difference in two of three samples without any.
//
// A level that is worth fewer than two values, or does not vary, counts with the
// spread within all levels. Of levels with two or three values the p is too small:
// take the larger one of both tests. Errors as of EtaSquared, and ErrNoSpread where
// nothing varies within the levels.
func WelchANOVA(values []float64, codes []uint16, levels int, worth float64) (p float64, err error) {
	g, err := groupMoments(values, codes, levels)
	if err != nil {
		return 0, err
	}
	k, rest := float64(g.groups), float64(g.n)*worth-float64(g.groups)
	switch {
	case !(worth > 0 && worth <= 1):
		return 0, ErrArgument
	case !(rest > 0) || g.n == g.groups:
		return 0, ErrTooFew
	case g.within <= g.total()*noSpread:
		return 0, ErrNoSpread
	}
	weights, degrees := make([]float64, len(g.count)), make([]float64, len(g.count))
	var sum, mean float64
	for i, c := range g.count {
		if c == 0 {
			continue
		}
		n := float64(c) * worth
		variance := g.within / float64(g.n-g.groups)
		if degrees[i] = rest; n >= 2 && g.squares[i] > 0 {
			variance, degrees[i] = g.squares[i]/float64(c-1), n-1
		}
		weights[i] = n / variance
		sum += weights[i]
		mean += weights[i] * (g.means[i] - g.mean)
	}
	mean = g.mean + mean/sum
	var between, lambda float64
	for i, w := range weights {
		if w > 0 {
			d := g.means[i] - mean
			between += w * d * d
			lambda += (1 - w/sum) * (1 - w/sum) / degrees[i]
		}
	}
	lambda /= k*k - 1
	f := between / (k - 1) / (1 + 2*(k-2)*lambda)
	return finite(FTail(f, k-1, 1/(3*lambda)))
}

// etaError is the standard error of η² by its influence function.
func etaError[C Code](values []float64, codes []C, g grouped) float64 {
	total := g.total()
	share := g.within / total
	var squares float64
	for i, c := range codes {
		if c == 0 {
			continue
		}
		d, w := values[i]-g.mean, values[i]-g.means[c]
		influence := (share*d*d - w*w) / (total / float64(g.n))
		squares += influence * influence
	}
	return math.Sqrt(squares) / float64(g.n)
}

// interval is the wider of both intervals, on either side.
func (e Effect) interval(standardError, level float64) (Interval, error) {
	z, err := NormalCritical(level)
	if err != nil {
		return Interval{}, err
	}
	iv := Interval{e.noncentral((1 + level) / 2), e.noncentral((1 - level) / 2)}
	if e.Omega2 > 0 && e.Omega2 < 1 {
		root := math.Sqrt(e.Omega2)
		reach := z * standardError / (2 * root * (1 - e.Omega2))
		lo, hi := max(0, math.Tanh(math.Atanh(root)-reach)), math.Tanh(math.Atanh(root)+reach)
		iv.Lo, iv.Hi = min(iv.Lo, lo*lo), max(iv.Hi, hi*hi)
	}
	return iv, nil
}

// noncentral is the share λ/(λ+N) of which this or a smaller F has probability p.
func (e Effect) noncentral(p float64) float64 {
	d1, d2 := float64(e.Levels-1), float64(e.N-e.Levels)
	below := func(share float64) bool {
		return noncentralF(e.F, d1, d2, float64(e.N)*share/(1-share)) > p
	}
	lo, hi := 0.0, 1.0
	if !below(0) {
		return 0
	}
	for range 40 {
		middle := (lo + hi) / 2
		if below(middle) {
			lo = middle
		} else {
			hi = middle
		}
	}
	return (lo + hi) / 2
}

// Spearman returns the correlation of the ranks of at least three pairs, equal
// values sharing theirs, and its two-sided p: of up to eight pairs the share of all
// orders that are as close, of more by the t approximation (M. G. Kendall and J. D.
// Gibbons, Rank Correlation Methods, 1990), and of one order throughout 2/n!, not its 0.
// Errors as [Pearson].
func Spearman(x, y []float64) (rho, p float64, err error) {
	if err := checkPairs(x, y, 3); err != nil {
		return 0, 0, err
	}
	a, b := ranks(x), ranks(y)
	switch rho, p, err = Pearson(a, b); {
	case err != nil:
		return rho, p, err
	case len(x) <= mostOrders:
		p = ordersAsClose(a, b)
	case math.Abs(rho) == 1:
		p = 2 / math.Gamma(float64(len(x))+1)
	}
	return rho, p, nil
}

// mostOrders is up to how many pairs all orders are counted.
const mostOrders = 8

// ordersAsClose is the share of all orders of the ranks y that go as closely with x, or
// against it. Ranks are halves, so that sums of their products have no error.
func ordersAsClose(x, y []float64) float64 {
	y = slices.Clone(y)
	centre := float64(len(x)) * mean(x) * mean(y)
	distance := func() float64 {
		sum := -centre
		for i := range x {
			sum += x[i] * y[i]
		}
		return math.Abs(sum)
	}
	observed, reached, all := distance(), 0.0, 0.0
	var order func(from int)
	order = func(from int) {
		if from == len(y) {
			if all++; distance() >= observed {
				reached++
			}
			return
		}
		for i := from; i < len(y); i++ {
			y[from], y[i] = y[i], y[from]
			order(from + 1)
			y[from], y[i] = y[i], y[from]
		}
	}
	order(0)
	return reached / all
}

// SpearmanOfSeries is [Spearman] of two series in the order of time, at least five
// pairs. Where both depend on their own past, n pairs tell less than n independent
// ones of whether they are related:
//
//	n·(1 − r·s)/(1 + r·s),  no more than n,
//
// r and s the autocorrelations of their ranks at lag 1 (M. S. Bartlett, "Some
// aspects of the time-correlation problem in regard to tests of significance", J. R.
// Stat. Soc. 98(3), 1935; D. R. Dawdy and N. C. Matalas in V. T. Chow, Handbook of
// Applied Hydrology, 1964, section 8-III), each corrected for its bias, (1+3r)/n (F.
// H. C. Marriott and J. A. Pope, "Bias in the estimation of autocorrelations",
// Biometrika 41, 1954). Neighbours are supposed to be alike as those of an AR(1)
// process. Returned as effective; p is 1 where it leaves less than one degree of
// freedom. Of one order throughout it is 2/effective!, not the 0 of the t
// approximation: five pairs are in order by chance once in sixty times.
func SpearmanOfSeries(x, y []float64) (rho, p, effective float64, err error) {
	if err := checkPairs(x, y, 5); err != nil {
		return 0, 0, 0, err
	}
	if rho, _, err = Spearman(x, y); err != nil {
		return 0, 0, 0, err
	}
	n, product := float64(len(x)), 1.0
	for _, xs := range [][]float64{x, y} {
		r, err := ACF(ranks(xs), 1)
		if err != nil {
			return 0, 0, 0, err
		}
		product *= min(1, max(-1, (n*r[1]+1)/(n-3)))
	}
	effective = min(n, n*(1-product)/(1+product))
	nu := effective - 2
	switch {
	case nu < 1:
		p = 1
	case 1-math.Abs(rho) < noSpread:
		p = min(1, 2/math.Gamma(effective+1)) // of n! orders two
	default:
		p = tTails(rho*math.Sqrt(nu/((1-rho)*(1+rho))), nu)
	}
	return rho, p, effective, nil
}

// leastPairs is how many independent pairs a rank correlation with an interval is
// worth.
const leastPairs = 5

// SpearmanInterval returns the interval at this level for a rank correlation of n
// pairs that are worth so many independent ones, by Fisher's z with the variance
// (1+ρ²/2)/(effective−3) (D. G. Bonett and T. A. Wright, "Sample size requirements
// for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65(1),
// 2000). Where the order is the same throughout, it begins half a step below, a
// step being what two neighbours make that change places: some pairs in order are no
// proof that all are. Errors: ErrTooFew where they are worth fewer than five;
// ErrArgument.
func SpearmanInterval(rho float64, n int, effective, level float64) (Interval, error) {
	z, err := NormalCritical(level)
	switch {
	case err != nil || !(math.Abs(rho) <= 1) || !(effective <= float64(n)):
		return Interval{}, ErrArgument
	case effective < leastPairs:
		return Interval{}, ErrTooFew
	}
	most := 1 - 6/(float64(n)*(float64(n)*float64(n)-1))
	centre := math.Atanh(max(-most, min(most, rho)))
	half := z * math.Sqrt((1+rho*rho/2)/(effective-3))
	iv := Interval{math.Tanh(centre - half), math.Tanh(centre + half)}
	if 1-math.Abs(rho) < noSpread {
		iv.Lo, iv.Hi = min(iv.Lo, rho), max(iv.Hi, rho)
	}
	return iv, nil
}

// Pearson returns the correlation of at least three pairs, and the two-sided p of no relation by the
// t test. Where all pairs lie on a line, r is ±1 and p is 0. Errors: ErrNoSpread where either does
// not vary; ErrTooFew, ErrLength, ErrNotFinite.
func Pearson(x, y []float64) (r, p float64, err error) {
	if err := checkPairs(x, y, 3); err != nil {
		return 0, 0, err
	}
	if constant(x) || constant(y) {
		return 0, 0, ErrNoSpread
	}
	xs, _ := scaled(x)
	ys, _ := scaled(y)
	r = max(-1, min(1, stat.Correlation(xs, ys, nil)))
	if 1-math.Abs(r) < noSpread {
		return math.Copysign(1, r), 0, nil
	}
	nu := float64(len(x) - 2)
	r, err = finite(r)
	return r, tTails(r*math.Sqrt(nu/((1-r)*(1+r))), nu), err
}

func constant(xs []float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return x != xs[0] })
}

// Wilson returns the interval at this level for a share of which k of n are seen
// (E. B. Wilson, "Probable inference, the law of succession, and statistical
// inference", J. Am. Stat. Assoc. 22(158), 1927). Errors: ErrTooFew of n < 1,
// ErrArgument.
func Wilson(k, n int, level float64) (Interval, error) {
	if n < 1 {
		return Interval{}, ErrTooFew
	}
	z, err := NormalCritical(level)
	if err != nil || k < 0 || k > n {
		return Interval{}, ErrArgument
	}
	return wilsonAt(float64(k)/float64(n), float64(n), z), nil
}

// CramersV returns how closely two facts belong together, 0 to 1, corrected for
// what chance gives (W. Bergsma, "A bias-correction for Cramér's V and Tschuprow's
// T", J. Korean Stat. Soc. 42(3), 2013), and p of Pearson's χ² test of
// independence, which is good where most expected counts are 5 or more. Codes are
// below la and lb; rows with a code 0 are left out. Errors: ErrTooFew where either
// has fewer than two levels, ErrLength, ErrArgument.
func CramersV(a, b []uint16, la, lb int) (v, p float64, err error) {
	if len(a) != len(b) {
		return 0, 0, ErrLength
	}
	cells, err := countPairs(a, b, la, lb)
	if err != nil {
		return 0, 0, err
	}
	rows, columns := make([]float64, la), make([]float64, lb)
	var n float64
	for _, c := range cells {
		rows[c.a] += c.count
		columns[c.b] += c.count
		n += c.count
	}
	r, c := positive(rows), positive(columns)
	if r < 2 || c < 2 {
		return 0, 0, ErrTooFew
	}
	phi2 := -1.0
	for _, c := range cells {
		phi2 += c.count / rows[c.a] * (c.count / columns[c.b])
	}
	phi2 = max(0, phi2)
	corrected := max(0, phi2-(r-1)*(c-1)/(n-1))
	if most := min(r-(r-1)*(r-1)/(n-1), c-(c-1)*(c-1)/(n-1)) - 1; most > 0 {
		v = min(1, math.Sqrt(corrected/most))
	}
	return v, distuv.ChiSquared{K: (r - 1) * (c - 1)}.Survival(n * phi2), nil
}

// cell is how often two codes occur together.
type cell struct {
	a, b  uint16
	count float64
}

// countPairs counts the rows of each pair of known codes that occurs, in the order
// of the codes.
func countPairs(a, b []uint16, la, lb int) ([]cell, error) {
	for i, x := range a {
		if int(x) >= la || int(b[i]) >= lb {
			return nil, ErrArgument
		}
	}
	if la*lb <= max(1<<10, len(a)) {
		return tabled(a, b, la, lb), nil
	}
	keys := make([]uint32, 0, len(a))
	for i, x := range a {
		if x != 0 && b[i] != 0 {
			keys = append(keys, uint32(x)<<16|uint32(b[i]))
		}
	}
	slices.Sort(keys)
	var cells []cell
	for i, k := range keys {
		if i == 0 || k != keys[i-1] {
			cells = append(cells, cell{a: uint16(k >> 16), b: uint16(k)}) //nolint:gosec // the halves of 32 bits
		}
		cells[len(cells)-1].count++
	}
	return cells, nil
}

// tabled is countPairs by a table of all pairs, where these are no more than rows.
func tabled(a, b []uint16, la, lb int) []cell {
	table := make([]int, la*lb)
	for i, x := range a {
		table[int(x)*lb+int(b[i])]++
	}
	var cells []cell
	for k, n := range table {
		if x, y := k/lb, k%lb; n > 0 && x > 0 && y > 0 {
			cells = append(cells, cell{uint16(x), uint16(y), float64(n)}) //nolint:gosec // codes
		}
	}
	return cells
}

// positive is how many counts are not 0.
func positive(counts []float64) float64 {
	var n float64
	for _, c := range counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// ranks are the ranks of values from 1, equal ones sharing theirs.
func ranks(xs []float64) []float64 {
	sorted, rows := SortRows(xs)
	out := make([]float64, len(xs))
	for i, j := 0, 0; i < len(xs); i = j {
		for ; j < len(xs) && sorted[j] == sorted[i]; j++ {
		}
		for _, row := range rows[i:j] {
			out[row] = float64(i+j+1) / 2
		}
	}
	return out
}
