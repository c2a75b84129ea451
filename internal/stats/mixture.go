package stats

import (
	"math"
	"slices"
)

// component is one normal distribution of a mixture.
type component struct{ share, mean, sd float64 }

// mixture is a sum of normal distributions, the shares of which make 1.
type mixture []component

// logDensity is the logarithm of the density at x, which does not vanish between
// narrow components far apart.
func (m mixture) logDensity(x float64) float64 {
	most := math.Inf(-1)
	var terms [mostComponents]float64
	for j, c := range m {
		terms[j] = c.logDensity(x)
		most = max(most, terms[j])
	}
	sum := 0.0
	for j := range m {
		sum += math.Exp(terms[j] - most)
	}
	return most + math.Log(sum) - logRoot2Pi
}

const logRoot2Pi = 0.91893853320467274178

// whole is the one component with the mixture's share, mean and deviation.
func (m mixture) whole() component {
	var out component
	for _, c := range m {
		out.share += c.share
		out.mean += c.share * c.mean
	}
	out.mean /= out.share
	variance := 0.0
	for _, c := range m {
		d := c.mean - out.mean
		variance += c.share * (c.sd*c.sd + d*d)
	}
	out.sd = math.Sqrt(variance / out.share)
	return out
}

const (
	mostComponents = 8
	leastDeviation = 1e-3 // of a component, as a share of that of all values
	// Of several starts, the one that is best after so many steps is followed, to
	// at most so many, until a step gains less than this of log-likelihood per value.
	firstSteps, mostSteps = 10, 500
	leastGain             = 1e-7
)

// fitMixtures fits 1 to 8 normal distributions to ascending values with mean 0
// and deviation 1, by expectation and maximisation (A. P. Dempster, N. M. Laird
// and D. B. Rubin, "Maximum likelihood from incomplete data via the EM
// algorithm", J. R. Stat. Soc. B 39(1), 1977). Each fit starts from the one
// before, with each component split in turn, and from equal parts. The values
// stand for n, for which bic[k-1] = (3k−1)·ln n − 2·log-likelihood (G. Schwarz,
// "Estimating the dimension of a model", Ann. Stat. 6(2), 1978). After two k that
// are worse than those before, no more are tried.
func fitMixtures(xs []float64, n float64) (fits []mixture, bic []float64) {
	fit := mixture{{1, 0, 1}}
	for k := 1; k <= mostComponents && k <= len(xs)/2; k++ {
		if k > 1 {
			fit = bestStart(xs, fit)
		}
		fit = slices.Clone(fit)
		gain := fit.climb(xs, mostSteps)
		fits = append(fits, fit)
		bic = append(bic, float64(3*k-1)*math.Log(n)-2*n*gain)
		if k > 2 && bic[k-1] > bic[k-2] && bic[k-2] > bic[k-3] {
			break
		}
	}
	return fits, bic
}

// bestStart returns a mixture of one more component.
func bestStart(xs []float64, fit mixture) mixture {
	starts := []mixture{equalParts(xs, len(fit)+1)}
	for j := range fit {
		if start, ok := fit.split(xs, j); ok {
			starts = append(starts, start)
		}
	}
	best, most := starts[0], math.Inf(-1)
	for _, s := range starts {
		if gain := s.climb(xs, firstSteps); gain > most {
			best, most = s, gain
		}
	}
	return best
}

// equalParts is a mixture of as many values each.
func equalParts(xs []float64, k int) mixture {
	m := make(mixture, k)
	for j := range m {
		m[j] = componentOf(xs[j*len(xs)/k:(j+1)*len(xs)/k], len(xs))
	}
	return m
}

func componentOf(part []float64, all int) component {
	sd := math.Sqrt(squaresAbout(part) / float64(len(part)))
	return component{float64(len(part)) / float64(all), Average(part), max(sd, leastDeviation)}
}

// split is the mixture with the component in two where its values are best cut.
func (m mixture) split(xs []float64, j int) (mixture, bool) {
	var own []float64
	for _, x := range xs {
		if m.likeliest(x) == j {
			own = append(own, x)
		}
	}
	if len(own) < 4 {
		return nil, false
	}
	cut, _ := bestCut(own)
	out := slices.Delete(slices.Clone(m), j, j+1)
	return append(out, componentOf(own[:cut], len(xs)), componentOf(own[cut:], len(xs))), true
}

func (m mixture) likeliest(x float64) int {
	best, most := 0, math.Inf(-1)
	for j, c := range m {
		if l := c.logDensity(x); l > most {
			best, most = j, l
		}
	}
	return best
}

// logDensity is the logarithm of the component's part of the density at x, but for 1/√2π.
func (c component) logDensity(x float64) float64 {
	z := (x - c.mean) / c.sd
	return math.Log(c.share/c.sd) - z*z/2
}

// climb improves the mixture and returns its log-likelihood per value.
func (m mixture) climb(xs []float64, steps int) float64 {
	last := math.Inf(-1)
	for range steps {
		now := m.step(xs)
		if now-last < leastGain {
			return now
		}
		last = now
	}
	return last
}

// step makes one step of EM and returns the log-likelihood before it, per value.
func (m mixture) step(xs []float64) float64 {
	var logShare, scale, density [mostComponents]float64
	for j, c := range m {
		logShare[j], scale[j] = math.Log(c.share/c.sd), 1/c.sd
	}
	var weight, sum, squares [mostComponents]float64
	total := 0.0
	for _, x := range xs {
		most := math.Inf(-1)
		for j, c := range m {
			z := (x - c.mean) * scale[j]
			density[j] = logShare[j] - z*z/2
			most = max(most, density[j])
		}
		all := 0.0
		for j := range m {
			density[j] = math.Exp(density[j] - most)
			all += density[j]
		}
		total += most + math.Log(all)
		for j, c := range m {
			w, d := density[j]/all, x-c.mean
			weight[j] += w
			sum[j] += w * d
			squares[j] += w * d * d
		}
	}
	n := float64(len(xs))
	for j := range m {
		w := max(weight[j], 1e-12*n) // a component that lost all its values stays where it is
		d := sum[j] / w
		m[j] = component{w / n, m[j].mean + d, max(math.Sqrt(max(0, squares[j]/w-d*d)), leastDeviation)}
	}
	return total/n - logRoot2Pi
}
