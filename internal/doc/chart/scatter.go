package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// Dots are values against values, in any number.
type Dots struct {
	X, Y []float64 // of the same length
	// Levels and Codes say to which level of a factor each point belongs: its code
	// is the index of its level, and the level "" is not known. Both may be nil.
	Levels []string
	Codes  []uint16
}

// Grid divides a part of the plot evenly, as the plot is drawn: on a log axis by
// logarithm.
type Grid struct {
	Columns int    `json:"columns"`
	Rows    int    `json:"rows"` // the first at the bottom
	X       Values `json:"x"`    // both ends
	Y       Values `json:"y"`
}

// MostPoints is how many points are drawn one by one: more would cover each
// other, and a page would grow with what was measured.
const MostPoints = 2000

// Columns and rows of the grid of many points: cells of about five pixels by two.
const (
	scatterColumns = 200
	scatterRows    = 100
)

// Scatter draws points on these axes: up to [MostPoints] one by one, of more how
// many there are in each place, coloured by the level that most of them have.
// Points that are beyond Min and Max of an axis are left out, as those that have
// no place on it. The layers do not grow with the number of points.
func Scatter(x, y Axis, d Dots) []Layer {
	groups := d.groups()
	if len(d.X) <= MostPoints {
		return d.points(groups)
	}
	across, up := newSide(x, d.X, scatterColumns), newSide(y, d.Y, scatterRows)
	// Of few levels the counts of all cells are small enough to be kept apart.
	counts := make([]uint32, len(groups.roles)*across.n*up.n)
	for i := range min(len(d.X), len(d.Y)) {
		column, row := across.cell(d.X[i]), up.cell(d.Y[i])
		if column < 0 || row < 0 {
			continue
		}
		counts[(row*across.n+column)*len(groups.roles)+groups.of(d.Codes, i)]++
	}
	return rasters(counts, groups, &Grid{Columns: across.n, Rows: up.n, X: across.ends, Y: up.ends})
}

