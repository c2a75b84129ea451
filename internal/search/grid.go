package search

import (
	"math"
	"slices"
	"strconv"
)

// grid is the loads that the default algorithm may try, ascending, evenly
// spaced in the logarithm so that a whole number of them makes a step of the
// ramp. Loads are named by their index. Trying only these means that the same load comes up again, so that windows of one load can be
// counted against each other, instead of each load being tried once.
//
// Between and beside them are the cells in which the boundary may lie: cell k
// is from load k-1 up to, not including, load k. Cell 0 is below the smallest
// load, the last one from the largest upwards; there is one cell more than
// loads. So load j passes, but for errors, if the boundary's cell is above j.
type grid struct {
	loads []float64
	start int
	// ramp is how many loads a step of the ramp takes.
	ramp int
}

const (
	// perStep is how many cells fit between Passed and Failed. More than one,
	// so that a load that lies on the boundary and will neither pass nor fail
	// can be left between them.
	perStep = 2
	// digits is to how many significant digits loads are rounded, for people
	// to read. It is finer than the finest resolution by a factor of 20.
	digits = 5
)

func newGrid(o Options) grid {
	ramp := math.Ceil(perStep * math.Log(o.Factor) / math.Log1p(o.Resolution))
	steps := func(to float64) float64 { return ramp * math.Log(to/o.Start) / math.Log(o.Factor) }
	loads := []float64{o.Min, o.Start, o.Max}
	for i := math.Floor(steps(o.Min)); i <= math.Ceil(steps(o.Max)); i++ {
		load := round(o.Start * math.Pow(o.Factor, i/ramp))
		if i != 0 && load > o.Min && load < o.Max {
			loads = append(loads, load)
		}
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	return grid{loads: loads, start: slices.Index(loads, o.Start), ramp: int(ramp)}
}

func round(load float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(load, 'g', digits, 64), 64)
	if err != nil { // beyond what a float64 holds
		return load
	}
	return rounded
}
