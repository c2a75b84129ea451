package figure

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/report/svg"
)

// twoWindows is a course of one window that passed and one that was missed, in
// which nothing ended well from the second second on.
func twoWindows() Course {
	nan := math.NaN()
	return Course{
		Title: "t", Limits: []LatencyLimit{{"p90 ≤ 100 ms", 0.1}},
		Windows: []CourseWindow{
			{Class: "passed", Load: 100, From: 0, To: 5, Steps: []CourseStep{
				{From: 1, To: 3, Achieved: 100, Median: 0.01, P90: 0.1}, {From: 3, To: 5, Achieved: 100, Median: 0.01, P90: 0.1},
			}},
			{Class: "missed", Load: 400, From: 5, To: 10, Steps: []CourseStep{
				{From: 6, To: 8, Achieved: 200, Median: 0.1, P90: nan, Short: "half"}, {From: 8, To: 10, Achieved: 0, Median: nan, P90: nan, Short: "all"},
			}},
		},
	}
}

// Windows stand where they were on both axes, and what is not known is not
// drawn but marked.
func TestCourseGeometry(t *testing.T) {
	p, ok := twoWindows().Draw()
	if !ok || p.Unit != "op/s" {
		t.Fatalf("Draw: %v, unit %q, want drawn in op/s", ok, p.Unit)
	}
	load, latency := string(p.Load.Area), string(p.Latency.Area)
	for _, want := range []string{
		// The axis reaches 400: 100 stands at a quarter of it.
		`class="offered w-passed" points="0,750 500,750"`, `class="offered w-missed" points="500,0 1000,0"`,
		`class="achieved" points="100,750 500,750"`, `class="achieved" points="600,500 800,500 800,1000 1000,1000"`,
		`class="worth w-passed" cx="25%"`, `class="worth w-missed" d=`,
	} {
		if !strings.Contains(load, want) {
			t.Errorf("load: want %s in\n%s", want, load)
		}
	}
	for _, want := range []string{
		// The axis reaches from 10 to 100 ms.
		`class="latency p50" points="100,1000 500,1000"`, `class="latency p90" points="100,0 500,0"`,
		`class="latency p50" points="600,0 800,0"`, `class="sla" x1="0" y1="10"`,
		`class="short" x="60%" y="0" width="40%"`, `2 steps, the first: half`,
	} {
		if !strings.Contains(latency, want) {
			t.Errorf("latency: want %s in\n%s", want, latency)
		}
	}
	if strings.Count(latency, `class="latency p90"`) != 1 {
		t.Errorf("a percentile that is not known is drawn: %s", latency)
	}
	if _, ok := (Course{}).Draw(); ok {
		t.Error("a course without windows is drawn")
	}
}

// Both plots have one axis of time, so that a second stands above itself.
func TestCourseIsAligned(t *testing.T) {
	c := twoWindows()
	for i := range c.Windows {
		c.Windows[i].From, c.Windows[i].To = 600*c.Windows[i].From, 600*c.Windows[i].To
	}
	p, _ := c.Draw()
	ticks := regexp.MustCompile(`class="tick"[^>]*>[^<]*</text>`)
	load, latency := ticks.FindAllString(string(p.Load.Area), -1), ticks.FindAllString(string(p.Latency.Area), -1)
	if len(load) < 3 || strings.Join(load, "") != strings.Join(latency, "") {
		t.Errorf("ticks of time are %q and %q, want the same", load, latency)
	}
	if !strings.Contains(load[1], "20 min<") {
		t.Errorf("ticks of 100 minutes are %q, want minutes", load)
	}
}

func ptrTo[T any](v T) *T { return &v }

