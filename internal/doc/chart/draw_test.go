package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/test/golden"
)

// has fails for every piece of markup that is missing.
func has(t *testing.T, markup string, pieces ...string) {
	t.Helper()
	for _, p := range pieces {
		if !strings.Contains(markup, p) {
			t.Errorf("want %s in\n%s", p, strings.ReplaceAll(markup, "><", ">\n<"))
		}
	}
}

// TestGolden holds the drawings of all figures, as files, and what terminals
// show of them. The style sheet is left out: it is in every file.
func TestGolden(t *testing.T) {
	style := regexp.MustCompile(`(?s)<style>.*</style>`)
	for name, f := range gallery() {
		if name == "many" {
			continue // as timeline, and larger
		}
		golden.Check(t, "testdata/"+name+".svg", strings.ReplaceAll(style.ReplaceAllString(SVG(f), ""), "><", ">\n<"))
		var lines []string
		for _, c := range f.Panels {
			lines = append(lines, Text(c, TextOptions{Width: 80})...)
			lines = append(lines, Text(c, TextOptions{Width: 60, ASCII: true, Color: true})...)
		}
		if lines != nil {
			golden.Check(t, "testdata/"+name+".txt", strings.Join(lines, "\n")+"\n")
		}
	}
}

// A bar begins at 0 and ends at its value; a gain goes left. An interval that
// leaves the axis ends in an arrow there.
func TestOverviewGeometry(t *testing.T) {
	c := Chart{
		X: Axis{Unit: "%", Lo: ptr(0), Hi: ptr(100), Min: ptr(-100)}, Y: Axis{Kind: Rows, Rows: []Row{{Name: "a"}, {Name: "b"}}},
		Layers: []Layer{
			{Mark: Bar, X: Values{50, -20}, Y: Values{0, 1}, Roles: []Role{Bad, Better}},
			{Mark: Rule, Role: Interval, X: Values{40, -30}, X2: Values{60, -10}, Y: Values{0, 1}},
		},
	}
	// The axis reaches from -40 to 100: 0 stands at 28.57 %.
	d := Draw(c)[0]
	has(t, d.Rows[0], `class="m-bar r-bad" x="28.57%" y="15" width="35.71%"`, `class="whisker" x1="57.14%" y1="23" x2="71.43%"`)
	has(t, d.Rows[1], `class="m-bar r-better" x="14.29%" y="15" width="14.29%"`)
	if strings.Contains(d.Rows[0], "arrow") || strings.Contains(d.Rows[0], "r-better") {
		t.Errorf("the first row has what belongs to another: %s", d.Rows[0])
	}
	c.Layers[1].X[0] = -400
	got := Draw(c)[0].Rows[0]
	has(t, got, "◂")
	if strings.Contains(got, "▸") || !strings.Contains(got, `class="m-bar r-bad" x="50%"`) {
		t.Errorf("want an axis from -100 and an arrow at the left end only: %s", got)
	}
}

// Panels of one figure share the scale of y; those of another unit do not.
func TestPanelsShareTheirScale(t *testing.T) {
	panel := func(unit string, top float64) Chart {
		return Chart{Height: 100, Y: Axis{Unit: unit}, Layers: []Layer{{Mark: Point, X: Values{1}, Y: Values{top}}}}
	}
	d := Draw(panel("op/s", 50), panel("op/s", 100), panel("s", 50))
	has(t, d[0].Area, `cx="100%" cy="60"`) // half of 100, below a margin of 10
	has(t, d[1].Area, `cx="100%" cy="10"`)
	if d[0].Y != d[1].Y || d[0].Unit != "op/s" {
		t.Errorf("axes are\n%s\n%s", d[0].Y, d[1].Y)
	}
	has(t, d[2].Area, `cx="100%" cy="26.67"`) // 50 s of 60 s
}

