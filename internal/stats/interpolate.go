package stats

// Interpolate returns the value at x of the line through the points
// (xs[i], ys[i]), which must be at least two, xs ascending; beyond the ends it
// is the nearest end's value. Where two points share an x, the later one
// counts.
//
// The search begins at index from, and the index it returns serves the next
// call with an x no smaller, so that a walk along the line looks at each point
// once.
func Interpolate(xs, ys []float64, x float64, from int) (y float64, next int) {
	i := from
	for i+2 < len(xs) && xs[i+1] < x {
		i++
	}
	x0, x1 := xs[i], xs[i+1]
	if x1 <= x0 {
		return ys[i+1], i
	}
	share := min(max((x-x0)/(x1-x0), 0), 1)
	return ys[i] + share*(ys[i+1]-ys[i]), i
}
