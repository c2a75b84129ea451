package chart

import "fmt"

// Curve is one line of a chart with several.
type Curve struct {
	Name string
	X, Y Values
}

// Add adds a point unless its value is not known.
func (c *Curve) Add(x float64, y *float64) {
	if y != nil {
		c.X, c.Y = append(c.X, x), append(c.Y, *y)
	}
}

// Curves draws the first MostLines of those that have points, with their points; no
// layers: there are none.
func Curves(title string, x, y Axis, curves []Curve) Chart {
	c := Chart{Title: title, Height: 200, X: x, Y: y}
	for _, l := range curves {
		role := Series(len(c.Layers) / 2)
		if len(l.X) > 0 && len(c.Layers) < 2*MostLines {
			c.Layers = append(c.Layers, Layer{Mark: Line, Role: role, Name: l.Name, X: l.X, Y: l.Y}, Layer{Mark: Point, Role: role, X: l.X, Y: l.Y})
		}
	}
	return c
}

// Cut says that Curves does not draw all of them; empty: it does.
func Cut(curves []Curve) string {
	if len(curves) <= MostLines {
		return ""
	}
	return fmt.Sprintf("the first %d of %d", MostLines, len(curves))
}