// The ticks of a y axis are round in the unit that is shown, not in bytes: a
// label must say exactly where its line stands.
func TestTicksAreExact(t *testing.T) {
	const gib = 1 << 30
	s := newScale(Axis{Unit: "byte"}, []float64{1.1 * gib}, 5, false)
	ticks := s.ticks()
	if len(ticks) < 4 || s.label() != "GiB" {
		t.Fatalf("ticks = %v of %q, want at least 4 of GiB", ticks, s.label())
	}
	for _, at := range ticks {
		v, err := strconv.ParseFloat(at.text, 64)
		if want := s.share(v * gib); err != nil || math.Abs(at.share-want) > 1e-9 {
			t.Errorf("label %s GiB stands at %v, want %v", at.text, at.share, want)
		}
	}
}

func TestAxisLabels(t *testing.T) {
	for _, c := range []struct {
		axis  Axis
		top   float64
		want  string
		label string
	}{
		{Axis{Unit: "s", Tight: true}, 10, "0 s|5 s|10 s", ""},
		{Axis{Unit: "s", Tight: true}, 6000, "0 min|50 min|100 min", ""},
		{Axis{Unit: "s", Tight: true}, 36000, "0 h|5 h|10 h", ""},
		{Axis{Unit: "s"}, 980e-6, "0|0.5 ms|1.0 ms", ""},
		{Axis{Unit: "%", Signed: true, Lo: ptr(-4), Hi: ptr(4)}, 0, "−5 %|0 %|+5 %", ""},
		{Axis{Unit: "op/s", Label: "load"}, 2e6, "0|1|2", "load, Mop/s"},
		{Axis{Kind: Log, Unit: "s", Label: "latency", Lo: ptr(0.001)}, 0.1, "1 ms|10 ms|100 ms", "latency"},
		{Axis{Ticks: []Tick{{At: 1, Text: "one"}, {At: 9, Text: "far"}}}, 2, "one", ""},
		{Axis{Whole: true, Tight: true}, 2.5, "0|1|2", ""},
	} {
		s := newScale(c.axis, append(values(c.axis), c.top), 2, false)
		var texts []string
		for _, at := range s.ticks() {
			texts = append(texts, at.text)
		}
		got := strings.Join(texts, "|")
		if c.axis.Kind == Log {
			got = strings.NewReplacer("2 ms|", "", "5 ms|", "", "20 ms|", "", "50 ms|", "").Replace(got)
		}
		if got != c.want || s.label() != c.label {
			t.Errorf("%+v to %v: ticks %q, label %q, want %q, %q", c.axis, c.top, got, s.label(), c.want, c.label)
		}
	}
}

func values(a Axis) []float64 {
	p := plot{Chart: Chart{X: a}}
	return p.values(false)
}

