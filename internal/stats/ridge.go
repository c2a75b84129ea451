package stats

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Ridge returns the coefficients of columns that fit values by least squares with a
// penalty on the square of each, and their variances where that of a value is 1 (A. E.
// Hoerl, R. W. Kennard, Technometrics 12(1), 1970). Columns that cannot be told apart
// are an ErrNoSpread.
func Ridge(columns [][]float64, values, penalties []float64) (coefficients, variances []float64, err error) {
	k := len(columns)
	normal, right := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i, column := range columns {
		for j, other := range columns[:i+1] {
			normal.SetSym(i, j, floats.Dot(column, other))
		}
		normal.SetSym(i, i, normal.At(i, i)+penalties[i])
		right.SetVec(i, floats.Dot(column, values))
	}
	var factors mat.Cholesky
	if !factors.Factorize(normal) {
		return nil, nil, ErrNoSpread
	}
	var solution mat.VecDense
	var inverse mat.SymDense
	if err := errors.Join(factors.SolveVecTo(&solution, right), factors.InverseTo(&inverse)); err != nil {
		return nil, nil, fmt.Errorf("ridge regression: %w: %w", ErrNoSpread, err)
	}
	for i := range k {
		coefficients, variances = append(coefficients, solution.AtVec(i)), append(variances, inverse.At(i, i))
	}
	return coefficients, variances, nil
}
