package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// The figures of variability and comparison.

var berlin = "Europe/Berlin"

// campaignStart is the begin of a campaign: a Monday, 13 days before the clock is
// turned in Berlin.
var campaignStart = float64(time.Date(2026, 3, 16, 0, 0, 0, 0, time.UTC).Unix())

// measured are half-hourly values of three zones, more of them the larger n is,
// all within 31 days: one zone is slow, one changes on the tenth day.
func measured(n int) Dots {
	rng := rand.New(rand.NewPCG(3, 5))
	d := Dots{Levels: []string{"", "us-east-1a", "us-east-1b", "us-east-1d"}}
	for i := range n {
		at := 31 * 86400 * float64(i) / float64(n)
		code := uint16(1 + rng.IntN(3))
		v := []float64{0, 588e6, 540e6, 410e6}[code] * (1 + 0.02*rng.NormFloat64())
		if code == 2 && at > 10*86400 {
			v *= 1.06
		}
		if rng.IntN(400) == 0 {
			code, v = 0, v*0.7
		}
		d.X, d.Y, d.Codes = append(d.X, campaignStart+at), append(d.Y, v), append(d.Codes, code)
	}
	return d
}

func series(n int) Chart {
	c := Chart{Title: "Values over time", Height: 220, X: Axis{Kind: Time, Zone: berlin}, Y: Axis{Unit: "byte/s", Tight: true}}
	c.Layers = Scatter(c.X, c.Y, measured(n))
	return c
}

// changes: levels between change points, which have their time and an interval.
func changes() Chart {
	day := func(d float64) float64 { return campaignStart + 86400*d }
	cuts := []float64{0, 6.4, 7.1, 10, 19.8, 31}
	means := Values{540e6, 520e6, 541e6, 572e6, 566e6}
	c := Chart{Title: "Levels over time", Height: 220, X: Axis{Kind: Time, Zone: berlin, Label: "start of the repetition"}, Y: Axis{Unit: "byte/s", Tight: true}}
	d := measured(1400)
	for i := range d.Codes {
		if d.Codes[i] != 2 {
			d.Y[i] = nan
		}
	}
	d.Levels, d.Codes = nil, nil
	c.Layers = Scatter(c.X, c.Y, d)
	for k := range c.Layers {
		c.Layers[k].Role = Faint
	}
	levels := Layer{Mark: Step, Name: "mean between two changes"}
	rules := Layer{Mark: Rule, Role: Reference, Name: "change of the level"}
	for i, mean := range means {
		levels.X, levels.X2, levels.Y = append(levels.X, day(cuts[i])), append(levels.X2, day(cuts[i+1])), append(levels.Y, mean)
		if i > 0 {
			rules.X = append(rules.X, day(cuts[i]))
			rules.Text = append(rules.Text, fmt.Sprintf("%+.1f %%", 100*(mean/means[i-1]-1)))
		}
	}
	c.Layers = append(c.Layers, levels, rules)
	return c
}

// histogram: bars over bins, a density, bands with a cut between them.
func histogram() Chart {
	const lo, width, n = 380e6, 6e6, 46
	counts := make(Values, n)
	d := measured(6000)
	for _, v := range d.Y {
		if k := int((v - lo) / width); k >= 0 && k < n {
			counts[k]++
		}
	}
	bars := Layer{Mark: Bar}
	density := Layer{Mark: Line, Name: "density"}
	for k, v := range counts {
		at := lo + width*float64(k)
		bars.X, bars.X2, bars.Y = append(bars.X, at), append(bars.X2, at+width), append(bars.Y, v)
		bars.Tips = append(bars.Tips, fmt.Sprintf("%.0f to %.0f MB/s: %.0f values", at/1e6, (at+width)/1e6, v))
		density.X = append(density.X, at+width/2)
		sum, weight := 0.0, 0.0
		for j := max(k-2, 0); j <= min(k+2, n-1); j++ {
			w := math.Exp(-float64((j-k)*(j-k)) / 2)
			sum, weight = sum+w*counts[j], weight+w
		}
		density.Y = append(density.Y, sum/weight)
	}
	for i := range bars.X {
		bars.Roles = append(bars.Roles, map[bool]Role{true: Series2, false: Series1}[bars.X[i] < 470e6])
	}
	return Chart{
		Title: "How often each value was measured", Height: 220,
		X: Axis{Unit: "byte/s", Tight: true}, Y: Axis{Label: "values"},
		Layers: []Layer{
			{Mark: Band, Role: Series2, Name: "lower band: 33 % of the values", X: Values{386e6}, X2: Values{470e6}},
			{Mark: Band, Role: Series1, Name: "upper band: 67 %", X: Values{470e6}, X2: Values{650e6}},
			bars, density,
			{Mark: Rule, Role: Limit, X: Values{470e6}, Text: []string{"cut: 470 MB/s"}},
		},
	}
}

// byZone are the ascending values of each level.
func byZone(d Dots) [][]float64 {
	out := make([][]float64, len(d.Levels))
	for i, v := range d.Y {
		out[d.Codes[i]] = append(out[d.Codes[i]], v)
	}
	for _, values := range out {
		slices.Sort(values)
	}
	return out[1:]
}