// Missing values are gaps in a line, equal steps one, and stacks have gaps in
// the layers above, too.
func TestRuns(t *testing.T) {
	edges := []float64{0, 1, 2, 3}
	for _, c := range []struct {
		name string
		line []float64
		want string
	}{
		{"all missing", []float64{nan, nan, nan}, ""},
		{"level", []float64{5, 5, 5}, `points="0,500 1000,500"`},
		{"steps", []float64{5, 10, 10}, `points="0,500 333,500 333,0 1000,0"`},
		{"a gap", []float64{5, nan, 10}, `points="0,500 333,500"|points="667,0 1000,0"`},
	} {
		d := Draw(Chart{X: Axis{Tight: true, Lo: ptr(0), Hi: ptr(3)}, Y: Axis{Hi: ptr(10)}, Layers: Steps(edges, []string{"n"}, [][]float64{c.line})})
		got := strings.Join(regexp.MustCompile(`points="[^"]*"`).FindAllString(d[0].Area, -1), "|")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// The top of the last band of a stack is the sum of all.
func TestStackAddsUp(t *testing.T) {
	band := func(role Role, y ...float64) Layer {
		return Layer{Mark: Band, Role: role, Stack: true, X: Values{0, 1}, X2: Values{1, 2}, Y2: y}
	}
	d := Draw(Chart{X: Axis{Tight: true}, Y: Axis{Hi: ptr(10)}, Layers: []Layer{band(Series1, 2, 2), band(Series2, 3, nan), band(Series3, 1, 1)}})
	has(t, d[0].Area, `class="m-band r-s1 stack" points="0,800 1000,800 1000,1000 0,1000"`,
		`class="m-band r-s2 stack" points="0,500 500,500 500,800 0,800"`, `class="m-band r-s3 stack" points="0,400 500,400 500,500 0,500"`)
}

// Of more than eight lines the least, the median and the greatest are drawn.
func TestStepsOfMany(t *testing.T) {
	var lines [][]float64
	for i := range MostLines + 1 {
		lines = append(lines, []float64{float64(i), nan})
	}
	got := Steps([]float64{0, 1, 2}, nil, lines)
	if len(got) != 2 || got[0].Y[0] != 0 || got[0].Y2[0] != 8 || got[1].Y[0] != 4 || !math.IsNaN(got[1].Y[1]) {
		t.Errorf("Steps = %+v, want a band from 0 to 8, the median 4, and then a gap", got)
	}
	if got := Steps(nil, nil, lines); got != nil {
		t.Errorf("Steps without edges = %v", got)
	}
}

// What ends at Max is cut off, as points beyond it are left out.
func TestBeyondTheAxis(t *testing.T) {
	d := Draw(Chart{X: Axis{Hi: ptr(10)}, Y: Axis{Hi: ptr(100), Max: ptr(100)}, Layers: []Layer{
		{Mark: Line, X: Values{0, 10}, Y: Values{0, 200}}, {Mark: Point, X: Values{1, 2}, Y: Values{50, 150}},
	}})
	has(t, d[0].Area, `points="0,1000 1000,-1000"`, `class="plane"`)
	if n := strings.Count(d[0].Area, "<circle"); n != 1 {
		t.Errorf("%d points drawn, want the one on the axis", n)
	}
}

// Windows stand where they were on both axes, and what is not known is marked.
func TestCourseGeometry(t *testing.T) {
	d := Draw(course()...)
	if d[0].Unit != "kop/s" || d[1].Unit != "latency" || d[1].XLabel != "time since the first window began" {
		t.Errorf("units %q and %q, label %q", d[0].Unit, d[1].Unit, d[1].XLabel)
	}
	// The axis reaches 8 k: 6.4 k stands at a fifth from the top.
	has(t, d[0].Area, `class="stretch m-rule r-bad" x1="50%" y1="40" x2="66.67%" y2="40"`, `class="m-band r-bad" x="50%" y="40" width="16.67%" height="120"`)
	has(t, d[1].Area, `class="m-band r-unknown strip" x="53.33%" y="0" width="13.33%" height="9"`, `p90 ≤ 150 ms</text>`)
	ticks := regexp.MustCompile(`class="tick"[^>]*>[^<]*</text>`)
	if a, b := ticks.FindAllString(d[0].Area, -1), ticks.FindAllString(d[1].Area, -1); len(a) < 3 || strings.Join(a, "") != strings.Join(b, "") {
		t.Errorf("ticks of time are %q and %q, want the same", a, b)
	}
}

// Marks that passed stand above the line, the others below it, and however
// many there are, all stay in their lane.
func TestPilesStayInTheirLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	mark := regexp.MustCompile(`class="m-point r-(\w+)"[^>]* cy="([0-9.]+)"`)
	for range 300 {
		c := boundary()
		repeat := func(n int) Values {
			out := make(Values, n)
			for i := range out {
				out[i] = 7000
			}
			return out
		}
		n := rng.IntN(90)
		c.Layers = []Layer{
			{Mark: Point, Role: Good, Stack: true, X: repeat(n), Y: Values{1}},
			{Mark: Point, Role: Unknown, Stack: true, X: repeat(90 - n), Y: Values{-1}},
			{Mark: Point, Role: Interval, Stack: true, X: repeat(3), Y: Values{-1}},
		}
		found := mark.FindAllStringSubmatch(Draw(c)[0].Area, -1)
		if want := min(n, mostPiled) + min(90-n, mostPiled) + 3; len(found) != want {
			t.Fatalf("%d marks, want %d", len(found), want)
		}
		for _, m := range found {
			y, err := strconv.ParseFloat(m[2], 64)
			if above := y < 10+62; err != nil || above != (m[1] == "good") || y < 10 || y > 10+124 {
				t.Fatalf("a mark of %s stands at %v, the line at 72", m[1], y)
			}
		}
	}
}

// The names of vertical rules stay apart and inside of a narrow plot, however
// close the rules are to each other and to the ends.
func TestNamesOfRulesStayApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 7))
	name := regexp.MustCompile(`class="ink m-label[^"]*" text-anchor="(\w+)" x="([-0-9.]+)%" y="([0-9.]+)">([^<]*)<`)
	for range 2000 {
		c := Chart{X: Axis{Tight: true, Lo: ptr(0), Hi: ptr(1)}, Y: Axis{Hi: ptr(1)}}
		n := 1 + rng.IntN(3)
		for range n {
			c.Layers = append(c.Layers, Layer{Mark: Rule, X: Values{rng.Float64()}, Text: []string{"passed 7.055 kop/s"[:8+rng.IntN(11)]}})
		}
		found := name.FindAllStringSubmatch(Draw(c)[0].Area, -1)
		if len(found) != n {
			t.Fatalf("%d names of %d rules", len(found), n)
		}
		taken := map[string][][2]float64{}
		for _, m := range found {
			x, err := strconv.ParseFloat(m[2], 64)
			width := 100 * 6.4 * float64(len(m[4])) / 330 // as wide as the text is, not as the room that it gets
			span := map[string][2]float64{"start": {x, x + width}, "middle": {x - width/2, x + width/2}, "end": {x - width, x}}[m[1]]
			if err != nil || span[0] < -3 || span[1] > 103 {
				t.Errorf("%q takes %v %%", m[4], span)
			}
			for _, other := range taken[m[3]] {
				if span[0] < other[1] && other[0] < span[1] {
					t.Errorf("%q takes %v in the row of %v", m[4], span, other)
				}
			}
			taken[m[3]] = append(taken[m[3]], span)
		}
	}
}