// What was found stands in the middle, with the loads near it; those of the
// ramp are outside.
func TestBoundaryGeometry(t *testing.T) {
	b := Boundary{
		Loads:  []BoundaryLoad{{Load: 10, Passed: 1}, {Load: 100, Passed: 2, Missed: 1}, {Load: 104, Missed: 3, Unusable: 1}, {Load: 1000, Missed: 1}},
		Passed: ptrTo(100.), Failed: ptrTo(104.), Estimate: ptrTo(102.), CI: &[2]float64{99, 105},
	}
	p, unitOf, ok := b.Draw()
	if !ok || unitOf != "op/s" {
		t.Fatalf("Draw: %v in %q, want drawn in op/s", ok, unitOf)
	}
	for _, l := range b.Loads {
		if want := l.Load > 50 && l.Load < 200; b.Shows(l.Load) != want {
			t.Errorf("Shows(%v) = %v, want %v", l.Load, !want, want)
		}
	}
	got := string(p.Area)
	for class, want := range map[string]int{"w-passed\" cx": 2, "worth w-missed": 4, "w-unusable\" cx": 1, "side ": 2, "\"estimate\"": 1, "\"ciband\"": 1} {
		if n := strings.Count(got, class); n != want {
			t.Errorf("%d of %s, want %d: %s", n, class, want, got)
		}
	}
	for _, m := range regexp.MustCompile(`class="worth (w-\w+)"[^>]* cy="([0-9.]+)"`).FindAllStringSubmatch(got, -1) {
		y, err := strconv.ParseFloat(m[2], 64)
		if above := y < boundaryAxis; err != nil || above != (m[1] == "w-passed") {
			t.Errorf("a mark of %s stands at %v, the axis at %d", m[1], y, boundaryAxis)
		}
	}
	if want := "100 op/s: 2 passed, 1 missed"; b.Loads[1].Words() != want {
		t.Errorf("Words = %q, want %q", b.Loads[1].Words(), want)
	}
}

// The names of the two sides stay apart and inside of a narrow plot, however
// far the sides are from each other and from the interval.
func TestBoundaryNamesStayApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	name := regexp.MustCompile(`class="sidename (w-\w+)" text-anchor="(\w+)" x="([-0-9.]+)%" y="([0-9.]+)">([^<]*)<`)
	for range 2000 {
		passed := math.Exp(rng.Float64() * 14)
		failed := passed * (1.002 + 3*rng.ExpFloat64()*float64(rng.IntN(2)))
		b := Boundary{Passed: &passed, Failed: &failed, Loads: []BoundaryLoad{{Load: passed, Passed: 1}, {Load: failed, Missed: 1}}}
		if rng.IntN(2) == 0 {
			b.CI = &[2]float64{passed * math.Exp(-4*rng.Float64()), failed * math.Exp(4*rng.Float64())}
		}
		p, _, ok := b.Draw()
		found := name.FindAllStringSubmatch(string(p.Area), -1)
		if !ok || len(found) != 2 {
			t.Fatalf("%v: %d names of sides in %s", b, len(found), p.Area)
		}
		var spans [2][2]float64 // percent of a narrow plot
		for i, m := range found {
			x, err := strconv.ParseFloat(m[3], 64)
			width := 100 * 6.4 * float64(len(m[5])) / 280 // as wide as the text is, not as the room that it gets
			spans[i] = map[string][2]float64{"start": {x, x + width}, "end": {x - width, x}}[m[2]]
			if err != nil || spans[i][0] < -3 || spans[i][1] > 103 {
				t.Errorf("passed %v, failed %v, interval %v: %q takes %v %%", passed, failed, b.CI, m[5], spans[i])
			}
		}
		if found[0][4] == found[1][4] && spans[0][1] > spans[1][0] {
			t.Errorf("passed %v, failed %v, interval %v: names take %v in one row", passed, failed, b.CI, spans)
		}
	}
}

