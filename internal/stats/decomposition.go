package stats

import (
	"errors"
	"fmt"
	"math"
)

// Code is the group of a value as the facts of a frame have it: codes begin at 1,
// and 0 says that the group is not known. int32 is for groups that are more than
// 65,535, such as the hours of ten years.
type Code interface{ ~uint16 | ~int32 }

// Decomposed is where variation comes from: from group to group (day to day), or
// within the groups. All are coefficients of variation.
type Decomposed struct {
	N       int // values in groups
	Unknown int // values without a group (code 0), left out of everything
	Groups  int // groups with at least one value
	Skipped int // groups left out of In: one value, or a mean that is not positive
	All     float64

	// Between is the coefficient of variation (sample SD) of the unweighted group
	// means, In the unweighted mean of the groups' coefficients, as in Tables 3 and
	// 4 of the paper.
	Between, In float64

	// BetweenCorrected and InCorrected are the roots of the variance components,
	// relative to the mean of all values; Share is what the groups make of the sum
	// of both components, 0 to 1 (0 where nothing varies).
	BetweenCorrected, InCorrected, Share float64
}

// Decompose says how much of the variation of values is between groups and how
// much within them; codes are below k (len(Levels) of a frame's fact).
//
// Between and In are those of J. Schad, J. Dittrich and J.-A. Quiané-Ruiz,
// "Runtime measurements in the cloud", PVLDB 3(1), 2010, appendix A. This Between
// is too large: the mean of n noisy values scatters by SD/√n even if no group
// differs from another. The corrected form takes that out, by the components of
// variance of the random effects model (S. R. Searle, G. Casella and C. E.
// McCulloch, Variance Components, 1992, section 3.6): with MSB and MSW the mean
// squares between and within,
//
//	within = MSW,  between = max(0, (MSB − MSW)/n0),  n0 = (N − Σn_i²/N)/(groups − 1).
//
// Errors: ErrLength; ErrArgument for a code outside of 0 to k−1; ErrTooFew where
// fewer than two groups have values; ErrZeroMean where the mean of all values or
// of the group means is not positive. Where no group has two values, the error is
// an ErrTooFew and N to Between are filled: of In nothing can be said.
func Decompose[C Code](values []float64, codes []C, k int) (Decomposed, error) {
	g, err := groupMoments(values, codes, k)
	if err != nil {
		return Decomposed{}, err
	}
	d := Decomposed{N: g.n, Unknown: g.unknown, Groups: g.groups}
	if d.All, err = ratioToMean(math.Sqrt(g.total()/float64(g.n-1)), g.mean); err != nil {
		return Decomposed{}, err
	}
	if err := d.paper(g); err != nil {
		return d, err
	}
	n := float64(g.n)
	var squaredSizes float64
	for _, c := range g.count {
		squaredSizes += float64(c) * float64(c)
	}
	within := g.within / float64(g.n-g.groups)
	n0 := (n - squaredSizes/n) / float64(g.groups-1)
	between := max(0, (g.between/float64(g.groups-1)-within)/n0)
	d.BetweenCorrected = math.Sqrt(between) / g.mean
	d.InCorrected = math.Sqrt(within) / g.mean
	if between > 0 {
		d.Share = between / (between + within)
	}
	_, errBetween := finite(d.BetweenCorrected)
	_, errIn := finite(d.InCorrected)
	return d, errors.Join(errBetween, errIn)
}

// paper fills Between and In.
func (d *Decomposed) paper(g grouped) error {
	var sum, squares, covs float64
	for i, c := range g.count {
		if c > 0 {
			sum += g.means[i]
		}
		if c < 2 || !(g.means[i] > 0) {
			if c > 0 {
				d.Skipped++
			}
			continue
		}
		covs += math.Sqrt(g.squares[i]/float64(c-1)) / g.means[i]
	}
	mean := sum / float64(g.groups)
	for i, c := range g.count {
		if c > 0 {
			squares += (g.means[i] - mean) * (g.means[i] - mean)
		}
	}
	var err error
	if d.Between, err = ratioToMean(math.Sqrt(squares/float64(g.groups-1)), mean); err != nil {
		return err
	}
	if d.Skipped == d.Groups {
		return ErrTooFew
	}
	d.In, err = finite(covs / float64(d.Groups-d.Skipped))
	return err
}