// Very many rules keep their lines, but not all have room for their names.
func TestNamesOfVeryManyRules(t *testing.T) {
	l := Layer{Mark: Rule}
	for i := range 60 {
		l.X, l.Text = append(l.X, float64(i)), append(l.Text, "change of +5.7 %")
	}
	area := Draw(Chart{Height: 100, X: Axis{Tight: true}, Y: Axis{Hi: ptr(1)}, Layers: []Layer{l}})[0].Area
	lines, names := strings.Count(area, `y1="84"`), strings.Count(area, "change of") // from 6 above the plot, below five lanes
	if lines != 60 || names < mostLanes || names > 4*mostLanes {
		t.Errorf("%d rules with %d names: %s", lines, names, area)
	}
}

// Texts at any place stay within a narrow plot.
func TestRoomy(t *testing.T) {
	const text = "estimate 7.312 kop/s"
	width := room(text)
	for share := 0.0; share <= 1; share += 0.01 {
		a := roomy(share, text)
		left := map[anchor]float64{start: share, middle: share - width/2, end: share - width}[a]
		if left < -1e-9 || left+width > 1+1e-9 {
			t.Errorf("at %.2f, %s: from %.2f to %.2f, want within 0 and 1", share, a, left, left+width)
		}
	}
}

// Colours follow the logarithm of the value; what is bad has a mark, and what is
// beyond everything is hatched. For narrow screens the same cells stand in as
// many rows as there were columns.
func TestCells(t *testing.T) {
	c := Chart{
		X: Axis{Kind: Rows, Unit: "op/s", Rows: []Row{{Name: "1"}, {Name: "2"}, {Name: "3"}}}, Y: Axis{Kind: Rows, Rows: []Row{{Name: "p90", Role: Limit}, {Name: "p50"}}},
		Layers: []Layer{
			{Mark: Cell, Unit: "s", X: Values{0, 1, 2, 0, 1, 2}, Y: Values{1, 1, 1, 0, 0, 0}, Value: Values{0.001, 0.01, 0.1, 0.005, 0.05, math.Inf(1)},
				Text: []string{"1", "10", "100", "5", "50", "—"}, Roles: []Role{"", "", "", "", "", Bad}},
			{Mark: Band, Role: Limit, Y: Values{0}, Y2: Values{0}},
			{Mark: Rule, Role: Limit, X: Values{1.5}},
		},
	}
	d := Draw(c)[0]
	levels := func(area string) string {
		var out []string
		for _, m := range regexp.MustCompile(`<rect class="m-cell (\w+)`).FindAllStringSubmatch(area, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, " ")
	}
	if got, want := levels(d.Area), "h0 h4 h7 h2 h6 beyond"; got != want || levels(d.Tall.Area) != want {
		t.Errorf("cells are %s, and tall %s, want %s", got, levels(d.Tall.Area), want)
	}
	if n := strings.Count(d.Area, `class="overmark"`); n != 1 || d.Room != "upto4" || !strings.Contains(d.Scale, "1.00 ms") {
		t.Errorf("%d cells are marked, room %q, scale %s", n, d.Room, d.Scale)
	}
	has(t, d.Area, `class="m-rule r-limit" x1="66.67%"`, `class="m-band r-limit" x="0%" y="10" width="100%" height="30"`)
	has(t, d.Tall.Area, `class="m-rule r-limit" x1="0" y1="70" x2="100%" y2="70"`, `class="m-band r-limit" x="50%" y="10" width="50%" height="90"`)
	has(t, d.Y, `class="tick strong" text-anchor="end" x="51" y="29">p90`)
	if d.Tall.Unit != "op/s" {
		t.Errorf("unit of the tall one is %q, want that of the loads", d.Tall.Unit)
	}
}

