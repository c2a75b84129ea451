package capacity

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Loads are low and high for a target by their share of what it takes.
const lowLoad, highLoad = .5, .8

// Levels of the load of a window.
const (
	atLow = iota + 1
	between
	atHigh
)

var loadLevels = []string{"", "low load", "between", "high load"}

// roundTrips are the handshakes of all windows of a target.
type roundTrips struct {
	// took are the handshakes by level of the load, in seconds.
	took [atHigh + 1][]float64
	// dots are the windows: the median of the handshakes, and the 90th percentile of the
	// latency.
	dots chart.Dots
}

func (g group) roundTrips() roundTrips {
	out := roundTrips{dots: chart.Dots{Levels: loadLevels}}
	for _, s := range g.trials {
		takes := s.Answer.Estimate
		if takes == nil {
			continue // what would be a high load is not known
		}
		for _, w := range s.Answer.Windows {
			if w.Verdict == Unusable {
				continue // a generator that is late makes late handshakes
			}
			level := between
			switch share := w.Load / *takes; {
			case share <= lowLoad:
				level = atLow
			case share >= highLoad:
				level = atHigh
			}
			out.took[level] = append(out.took[level], w.RTT...)
			if p90, known := w.Latency(.9); known && len(w.RTT) > 0 {
				out.dots.X, out.dots.Y = append(out.dots.X, stats.Median(w.RTT)), append(out.dots.Y, p90.Seconds())
				out.dots.Codes = append(out.dots.Codes, uint16(level)) //nolint:gosec // 1 to 3
			}
		}
	}
	return out
}

// roundTripFigure is whether the path depends on the load (Fig. 2 of the black-box
// throughput paper): the distribution of round trips at low and at high load, and the
// round trip of each window against its latency.
func (g group) roundTripFigure() doc.Block {
	t := g.roundTrips()
	if len(t.took[atLow]) == 0 || len(t.took[atHigh]) == 0 {
		return doc.Block{}
	}
	roles := chart.LevelRoles(t.dots.Levels, t.dots.Codes)
	shares := chart.Chart{Title: "Share of round trips up to each value", Height: 220,
		X: chart.Axis{Kind: chart.Log, Unit: "s", Label: "round trip", Tight: true}, Y: chart.Axis{Unit: "%"}}
	for _, level := range []int{atLow, atHigh} {
		d, err := stats.NewDistribution(t.took[level], nil)
		if err != nil {
			continue
		}
		l := chart.Layer{Mark: chart.Step, Role: roles[level],
			Name: fmt.Sprintf("%s (%s)", loadLevels[level], num.Count(len(t.took[level]), "handshake"))}
		l.AddShares(d.X, d.Share)
		shares.Layers = append(shares.Layers, l)
	}
	windows := chart.Chart{Title: "Round trip and latency of each window", Height: 220,
		X: chart.Axis{Kind: chart.Log, Unit: "s", Label: "median round trip", Tight: true},
		Y: chart.Axis{Kind: chart.Log, Unit: "s", Label: "p90 of the latency", Tight: true}}
	windows.Layers = chart.Scatter(windows.X, windows.Y, t.dots)
	return doc.Block{Figure: &doc.Figure{Title: "Round trips beside the load", Columns: 2, Note: t.words(),
		Panels: []doc.Panel{{Title: shares.Title, Chart: shares}, {Title: windows.Title, Chart: windows}}}}.On(doc.Page)
}

// words say how round trips differ between low and high load.
func (t roundTrips) words() string {
	low, high := stats.Median(t.took[atLow]), stats.Median(t.took[atHigh])
	text := fmt.Sprintf("The median round trip is %s up to %g %% of the capacity, and %s from %g %% on.", num.Seconds(low),
		100*lowLoad, num.Seconds(high), 100*highLoad)
	return text
}