// LevelRoles tells the levels of a factor apart, the same in all figures: the
// eight with the most points have a series each, in the order of the levels,
// others are Faint.
func LevelRoles(levels []string, codes []uint16) []Role {
	counts := make([]int, len(levels))
	for _, c := range codes {
		if int(c) < len(counts) {
			counts[c]++
		}
	}
	var by []int
	for i, level := range levels {
		if level != "" && counts[i] > 0 {
			by = append(by, i)
		}
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	by = by[:min(len(by), MostLines)]
	slices.Sort(by)
	roles := make([]Role, len(levels))
	for i := range roles {
		roles[i] = Faint
	}
	for k, i := range by {
		roles[i] = Series(k)
	}
	return roles
}

// dotGroups are the groups of points that are told apart: levels of a role of their
// own, and all others together.
type dotGroups struct {
	roles []Role
	names []string
	code  []int // the group of each level
}

func (d Dots) groups() dotGroups {
	if len(d.Levels) == 0 || len(d.Codes) == 0 {
		return dotGroups{roles: []Role{Series1}, names: []string{""}}
	}
	g := dotGroups{code: make([]int, len(d.Levels))}
	known := false // some of the others
	for i, role := range LevelRoles(d.Levels, d.Codes) {
		if role == Faint {
			g.code[i] = -1
			known = known || d.Levels[i] != ""
			continue
		}
		g.code[i] = len(g.roles)
		g.roles, g.names = append(g.roles, role), append(g.names, d.Levels[i])
	}
	for i := range g.code {
		if g.code[i] < 0 {
			g.code[i] = len(g.roles)
		}
	}
	g.roles, g.names = append(g.roles, Faint), append(g.names, map[bool]string{true: "others", false: "not known"}[known])
	return g
}

// of is the group of a point.
func (g dotGroups) of(codes []uint16, i int) int {
	if i < len(codes) && int(codes[i]) < len(g.code) {
		return g.code[codes[i]]
	}
	return len(g.roles) - 1
}

// points draws a layer for each group that has points.
func (d Dots) points(groups dotGroups) []Layer {
	layers := make([]Layer, len(groups.roles))
	for i := range min(len(d.X), len(d.Y)) {
		l := &layers[groups.of(d.Codes, i)]
		l.X, l.Y = append(l.X, d.X[i]), append(l.Y, d.Y[i])
	}
	for k := range layers {
		layers[k].Mark, layers[k].Role, layers[k].Name = Point, groups.roles[k], groups.names[k]
	}
	return slices.DeleteFunc(layers, func(l Layer) bool { return len(l.X) == 0 })
}

// side is one direction of a grid.
type side struct {
	n        int
	ends     Values
	log      bool
	from, by float64 // cell = (v − from)·by, of the logarithm on a log axis
}

// newSide divides what the values take of an axis. Values that are all alike have
// one cell, in the middle of it.
func newSide(a Axis, values []float64, n int) side {
	lo, hi := math.Inf(1), math.Inf(-1)
	least, most := a.limits()
	for _, v := range values {
		if v >= least && v <= most && math.Abs(v) <= largest && (a.Kind != Log || v >= 1/largest) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	s := side{n: n, log: a.Kind == Log}
	switch {
	case lo > hi:
		return side{n: 1, ends: Values{math.NaN(), math.NaN()}}
	case lo == hi && s.log:
		lo, hi, s.n = lo/1.005, hi*1.005, 1
	case lo == hi:
		half := max(math.Abs(lo)*0.005, 1e-9)
		lo, hi, s.n = lo-half, hi+half, 1
	}
	s.ends = Values{lo, hi}
	if s.log {
		lo, hi = math.Log(lo), math.Log(hi)
	}
	s.from, s.by = lo, float64(s.n)/(hi-lo)
	return s
}

// cell is where a value stands; -1 for what has no place.
func (s side) cell(v float64) int {
	if !(v >= s.ends[0] && v <= s.ends[1]) {
		return -1
	}
	if s.log {
		v = math.Log(v)
	}
	return min(max(int((v-s.from)*s.by), 0), s.n-1)
}

// rasters are the layers of counted cells: counts holds a number for each group
// in each cell, row by row. Neighbours that look alike are one run.
func rasters(counts []uint32, groups dotGroups, g *Grid) []Layer {
	k := len(groups.roles)
	layers := make([]Layer, k)
	most := uint32(1)
	totals, leads := make([]uint32, len(counts)/k), make([]int, len(counts)/k)
	for i := range totals {
		cell := counts[i*k : (i+1)*k]
		for group, n := range cell {
			totals[i] += n
			if n > cell[leads[i]] {
				leads[i] = group
			}
		}
		most = max(most, totals[i])
	}
	for i, n := range totals {
		if n == 0 {
			continue
		}
		l := &layers[leads[i]]
		column, row, value := float64(i%g.Columns), float64(i/g.Columns), shadeCount(density(float64(n), float64(most)), most)
		if last := len(l.X) - 1; last >= 0 && l.X2[last] == column && l.Y[last] == row && l.Value[last] == value {
			l.X2[last]++
			continue
		}
		l.X, l.X2, l.Y, l.Value = append(l.X, column), append(l.X2, column+1), append(l.Y, row), append(l.Value, value)
	}
	out := []Layer{}
	for group := range layers {
		if l := layers[group]; len(l.X) > 0 {
			l.Mark, l.Role, l.Name, l.Grid = Raster, groups.roles[group], groups.names[group], g
			out = append(out, l)
		}
	}
	if len(out) > 0 && most > 1 {
		out = append(out, Layer{Mark: Raster, Value: Values{1, float64(most)}, Name: "1 to " + num.Grouped(int64(most)) + " points in one place; colour: most of them"})
		if len(out) == 2 {
			out[1].Name = "1 to " + num.Grouped(int64(most)) + " points in one place"
		}
	}
	return out
}

// densities is how many shades a raster has.
const densities = 6

// density is the shade of a cell with n points of at most so many: 0 to
// densities-1, by logarithm.
func density(n, most float64) int {
	if !(n > 1 && most > 1) {
		return 0
	}
	return min(int(math.Log(n)/math.Log(most)*densities), densities-1)
}

// shadeCount is the least count that has a shade: cells of one shade look alike.
func shadeCount(shade int, most uint32) float64 {
	n := math.Ceil(math.Pow(float64(most), float64(shade)/densities) - 1e-9)
	return max(n, 1)
}

// raster draws the runs of a layer, a path for each shade.
func (p *plot) raster(l Layer) {
	g := l.Grid
	if g == nil || g.Columns < 1 || g.Rows < 1 || len(g.X) != 2 || len(g.Y) != 2 {
		return
	}
	left, right := p.x.share(g.X[0]), p.x.share(g.X[1])
	top, bottom := 1-p.y.share(g.Y[1]), 1-p.y.share(g.Y[0])
	if !finite(left, right, top, bottom) || left >= right || top >= bottom {
		return
	}
	most := 0.0
	for _, other := range p.Layers {
		for _, v := range other.Value {
			if other.Mark == Raster && finite(v) {
				most = max(most, v)
			}
		}
	}
	var paths [densities][]byte
	for i := range l.size() {
		column, to, row, n := at(l.X, i), at(l.X2, i), at(l.Y, i), at(l.Value, i)
		if !(column >= 0 && to > column && to <= float64(g.Columns) && row >= 0 && row < float64(g.Rows) && n >= 0) {
			continue
		}
		b := &paths[density(n, most)]
		*b = append(strconv.AppendInt(append(*b, 'M'), int64(column), 10), ' ')
		*b = append(strconv.AppendFloat(*b, float64(g.Rows)-math.Floor(row)-0.5, 'g', -1, 64), 'h')
		*b = strconv.AppendInt(*b, int64(to)-int64(column), 10)
	}
	content := ""
	for shade, path := range paths {
		if len(path) > 0 {
			content += `<path class="` + l.class(0) + ` d` + strconv.Itoa(shade) + `" d="` + string(path) + `"/>`
		}
	}
	p.nested(pct(left), p.top+p.Height*top, pct(right-left), p.Height*(bottom-top), g.Columns, g.Rows, "plane",
		content)
}