// TestCellsStay: the axes of cells stay as they are on narrow screens where names of rows
// would lie over each other, beside each other.
func TestCellsStay(t *testing.T) {
	c := Chart{X: Axis{Kind: Rows, Rows: []Row{{Name: "5"}, {Name: "10"}}}, Y: Axis{Kind: Rows},
		Layers: []Layer{{Mark: Cell, X: Values{0, 1}, Y: Values{0, 1}, Value: Values{1, 2}}}}
	for range 12 {
		c.Y.Rows = append(c.Y.Rows, Row{Name: "threads of app"})
	}
	if d := Draw(c)[0]; d.Tall != nil {
		t.Error("the axes are swapped, and the names have no room")
	}
}

// Values of small spread have colours in proportion. Rows that are read from the top
// stand from left to right where they are swapped.
func TestShadings(t *testing.T) {
	c := Chart{
		X: Axis{Kind: Rows, Rows: []Row{{Name: "1"}, {Name: "2"}, {Name: "3"}}}, Y: Axis{Kind: Rows, Down: true, Rows: []Row{{Name: "Mon"}, {Name: "Tue"}}},
		Layers: []Layer{{Mark: Cell, Unit: "op/s", Shading: Even, X: Values{0, 1, 2, 0, 1, 2}, Y: Values{0, 0, 0, 1, 1, 1},
			Value: Values{97, 100, 101, 99.9, 105, nan}}},
	}
	classes := func(of string) string {
		var out []string
		for _, m := range regexp.MustCompile(`<rect class="m-cell ([a-z0-9 ]+)"`).FindAllStringSubmatch(of, -1) {
			out = append(out, m[1])
		}
		return strings.Join(out, "|")
	}
	d := Draw(c)[0]
	has(t, d.Scale, ">97.00</text>", ">105.0 op/s</text>")
	if mon, tue := strings.Index(d.Tall.Area, ">Mon<"), strings.Index(d.Tall.Area, ">Tue<"); mon < 0 || tue < mon {
		t.Errorf("Monday is not left of Tuesday: %s", d.Tall.Area)
	}
	if got, want := classes(d.Area), "h0|h3|h4|h2|h7 hot|beyond"; got != want {
		t.Errorf("in proportion: %s, want %s", got, want)
	}
}