// grouped is what is known of each group, by code, and of all: mean and sums of
// squared distances, about the mean of the group or of the group means about the
// mean of all.
type grouped struct {
	n, unknown, groups int
	count              []int
	means, squares     []float64
	mean               float64
	within, between    float64
}

// total is the sum of squares about the mean of all.
func (g grouped) total() float64 { return g.within + g.between }

// groupMoments passes twice over the values. At least two groups must have some.
func groupMoments[C Code](values []float64, codes []C, k int) (grouped, error) {
	if err := checkCodes(values, codes, k); err != nil {
		return grouped{}, err
	}
	// Distances from a value of the data: sums of large, nearly equal values lose
	// digits.
	origin := values[0]
	sums := SumLevels(values, codes, k, origin)
	g := grouped{count: make([]int, k), means: make([]float64, k), squares: make([]float64, k)}
	g.unknown = len(values)
	var sum float64
	for i := 1; i < k; i++ {
		if n := sums.N[i]; n > 0 {
			g.count[i] = int(n)
			g.groups++
			g.unknown -= g.count[i]
			sum += sums.Sum[i]
			g.means[i] = origin + sums.Sum[i]/n
		}
	}
	g.n = len(values) - g.unknown
	if g.groups < 2 {
		return grouped{}, ErrTooFew
	}
	g.mean = origin + sum/float64(g.n)
	squaresOfLevels(values, codes, g.means, g.squares)
	for i, c := range g.count {
		if c > 0 {
			d := g.means[i] - g.mean
			g.between += float64(c) * d * d
			g.within += g.squares[i]
		}
	}
	_, err := finite(g.total())
	return g, err
}

// LevelSums are how many values each level of a fact has, by code, and the sums of
// their distances from an origin. Squares are those of the distances of all that are
// of a known level, summed.
type LevelSums struct {
	N, Sum  []float64
	Squares float64
}

// SumLevels sums up values by the codes of a fact, which are below levels.
func SumLevels[C Code](values []float64, codes []C, levels int, origin float64) LevelSums {
	s := LevelSums{N: make([]float64, levels), Sum: make([]float64, levels)}
	// Neighbours often have one level: they are summed up before they are added.
	for i := 0; i < len(codes); {
		c, from, sum, squares := codes[i], i, 0.0, 0.0
		for ; i < len(codes) && codes[i] == c; i++ {
			d := values[i] - origin
			sum += d
			squares += d * d
		}
		s.N[c] += float64(i - from)
		s.Sum[c] += sum
		if c != 0 {
			s.Squares += squares
		}
	}
	s.N[0], s.Sum[0] = 0, 0
	return s
}

// squaresOfLevels adds the squares of the distances from the means of the levels.
func squaresOfLevels[C Code](values []float64, codes []C, means, squares []float64) {
	for i := 0; i < len(codes); {
		c, sum := codes[i], 0.0
		for ; i < len(codes) && codes[i] == c; i++ {
			d := values[i] - means[c]
			sum += d * d
		}
		squares[c] += sum
	}
}

// checkCodes checks that there is a code below k for each of some finite values.
func checkCodes[C Code](values []float64, codes []C, k int) error {
	if len(values) != len(codes) {
		return ErrLength
	}
	for i, c := range codes {
		if uint(int(c)) >= uint(k) { //nolint:gosec // a code below 0 is a large number
			return fmt.Errorf("code %d of value %d, want 0 to %d: %w", c, i, k-1, ErrArgument)
		}
	}
	return check(values, 2)
}
