package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Outliers are values far from all others, in each band by itself: beyond twice
// the distance of the fences of the adjusted boxplot (stats.OutlierFences) from the
// quartiles, where two of a million normal values lie. They are named, and count as
// all others do.
type Outliers struct {
	N     int       `json:"n"`
	Share float64   `json:"share"`
	Rows  []Outlier `json:"rows,omitempty"` // the farthest first, no more than MostOutliers
}

// MostOutliers is how many outliers are named.
const MostOutliers = 20

// Outlier is one value with what is known of it.
type Outlier struct {
	Row   int               `json:"row"` // from 1, in the order of times
	Time  *time.Time        `json:"time"`
	Value float64           `json:"value"`
	Node  string            `json:"node,omitempty"`
	Facts map[string]string `json:"facts,omitempty"`
}

// Outliers are those beyond twice the distance of the fences of stats.OutlierFences
// from the quartiles, in each band by itself.
func (x *Rows) Outliers(bands []Band) Outliers {
	type far struct {
		at       int     // in order
		distance float64 // in fence distances
	}
	var all []far
	for from := 0; from < len(x.Sorted); {
		to := len(x.Sorted)
		for _, b := range bands {
			if x.Sorted[from] >= b.From && x.Sorted[from] <= b.To {
				to = min(to, from+b.N)
			}
		}
		part := x.Sorted[from:to]
		q1, q3 := stats.QuantileSorted(part, 0.25), stats.QuantileSorted(part, 0.75)
		from = to
		if q1 == q3 {
			continue // most values are the same, so that there is no measure of far
		}
		lo, hi := stats.OutlierFences(part)
		below, above := q1-2*(q1-lo), q3+2*(hi-q3)
		for i := 0; i < len(part) && part[i] < below; i++ {
			all = append(all, far{to - len(part) + i, (q1 - part[i]) / (q1 - lo)})
		}
		for i := len(part) - 1; i >= 0 && part[i] > above; i-- {
			all = append(all, far{to - len(part) + i, (part[i] - q3) / (hi - q3)})
		}
	}
	out := Outliers{N: len(all), Share: float64(len(all)) / float64(max(1, len(x.Sorted)))}
	slices.SortStableFunc(all, func(a, b far) int { return cmp.Compare(b.distance, a.distance) })
	for _, f := range all[:min(len(all), MostOutliers)] {
		out.Rows = append(out.Rows, x.outlier(int(x.order[f.at])))
	}
	return out
}

func (x *Rows) outlier(row int) Outlier {
	o := Outlier{Row: row + 1, Time: x.At(row), Value: x.Frame.Values[row], Facts: make(map[string]string)}
	for i := range x.Frame.Facts {
		switch fact := &x.Frame.Facts[i]; {
		case fact.Codes[row] == 0:
		case fact.Name == frame.FactSubject:
			o.Node = fact.Level(row)
		case !slices.ContainsFunc(x.Constant, func(c Constant) bool { return c.Fact == fact.Name }):
			o.Facts[fact.Name] = fact.Level(row)
		}
	}
	return o
}
