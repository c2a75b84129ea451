package stats

// SelectedLevels returns the p-values of several comparisons corrected after
// [BenjaminiHochberg], and the confidence level at which the interval of each is to
// be given so that it agrees with them. Of m comparisons the R with corrected p ≤ α
// = 1−level are selected. Their intervals have level 1 − α·R/m: then of all
// intervals that are given of selected ones at most the share α is expected to miss
// the truth (Y. Benjamini and D. Yekutieli, "False discovery rate-adjusted multiple
// confidence intervals for selected parameters", J. Am. Stat. Assoc. 100(469),
// 2005). Those of the others have the next step of the procedure, 1 − α·(R+1)/m:
// their p is larger than that, so their interval holds what was tested. Errors as
// BenjaminiHochberg.
func SelectedLevels(ps []float64, level float64) (qs, levels []float64, err error) {
	if qs, err = BenjaminiHochberg(ps); err != nil {
		return nil, nil, err
	}
	selected := 0.0
	for _, q := range qs {
		if q <= 1-level {
			selected++
		}
	}
	levels = make([]float64, len(ps))
	for i, q := range qs {
		steps := selected + 1
		if q <= 1-level {
			steps = selected
		}
		levels[i] = 1 - (1-level)*steps/float64(len(ps))
	}
	return qs, levels, nil
}
