package stats

// InteractionVariance is what remains beside columns and rows in a table of two
// factors without repetitions, as the variance of the mean of all cells (S. R. Searle,
// G. Casella and C. E. McCulloch, Variance Components, 1992, section 4.3). Cells are
// row by row, and there are at least two rows and two columns.
func InteractionVariance(cells []float64, columns int) float64 {
	n, t := columns, len(cells)/columns
	byColumn, byRow, mean := make([]float64, n), make([]float64, t), 0.0
	for k := range t {
		for i := range n {
			x := cells[k*n+i]
			byColumn[i] += x / float64(t)
			byRow[k] += x / float64(n)
			mean += x / float64(n*t)
		}
	}
	squares := 0.0
	for k := range t {
		for i := range n {
			d := cells[k*n+i] - byColumn[i] - byRow[k] + mean
			squares += d * d
		}
	}
	return squares / float64((n-1)*(t-1)) / float64(n*t)
}