// However often a load was tried, marks stay in their lane.
func TestBoundaryStaysInItsLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	y := regexp.MustCompile(` c?y="([0-9.]+)"`)
	for range 300 {
		b := Boundary{Loads: []BoundaryLoad{{Load: 1 + rng.ExpFloat64(), Passed: rng.IntN(90), Missed: rng.IntN(90), Unusable: 1 + rng.IntN(90)}}}
		p, _, ok := b.Draw()
		if !ok {
			t.Fatalf("%+v is not drawn", b)
		}
		for _, m := range y.FindAllStringSubmatch(string(p.Area), -1) {
			if v, err := strconv.ParseFloat(m[1], 64); err != nil || v > boundaryEnd+marginBottom {
				t.Fatalf("%+v: something stands at %s: %v", b, m[1], err)
			}
		}
	}
}

// Without anything found, all that was tried is shown.
func TestBoundaryOfNothingFound(t *testing.T) {
	b := Boundary{Loads: []BoundaryLoad{{Load: 1, Passed: 1}, {Load: 4096, Unusable: 1}}}
	if !b.Shows(1) || !b.Shows(4096) {
		t.Error("loads are outside of the drawing")
	}
	for _, bad := range []Boundary{{}, {Loads: []BoundaryLoad{{Load: math.NaN(), Passed: 1}, {Load: -1}}}} {
		if _, _, ok := bad.Draw(); ok {
			t.Errorf("%+v is drawn", bad)
		}
	}
}

// smallHeat has three loads, two percentiles, one of them with a limit, and a
// latency beyond everything.
func smallHeat() Heat {
	return Heat{
		Title: "t", Loads: []string{"1", "2", "3"}, Tips: []string{"a", "b", "c"}, Boundary: 2,
		Rows: []HeatRow{
			{Name: "p50", Values: []float64{0.001, 0.01, 0.1}},
			{Name: "p90", Limit: ptrTo(0.05), Values: []float64{0.005, 0.05, math.Inf(1)}},
		},
	}
}

// Colours follow the logarithm of the latency; what is above its limit has a
// mark, and what is beyond everything no number.
func TestHeatCells(t *testing.T) {
	h := smallHeat()
	m, ok := h.Draw()
	if !ok || m.Room != "upto4" {
		t.Fatalf("Draw: %v, room %q, want drawn with upto4", ok, m.Room)
	}
	got := string(m.Area)
	var classes, texts []string
	for _, c := range regexp.MustCompile(`<rect class="cell (\w+)"`).FindAllStringSubmatch(got, -1) {
		classes = append(classes, c[1])
	}
	for _, c := range regexp.MustCompile(`class="cellink[^>]*>([^<]*)<`).FindAllStringSubmatch(got, -1) {
		texts = append(texts, c[1])
	}
	if a, b := strings.Join(classes, " "), "h0 h4 h7 h2 h6 beyond"; a != b {
		t.Errorf("cells are %s, want %s", a, b)
	}
	if a, b := strings.Join(texts, " "), "1.00 10.0 100 5.00 50.0 —"; a != b {
		t.Errorf("texts are %s, want %s", a, b)
	}
	if n := strings.Count(got, `class="overmark"`); n != 1 {
		t.Errorf("%d cells are marked as above their limit, want the one that was not reached: %s", n, got)
	}
	if !strings.Contains(got, `class="divide" x1="66.67%"`) {
		t.Errorf("the boundary is not between 2 and 3: %s", got)
	}
	if y := string(m.Y); placeOf(t, y, "p90") >= placeOf(t, y, "p50") {
		t.Errorf("want the higher percentile above: %s", y)
	}
}