// Quartiles as R has them (type 7), whiskers as Tukey has them.
func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   [5]float64
	}{
		{"one", []float64{3}, [5]float64{3, 3, 3, 3, 3}},
		{"1 to 5", []float64{5, 1, 4, 2, 3}, [5]float64{1, 2, 3, 4, 5}},
		{"1 to 4", []float64{1, 2, 3, 4}, [5]float64{1, 1.75, 2.5, 3.25, 4}},
		// quantile(c(1,2,3,4,5,6,7,100), c(.25,.5,.75)) = 2.75 4.5 6.25
		{"an outlier", []float64{1, 2, 3, 4, 5, 6, 7, 100}, [5]float64{1, 2.75, 4.5, 6.25, 7}},
	} {
		if got := [5]float64(Summarize(c.values, Tukey).Five); got != c.want {
			t.Errorf("%s: Summarize = %v, want %v", c.name, got, c.want)
		}
	}
}

// The other style has the mean and the first and last percentile; what is not
// finite is left out, and the values stay as they are.
func TestSummarizeByPercentiles(t *testing.T) {
	values := []float64{nan, math.Inf(1)}
	for i := range 101 {
		values = append(values, math.Pow(float64(i*37%101), 1.5))
	}
	before := slices.Clone(values[2:])
	// numpy.percentile(v, [1, 25, 75, 99]) and numpy.mean(v) of the same values
	want := Values{1, 125, 401.00222292394994, 649.519052838329, 985.0375627355537}
	s := Summarize(values, Percentiles)
	if diff := cmp.Diff(want, s.Five, near); diff != "" || s.N != 101 || !slices.Equal(values[2:], before) {
		t.Errorf("%d values (-want +got):\n%s", s.N, diff)
	}
	if s := Summarize(nil, Percentiles); s.N != 0 || !math.IsNaN(s.Five[2]) {
		t.Errorf("of nothing: %+v", s)
	}
}

// Boxes that were computed before are drawn as those of their values are, and a
// summary that is none is left out.
func TestBoxesComputedBefore(t *testing.T) {
	values := Values{1000, 2000, 3000, 4000, 5000}
	rows := []Row{{Name: "a"}, {Name: "b"}}
	lying := func(l Layer) Drawing {
		return Draw(Chart{X: Axis{Unit: "op/s"}, Y: Axis{Kind: Rows, Rows: rows}, Layers: []Layer{l}})[0]
	}
	of := lying(Layer{Mark: Box, X: values, Y: Values{1, 1, 1, 1, 1}})
	before := lying(Layer{Mark: Box, Y: Values{1, 0}, Boxes: []Summary{Summarize(values, Tukey), Summarize(nil, Tukey)}})
	if of.Rows[1] != before.Rows[1] || of.Area != before.Area || strings.Contains(before.Rows[0], "midline") {
		t.Errorf("drawn as\n%s\nwant\n%s", before.Rows, of.Rows)
	}
	other := lying(Layer{Mark: Box, Y: Values{0, 1}, Roles: []Role{Series3, Series4},
		Boxes: []Summary{Summarize(values, Percentiles), Summarize(Values{1, 2}, Tukey)}})
	has(t, other.Rows[0], "m-box r-s3", "mean 3 kop/s; half of the values: 2 kop/s to 4 kop/s; 98 of 100: 1.04 kop/s "+
		"to 4.96 kop/s")
	if !strings.Contains(other.Rows[1], "midline") || strings.Contains(other.Rows[1], "r-s4") {
		t.Error("two values make no box, and have a median")
	}
	far := lying(Layer{Mark: Box, Y: Values{0, 1}, Boxes: []Summary{Summarize(values, Tukey), Summarize(Values{90, 95, 100, 105, 110}, Tukey)}})
	relative := Draw(Chart{X: Axis{Unit: "op/s", Relative: true}, Y: Axis{Kind: Rows, Rows: rows}, Layers: []Layer{
		{Mark: Box, Y: Values{0, 1}, Boxes: []Summary{Summarize(values, Tukey), Summarize(Values{90, 95, 100, 105, 110}, Tukey)}},
	}})[0]
	if far.XLabel != "kop/s" || relative.XLabel != "difference from each row’s median" || !strings.Contains(relative.Rows[0], `class="midline" x1="50%"`) {
		t.Errorf("labels %q and %q: %s", far.XLabel, relative.XLabel, relative.Rows[0])
	}
}

