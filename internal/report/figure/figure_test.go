package figure

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// The rates of all bins together are the work that was done, however the
// counter's points fall.
func TestRatesConserveWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		p := Progress{Times: []float64{0.5}, Done: []float64{0}}
		for range 1 + rng.IntN(200) {
			last := len(p.Times) - 1
			p.Times = append(p.Times, p.Times[last]+0.01+rng.Float64())
			p.Done = append(p.Done, p.Done[last]+rng.ExpFloat64()*1e6)
		}
		sum, rates := 0.0, p.rates(maxBins)
		for _, r := range rates {
			sum += r.perSecond * (r.to - r.from)
		}
		want := p.Done[len(p.Done)-1]
		if math.Abs(sum-want) > 1e-6*want+1e-9 {
			t.Fatalf("rates of %d points sum to %v, want %v", len(p.Times), sum, want)
		}
		if len(rates) > min(maxBins, len(p.Times)-1) {
			t.Fatalf("%d rates from %d points", len(rates), len(p.Times))
		}
	}
}

func TestRatesOfConstantWork(t *testing.T) {
	p := Progress{Times: []float64{0, 1, 2, 3, 4}, Done: []float64{0, 10, 20, 30, 40}}
	for _, r := range p.rates(3) {
		if math.Abs(r.perSecond-10) > 1e-9 {
			t.Errorf("rate from %v to %v = %v, want 10", r.from, r.to, r.perSecond)
		}
	}
}

func TestRatesWithoutData(t *testing.T) {
	for _, p := range []Progress{
		{}, {Times: []float64{1}, Done: []float64{1}}, {Times: []float64{1, 1}, Done: []float64{0, 5}},
		{Times: []float64{0, 1}, Done: []float64{0}},
	} {
		if got := p.rates(10); got != nil {
			t.Errorf("rates of %+v = %v, want none", p, got)
		}
		if _, _, ok := Rates("title", func(top float64) num.Scale { return num.For("op/s", top) }, []Progress{p}, nil); ok {
			t.Errorf("Rates of %+v: ok, want nothing to draw", p)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name     string
		spans    []Span
		from, to float64
		ok       bool
	}{
		{"none", nil, 0, 0, false},
		{"one", []Span{{Start: 0, End: 4}}, 0, 4, true},
		{"two", []Span{{Start: 0, End: 4}, {Start: 1, End: 5}}, 1, 4, true},
		{"apart", []Span{{Start: 0, End: 1}, {Start: 2, End: 3}}, 2, 1, false},
	} {
		from, to, ok := Window(c.spans)
		if from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%s: Window = %v, %v, %v, want %v, %v, %v", c.name, from, to, ok, c.from, c.to, c.ok)
		}
	}
}

// The ticks of a y axis are round in the unit that is shown, not in bytes: a
// label must say exactly where its line stands.
func TestCapacityTicksAreExact(t *testing.T) {
	const gib = 1 << 30
	s := num.For("byte", 1.1*gib)
	c := newCapacity(1.1*gib, s, 5)
	labels := regexp.MustCompile(`y="([0-9.]+)">([0-9.]+)<`).FindAllStringSubmatch(string(c.labels(panelHeight)), -1)
	if len(labels) < 4 {
		t.Fatalf("labels = %v, want at least 4", labels)
	}
	for _, l := range labels {
		y, _ := strconv.ParseFloat(l[1], 64)
		value, _ := strconv.ParseFloat(l[2], 64)
		want, _ := strconv.ParseFloat(c.y(value*gib, marginTop+4).String(), 64)
		if math.Abs(y-want) > 0.011 {
			t.Errorf("label %s %s stands at %v, want %v", l[2], s.Unit, y, want)
		}
	}
}

// The bar of a CDI begins at 0 and ends at the value; a gain goes left.
func TestCDIBarGeometry(t *testing.T) {
	v, g := 50.0, -20.0
	c := CDI([]CDIRow{{CDI: &v, Verdict: "degraded"}, {CDI: &g, Verdict: "gain"}, {Verdict: "unknown"}})
	// The axis reaches from -20 to 100: 0 stands at 16.67 %.
	for i, want := range []string{
		`class="bar v-degraded" x="16.67%" y="15" width="41.67%"`,
		`class="bar v-gain" x="0%" y="15" width="16.67%"`,
		`class="bar v-unknown" x="16.67%" y="15" width="83.33%"`,
	} {
		if got := string(c.Rows[i]); !strings.Contains(got, want) {
			t.Errorf("row %d: want %s in\n%s", i, want, got)
		}
	}
	if !strings.Contains(string(c.Rows[2]), ">unknown</text>") {
		t.Errorf("an unknown CDI is not called unknown: %s", c.Rows[2])
	}
}

