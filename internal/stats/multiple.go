package stats

import (
	"fmt"
)

// BenjaminiHochberg returns the p-values of several comparisons, in their order,
// adjusted so that of those that are called different at adjusted p ≤ q at most
// the share q is expected to be so by chance: p·n/rank, made monotone from the
// largest (Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate",
// J. R. Stat. Soc. B 57(1), 1995). The comparisons may be independent or
// positively dependent. No p-values give none; a p-value that is not 0 to 1 is
// an ErrArgument.
func BenjaminiHochberg(ps []float64) ([]float64, error) {
	order, err := byP(ps)
	if err != nil {
		return nil, err
	}
	adjusted, n := make([]float64, len(ps)), float64(len(ps))
	least := 1.0
	for rank := len(order); rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, ps[i]*n/float64(rank))
		adjusted[i] = least
	}
	return adjusted, nil
}

// Holm returns the p-values of several comparisons, in their order, adjusted so
// that the probability of calling any two equal things different at adjusted p ≤
// α is at most α, however the comparisons depend on each other: p·(n+1−rank),
// made monotone from the smallest (S. Holm, "A simple sequentially rejective
// multiple test procedure", Scand. J. Stat. 6(2), 1979). Errors as
// [BenjaminiHochberg].
func Holm(ps []float64) ([]float64, error) {
	order, err := byP(ps)
	if err != nil {
		return nil, err
	}
	adjusted, most := make([]float64, len(ps)), 0.0
	for k, i := range order {
		most = max(most, min(1, ps[i]*float64(len(ps)-k)))
		adjusted[i] = most
	}
	return adjusted, nil
}

// byP returns the indexes of checked p-values, the smallest p first.
func byP(ps []float64) ([]int32, error) {
	for i, p := range ps {
		if !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("p-value %d is %v, want 0 to 1: %w", i, p, ErrArgument)
		}
	}
	_, order := SortRows(ps)
	return order, nil
}