// Hours are no numbers from 1: where there is no room, some are left out.
func TestNamesThatAreNumbers(t *testing.T) {
	c := Chart{X: Axis{Kind: Rows}, Layers: []Layer{{Mark: Point, X: Values{0}, Y: Values{1}}}}
	for h := range 24 {
		c.X.Rows = append(c.X.Rows, Row{Name: strconv.Itoa(h)})
	}
	has(t, Draw(c)[0].Area, `x="2.08%" y="226">0</text>`, `x="43.75%" y="226">10</text>`)
	c.X.Rows[23].Name = "midnight"
	has(t, Draw(c)[0].Area, `x="18.75%" y="226">5</text>`) // the fifth
}

// The bars of a histogram touch each other and stand where their bins are.
func TestHistogramBars(t *testing.T) {
	d := Draw(Chart{Height: 100, X: Axis{Tight: true, Lo: ptr(0), Hi: ptr(10)}, Y: Axis{Hi: ptr(10)}, Layers: []Layer{
		{Mark: Bar, X: Values{0, 2, 4}, X2: Values{2, 4, 10}, Y: Values{5, 10, nan}, Roles: []Role{Series1, Series2, Series1}},
	}})[0]
	has(t, d.Area, `class="m-bar r-s1 bin" x="0%" y="60" width="20%" height="50"`, `class="m-bar r-s2 bin" x="20%" y="10" width="20%" height="100"`)
	if strings.Count(d.Area, "<rect") != 2 {
		t.Errorf("a bin without count is drawn: %s", d.Area)
	}
}

func TestBoxes(t *testing.T) {
	d := Draw(boxes())[0]
	if d.XLabel != "kop/s" || len(d.Rows) != 3 {
		t.Fatalf("%d rows, label %q", len(d.Rows), d.XLabel)
	}
	has(t, d.Rows[0], `class="m-box r-plain" x="40%" y="14" width="40%"`, "half of the values: 2 kop/s to 4 kop/s")
	if n := strings.Count(d.Rows[0], "<circle"); n != 5 || strings.Count(d.Rows[0], "hollow") != 1 {
		t.Errorf("want 5 points, the first hollow: %s", d.Rows[0])
	}
	has(t, d.Rows[1], `class="midline" x1="45%"`)
	if strings.Contains(d.Rows[1], "m-box") {
		t.Errorf("two values make no box: %s", d.Rows[1])
	}
	has(t, d.Rows[2], ">no estimate<")
	c := boxes()
	c.Layers[0].X, c.Layers[0].Y, c.Layers[1] = Values{7000, 7100}, Values{0, 1}, Layer{}
	if got := Draw(c)[0]; got.XLabel != "kop/s, not from 0" {
		t.Errorf("values close together are drawn on an axis of %q: nothing would be seen", got.XLabel)
	}
}

// Rows with medians far apart are drawn around them, all in the same measure.
func TestBoxesFarApart(t *testing.T) {
	c := boxesFarApart()
	before := fmt.Sprint(c.Layers[0].X)
	d := Draw(c)[0]
	if d.XLabel != "difference from each row’s median" {
		t.Fatalf("label %q", d.XLabel)
	}
	has(t, d.Rows[0], `class="midline" x1="50%"`)
	has(t, d.Rows[1], `class="m-box r-plain" x="33.33%" y="14" width="33.33%"`, "half of the values: 980 op/s to 1.02 kop/s")
	has(t, d.Area, ">−6 %<", ">+6 %<")
	if got := fmt.Sprint(c.Layers[0].X); got != before {
		t.Errorf("drawing changed the declaration to %s", got)
	}
	near := Chart{X: Axis{Unit: "op/s", Relative: true}, Y: c.Y, Layers: []Layer{{Mark: Box, X: Values{100, 101, 250}, Y: Values{0, 0, 1}}}}
	if got := Draw(near)[0].XLabel; got != "op/s" {
		t.Errorf("targets that are close together are drawn on %q, want to scale", got)
	}
}