// placeOf is the y, in pixels, of a text in a drawing.
func placeOf(t *testing.T, drawing, text string) float64 {
	t.Helper()
	found := regexp.MustCompile(`<text[^>]* y="([0-9.]+)"[^>]*>` + regexp.QuoteMeta(text) + `<`).FindStringSubmatch(drawing)
	if found == nil {
		t.Fatalf("no text %q in %s", text, drawing)
	}
	y, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// TestHeatTall: for narrow screens the same cells stand in as many rows as
// there are loads.
func TestHeatTall(t *testing.T) {
	h := smallHeat()
	m, ok := h.Draw()
	if !ok {
		t.Fatal("not drawn")
	}
	cells := regexp.MustCompile(`<rect class="cell[^>]*>(?:<title>[^<]*</title>)?`)
	wide, tall := cells.FindAllString(string(m.Area), -1), cells.FindAllString(string(m.Tall.Area), -1)
	if len(wide) != 6 || len(tall) != 6 {
		t.Fatalf("%d and %d cells, want 6 each", len(wide), len(tall))
	}
	place := regexp.MustCompile(` (x|y|width)="[^"]*"`)
	for i := range wide {
		if a, b := place.ReplaceAllString(wide[i], ""), place.ReplaceAllString(tall[i], ""); a != b {
			t.Errorf("cell %d is %s, and in the tall map %s", i, a, b)
		}
	}
	if y := string(m.Tall.Y); !(placeOf(t, y, "1") < placeOf(t, y, "2") && placeOf(t, y, "2") < placeOf(t, y, "3")) {
		t.Errorf("want loads to grow downwards: %s", y)
	}
	if got := string(m.Tall.Area); !strings.Contains(got, `class="divide" x1="0" y1="70" x2="100%" y2="70"`) ||
		!strings.Contains(got, `class="slarow" x="50%" y="10" width="50%" height="90"`) {
		t.Errorf("want the boundary below the second load, and p90 outlined: %s", got)
	}
}

func TestHeatOfTooMuchOrNothing(t *testing.T) {
	h := Heat{Rows: []HeatRow{{Name: "p50"}}}
	if _, ok := h.Draw(); ok {
		t.Error("a map without loads is drawn")
	}
	for range HeatMost + 1 {
		h.Loads, h.Tips = append(h.Loads, "1"), append(h.Tips, "")
	}
	if _, ok := h.Draw(); ok {
		t.Error("a map is drawn of more loads than have room")
	}
	h.Loads = h.Loads[1:]
	if m, ok := h.Draw(); !ok || m.Room != "upto60" || m.Scale != "" {
		t.Errorf("Draw of cells without values: %v, room %q, scale %q", ok, m.Room, m.Scale)
	}
}

// TestBox: quartiles as R has them (type 7), whiskers as Tukey has them.
func TestBox(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   box
	}{
		{"one", []float64{3}, box{3, 3, 3, 3, 3}},
		{"1 to 5", []float64{5, 1, 4, 2, 3}, box{1, 2, 3, 4, 5}},
		{"1 to 4", []float64{1, 2, 3, 4}, box{1, 1.75, 2.5, 3.25, 4}},
		// quantile(c(1,2,3,4,5,6,7,100), c(.25,.5,.75)) = 2.75 4.5 6.25
		{"an outlier", []float64{1, 2, 3, 4, 5, 6, 7, 100}, box{1, 2.75, 4.5, 6.25, 7}},
	} {
		if got, ok := newBox(c.values); !ok || got != c.want {
			t.Errorf("%s: newBox = %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}

func TestBoxes(t *testing.T) {
	row := func(values ...float64) BoxRow {
		r := BoxRow{Name: "n"}
		for i, v := range values {
			r.Values = append(r.Values, BoxValue{Value: v, Firm: i > 0})
		}
		return r
	}
	c, ok := Boxes("op/s", []BoxRow{row(1000, 2000, 3000, 4000, 5000), row(2000, 2500), row(), row(math.NaN())})
	if !ok || c.Unit != "kop/s" || !c.FromZero || len(c.Rows) != 4 {
		t.Fatalf("Boxes: %v, unit %q, from zero %v, %d rows", ok, c.Unit, c.FromZero, len(c.Rows))
	}
	if got := string(c.Rows[0]); !strings.Contains(got, `class="box" x="40%" y="14" width="40%"`) || strings.Count(got, "<circle") != 5 {
		t.Errorf("want a box from 2 to 4 k on an axis up to 5 k, and 5 points: %s", got)
	}
	if got := string(c.Rows[0]); strings.Count(got, `class="single"`) != 1 || strings.Count(got, `class="point firm"`) != 4 {
		t.Errorf("want the first point hollow: %s", got)
	}
	if got := string(c.Rows[1]); strings.Contains(got, `class="box"`) || !strings.Contains(got, `class="midline" x1="45%"`) {
		t.Errorf("two values make no box, but have a median: %s", got)
	}
	for _, r := range c.Rows[2:] {
		if !strings.Contains(string(r), ">no estimate<") {
			t.Errorf("a row without values does not say so: %s", r)
		}
	}
	if c, _ := Boxes("op/s", []BoxRow{row(7000, 7100)}); c.FromZero {
		t.Error("values close together are drawn on an axis from 0: nothing would be seen")
	}
	if _, ok := Boxes("op/s", []BoxRow{row()}); ok {
		t.Error("boxes of nothing are drawn")
	}
}

// TestBoxesFarApart: rows whose medians are far apart are drawn around them,
// all in the same measure.
func TestBoxesFarApart(t *testing.T) {
	row := func(values ...float64) BoxRow {
		r := BoxRow{Name: "n"}
		for _, v := range values {
			r.Values = append(r.Values, BoxValue{Value: v})
		}
		return r
	}
	c, ok := Boxes("op/s", []BoxRow{row(95, 100, 105), row(960, 980, 1000, 1020, 1040), row()})
	if !ok || !c.Relative || c.FromZero || c.Unit != "from the median" {
		t.Fatalf("%v, relative %v, from zero %v, unit %q", ok, c.Relative, c.FromZero, c.Unit)
	}
	for i, want := range []string{`class="midline" x1="50%"`, `class="box" x="33.33%" y="14" width="33.33%"`, ">no estimate<"} {
		if got := string(c.Rows[i]); !strings.Contains(got, want) {
			t.Errorf("row %d lacks %s: %s", i, want, got)
		}
	}
	if got := string(c.Rows[1]); !strings.Contains(got, "half of the values: 980 op/s to 1.02 kop/s") {
		t.Errorf("the box does not say what it is of: %s", got)
	}
	for _, want := range []string{">−4 %<", ">0 %<", ">+4 %<"} {
		if !strings.Contains(string(c.Axis), want) {
			t.Errorf("the axis lacks %s: %s", want, c.Axis)
		}
	}
	if c, _ := Boxes("op/s", []BoxRow{row(100, 101), row(250)}); c.Relative {
		t.Error("targets that are close together are not drawn to scale")
	}
	if c, ok := Boxes("op/s", []BoxRow{row(100), row(1000)}); !ok || !c.Relative {
		t.Error("single values far apart are not drawn")
	}
}

func TestSecondsTick(t *testing.T) {
	for v, want := range map[float64]string{0.001: "1 ms", 0.02: "20 ms", 5e-6: "5 µs", 1: "1 s", 0.15: "150 ms", 20: "20 s"} {
		if got := secondsTick(v); got != want {
			t.Errorf("secondsTick(%v) = %q, want %q", v, got, want)
		}
	}
}

// Texts at any place stay within a narrow plot.
func TestRoomyAnchor(t *testing.T) {
	text := "estimate 7.312 kop/s"
	width := letterWidth * float64(len(text)) / narrowPlot
	for share := 0.0; share <= 1; share += 0.01 {
		anchor := roomyAnchor(share, text)
		left := map[svg.Anchor]float64{svg.Start: share, svg.Middle: share - width/2, svg.End: share - width}[anchor]
		if left < -1e-9 || left+width > 1+1e-9 {
			t.Errorf("at %.2f, %s: from %.2f to %.2f, want within 0 and 1", share, anchor, left, left+width)
		}
	}
}