func TestIntervalBeyondAxisIsAnArrow(t *testing.T) {
	v := 10.0
	c := CDI([]CDIRow{{CDI: &v, CI: &[2]float64{-400, 90}, Verdict: "none"}})
	if got := string(c.Rows[0]); !strings.Contains(got, "◂") || strings.Contains(got, "▸") {
		t.Errorf("want an arrow at the left end only: %s", got)
	}
}

func TestValuesThatAreMissingAreNotDrawn(t *testing.T) {
	nan := math.NaN()
	p := Panel{
		Class: "serial", Names: []string{"a", "b"}, Values: []float64{nan, 5}, Whole: []float64{nan, nan},
		Mean: nan, SD: nan, Reference: &nan,
	}
	s := num.For("op/s", 5)
	got := string(Nodes(p, CapacityAxis(s, p)).Area)
	if n := strings.Count(got, `class="value`); n != 1 {
		t.Errorf("%d values drawn, want 1: %s", n, got)
	}
	if strings.Contains(got, "NaN") {
		t.Errorf("NaN in %s", got)
	}
}

func identity(unit string) func(float64) num.Scale {
	return func(top float64) num.Scale { return num.For(unit, top) }
}

// The ideal line is the multiple of what one does alone, and the fitted one
// bends where its slope meets the cap.
func TestGrowthGeometry(t *testing.T) {
	ideal, slope, limit := 200.0, 200.0, 300.0
	g := Growth{
		Scale: num.For("op/s", 300), Ideal: &ideal, Slope: &slope, Cap: &limit, Limit: "300",
		Sizes: []GrowthSize{{Nodes: 1, Total: 200}, {Nodes: 4, Total: 300, Totals: []float64{299, 301}}},
	}
	_, top := g.extent()
	if top < 300 || top > idealRoom*301*1.05+1 {
		t.Errorf("top = %v, want room for the totals and no more than %v times them", top, idealRoom)
	}
	x, y := svg.Axis{Lo: 0, Hi: 4, Step: 1}, newCapacity(800, g.Scale, 4)
	curves := g.curves(x, y)
	fit := curves[len(curves)-1].Points
	if want := (svg.Point{X: 1.5 / 4, Y: 1 - 300.0/800}); len(fit) != 3 || math.Abs(fit[1].X-want.X)+math.Abs(fit[1].Y-want.Y) > 1e-9 {
		t.Errorf("fit = %v, want a knee at %v", fit, want)
	}
	if got := curves[0].Points[1]; math.Abs(got.X-1) > 1e-9 || math.Abs(got.Y) > 1e-9 {
		t.Errorf("ideal line ends at %v, want 4 · 200 at the right and top", got)
	}
	if _, ok := DrawGrowth(Growth{}); ok {
		t.Error("a growth without sizes is drawn")
	}
}

// Missing values are gaps in a line, and equal steps one.
func TestSmallRuns(t *testing.T) {
	nan := math.NaN()
	c := Small{From: 0, To: 6, First: 0, Width: 1}
	y := SmallAxis(identity("op/s"), 10)
	for _, x := range []struct {
		name string
		line []float64
		want []int // points of every run
	}{
		{"none", nil, nil}, {"all missing", []float64{nan, nan}, nil}, {"level", []float64{5, 5, 5}, []int{2}},
		{"steps", []float64{5, 6, 7}, []int{6}}, {"a gap", []float64{5, nan, 7, 7}, []int{2, 2}},
	} {
		var got []int
		for _, run := range c.runs(x.line, y) {
			got = append(got, len(run))
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: runs of %v points, want %v", x.name, got, x.want)
		}
	}
}

// Beyond MaxLines nodes the least, the median and the greatest are drawn.
func TestSmallBand(t *testing.T) {
	c := Small{From: 0, To: 2, Width: 1}
	for i := range MaxLines + 1 {
		c.Lines = append(c.Lines, []float64{float64(i), math.NaN()})
		c.Names = append(c.Names, itoa(i))
	}
	low, middle, high := c.spread()
	if low[0] != 0 || middle[0] != 4 || high[0] != 8 || !math.IsNaN(middle[1]) {
		t.Errorf("spread = %v, %v, %v, want 0, 4, 8 and nothing", low, middle, high)
	}
	got := string(DrawSmall(c, SmallAxis(identity("op/s"), 0, c)).Area)
	if strings.Count(got, "<polygon") != 1 || strings.Count(got, "<polyline") != 1 {
		t.Errorf("want one band and one median: %s", got)
	}
}

// Layers stand on each other: the top of the last is the sum of all.
func TestStackAddsUp(t *testing.T) {
	c := Small{From: 0, To: 1, Width: 1, Names: []string{"a", "b"}, Lines: [][]float64{{2}, {3}}}
	got := string(DrawStack(c, SmallAxis(identity("op/s"), 10, c), []string{"a", "b"}).Area)
	for _, want := range []string{
		`class="a" points="0,800 1000,800 1000,1000 0,1000"`, `class="b" points="0,500 1000,500 1000,800 0,800"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in %s", want, got)
		}
	}
}