// Texts from outside are escaped wherever they stand, and missing values not
// drawn.
func TestTextsAreEscaped(t *testing.T) {
	const evil = `<script>&"'` + "\x1b[31m"
	for name, f := range gallery() {
		f.Title, f.Words, f.Note, f.Titles = evil, evil, evil, []string{evil}
		for i := range f.Panels {
			c := &f.Panels[i]
			c.Title, c.X.Label, c.Y.Label, c.X.Unit = evil, evil, evil, evil
			for k := range c.Y.Rows {
				c.Y.Rows[k] = Row{Name: evil, Sub: evil, Value: evil, Note: evil, Tag: evil, Role: evil, More: []string{evil}}
			}
			for k := range c.Layers {
				l := &c.Layers[k]
				l.Name, l.Role, l.Unit, l.Text, l.Tips = evil, evil, evil, []string{evil}, []string{evil}
			}
			for _, line := range Text(*c, TextOptions{}) {
				if strings.Contains(line, "\x1b") {
					t.Errorf("%s: %q acts on a terminal", name, line)
				}
			}
		}
		got := SVG(f)
		wellFormed(t, got)
		if strings.Contains(got, "<script") || strings.Contains(got, "\x1b") {
			t.Errorf("%s: a text is not escaped: %s", name, got)
		}
		for _, k := range Legend(f.Panels...) {
			wellFormed(t, k.Swatch)
		}
	}
}

// A sheet for files has every colour by value, and no two themes alike.
func TestFileStyle(t *testing.T) {
	sheet := fileStyle()
	if strings.Contains(sheet, "var(") || strings.Contains(sheet, ": ;") || strings.Count(sheet, "{") != strings.Count(sheet, "}") {
		t.Errorf("colours are missing in %s", sheet)
	}
	for _, m := range property.FindAllStringSubmatch(marks+layout+fileMarks, -1) {
		if !strings.Contains(light, m[1]+":") || !strings.Contains(dark, m[1]+":") {
			t.Errorf("%s is not in both palettes", m[1])
		}
	}
}

// Many rows and many marks take time in proportion.
func TestManyRows(t *testing.T) {
	c := Chart{Y: Axis{Kind: Rows}, Layers: []Layer{{Mark: Bar}, {Mark: Point}}}
	const n = 20000
	for i := range n {
		c.Y.Rows = append(c.Y.Rows, Row{Name: "n"})
		for k := range c.Layers {
			c.Layers[k].X, c.Layers[k].Y = append(c.Layers[k].X, float64(i)), append(c.Layers[k].Y, float64(i))
		}
	}
	d := Draw(c)[0]
	if len(d.Rows) != n || strings.Count(d.Rows[n-1], "<circle") != 1 {
		t.Errorf("%d rows, the last %s", len(d.Rows), d.Rows[n-1])
	}
}

// A bar of unknown worth is drawn in text where it has a value, and only there.
func TestTextOfUnknownBars(t *testing.T) {
	c := Chart{Y: Axis{Kind: Rows, Rows: []Row{{Name: "a"}, {Name: "b"}}}, Layers: []Layer{
		{Mark: Bar, Role: Unknown, X: Values{5}, Y: Values{0}}, {Mark: Bar, Role: Unknown, X: Values{0}, X2: Values{10}, Y: Values{1}},
	}}
	lines := Text(c, TextOptions{Width: 40, ASCII: true})
	if len(lines) != 3 || !strings.Contains(lines[0], "##") || strings.Contains(lines[1], "#") {
		t.Errorf("want a bar in the first row alone: %q", lines)
	}
}