// summaries: boxes of very many values, as computed where the values are.
func summaries() Chart {
	d := measured(30000)
	roles := LevelRoles(d.Levels, d.Codes)
	boxes := Layer{Mark: Box}
	c := Chart{Title: "Distribution in each zone", X: Axis{Unit: "byte/s"}, Y: Axis{Kind: Rows}}
	for i, values := range byZone(d) {
		s := Summarize(values, Tukey)
		boxes.Y, boxes.Boxes, boxes.Roles = append(boxes.Y, float64(i)), append(boxes.Boxes, s), append(boxes.Roles, roles[i+1])
		c.Y.Rows = append(c.Y.Rows, Row{Name: d.Levels[i+1], Value: fmt.Sprintf("%.0f MB/s", s.Five[2]/1e6), Note: "n = " + strconv.Itoa(s.N)})
	}
	c.Layers = []Layer{boxes}
	return c
}

var weekdays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// week: values of small spread in each hour of each weekday, one of them not
// measured.
func week() Chart {
	c := Chart{
		Title: "Mean of each hour of each weekday", X: Axis{Kind: Rows, Label: "hour of the day, Europe/Berlin"}, Y: Axis{Kind: Rows, Down: true},
	}
	l := Layer{Mark: Cell, Unit: "%", Shading: Even}
	for h := range 24 {
		c.X.Rows = append(c.X.Rows, Row{Name: strconv.Itoa(h)})
	}
	for d, day := range weekdays {
		c.Y.Rows = append(c.Y.Rows, Row{Name: day})
		for h := range 24 {
			v := 1800 + 22*math.Sin(2*math.Pi*float64(h)/24) + 6*math.Sin(float64(d*7+h*3))
			if d > 4 {
				v += 18
			}
			v = 2 + (v-1800)/20
			text := strconv.FormatFloat(v, 'f', 1, 64)
			if d == 2 && h == 3 {
				v, text = nan, ""
			}
			l.X, l.Y, l.Value, l.Text = append(l.X, float64(h)), append(l.Y, float64(d)), append(l.Value, v), append(l.Text, text)
			l.Tips = append(l.Tips, fmt.Sprintf("%s, %d h: %s", day, h, text))
		}
	}
	c.Layers = []Layer{l}
	return c
}

// repetitions: the interval of the mean against how many repetitions it is made
// of, and the range wanted.
func repetitions() Chart {
	rng := rand.New(rand.NewPCG(2, 9))
	var n, mean, lo, hi Values
	sum, squares := 0.0, 0.0
	for i := 1; i <= 1488; i++ {
		v := 540 * (1 + 0.12*rng.NormFloat64())
		sum, squares = sum+v, squares+v*v
		if i < 3 {
			continue
		}
		k := float64(i)
		m := sum / k
		half := 2 * math.Sqrt((squares-k*m*m)/(k-1)/k)
		n, mean, lo, hi = append(n, k), append(mean, m), append(lo, m-half), append(hi, m+half)
	}
	last := mean[len(mean)-1]
	return Chart{
		Title: "Mean and its interval against repetitions", Height: 240,
		X: Axis{Kind: Log, Label: "repetitions", Tight: true}, Y: Axis{Unit: "op/s", Tight: true, Lo: ptr(450), Hi: ptr(630), Min: ptr(450), Max: ptr(630)},
		Layers: []Layer{
			{Mark: Band, Role: Window, Name: "within ±5 % of the mean of all", Y: Values{last * 0.95}, Y2: Values{last * 1.05}},
			{Mark: Band, Role: Interval, Name: "95 % interval", X: n, Y: lo, Y2: hi},
			{Mark: Line, Name: "mean so far", X: n, Y: mean},
			{Mark: Rule, Role: Limit, X: Values{24}, Text: []string{"±5 % from 24 repetitions on"}},
		},
	}
}

// daylight: hours of a night in which one is missing.
func daylight() Chart {
	turned := float64(time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC).Unix())
	return Chart{
		Title: "Hours before and after", Height: 120, X: Axis{Kind: Time, Zone: berlin, TickCount: 6}, Y: Axis{Unit: "s"},
		Layers: []Layer{
			{Mark: Line, X: Values{turned - 2*3600, turned, turned + 3*3600}, Y: Values{1, 2, 1.5}},
			{Mark: Rule, Role: Faint, X: Values{turned}, Text: []string{"02:00 becomes 03:00"}},
		},
	}
}

// against: two metrics on log axes.
func against() Chart {
	rng := rand.New(rand.NewPCG(4, 4))
	var d Dots
	for range 20000 {
		a := rng.NormFloat64()
		d.X, d.Y = append(d.X, 5e5*math.Exp(a)), append(d.Y, 1e-3*math.Exp(0.6*a+0.5*rng.NormFloat64()))
	}
	c := Chart{Title: "Latency against throughput", Height: 260, X: Axis{Kind: Log, Unit: "op/s", Label: "throughput"}, Y: Axis{Kind: Log, Unit: "s"}}
	c.Layers = Scatter(c.X, c.Y, d)
	return c
}
