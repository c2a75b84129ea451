package levels

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/unit"
)

// Cell is what was measured of operations of one size and mix.
type Cell struct {
	Size  unit.Size `json:"size" jsonschema:"required"`
	Reads float64   `json:"reads" jsonschema:"required,minimum=0,maximum=100"` // percent
	// Ops are the operations a second of each repetition.
	Ops []float64 `json:"ops" jsonschema:"required,minItems=1,exclusiveMinimum=0"`
	// Depth is how many operations were under way at once; 0: not known. AtDepth says
	// that the rate may be that of the depth: more at once was not tried, or gained more.
	Depth   int  `json:"depth,omitempty" jsonschema:"minimum=1"`
	AtDepth bool `json:"at_depth,omitempty"`
}

// Measured is the distribution of operations a second of this size, in bytes, and share
// of reads. Between cells, the time of an operation, 1/ops, goes in a straight line over
// the size and over the mix, as it does under a limit of operations, or of bytes; where
// one gives way to the other, the rate is underestimated. It is not inside if one of
// the cells around it is missing.
func (l Levels) Measured(size, reads float64) (d Distribution, inside bool) {
	rows := around(axis(l.Cells, func(c Cell) float64 { return float64(c.Size) }), size)
	columns := around(axis(l.Cells, func(c Cell) float64 { return c.Reads }), 100*reads)
	var corners []corner
	points := 0
	for _, row := range rows {
		for _, column := range columns {
			i := slices.IndexFunc(l.Cells, func(c Cell) bool { return float64(c.Size) == row.at && c.Reads == column.at })
			if i < 0 {
				return nil, false
			}
			corners = append(corners, corner{slices.Sorted(slices.Values(l.Cells[i].Ops)), row.weight * column.weight})
			points = max(points, len(l.Cells[i].Ops))
		}
	}
	var values []Value
	for p := range points {
		time := 0.0
		for _, c := range corners {
			time += c.weight / c.ops[p*len(c.ops)/points]
		}
		values = append(values, Value{1 / time, 1 / float64(points)})
	}
	return distribution(values), points > 0
}

// corner is a cell around a point, with its part of the point.
type corner struct {
	ops    []float64 // ascending
	weight float64
}

func axis(cells []Cell, of func(Cell) float64) (out []float64) {
	for _, c := range cells {
		out = append(out, of(c))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type weighted struct{ at, weight float64 }

// around are the values of an axis next to x, with their weights; none outside.
func around(axis []float64, x float64) []weighted {
	i, exact := slices.BinarySearchFunc(axis, x, func(a, x float64) int {
		switch {
		case math.Abs(a-x) <= Same*math.Abs(x):
			return 0
		case a < x:
			return -1
		}
		return 1
	})
	switch {
	case exact:
		return []weighted{{axis[i], 1}}
	case i == 0 || i == len(axis):
		return nil
	}
	share := (x - axis[i-1]) / (axis[i] - axis[i-1])
	return []weighted{{axis[i-1], 1 - share}, {axis[i], share}}
}
