package chart

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// noise is the worst there is for a raster: no two neighbours alike.
func noise(n int) Dots {
	rng := rand.New(rand.NewPCG(1, 2))
	d := Dots{Levels: []string{""}, X: make([]float64, n), Y: make([]float64, n), Codes: make([]uint16, n)}
	for k := range 12 {
		d.Levels = append(d.Levels, string(rune('a'+k)))
	}
	for i := range n {
		d.X[i], d.Y[i], d.Codes[i] = rng.Float64(), math.Exp(rng.NormFloat64()), uint16(rng.IntN(13))
	}
	return d
}

// Every occupied cell has the colour of the level that most of its points have,
// and the shade of their number; no other cell has any.
func TestScatterCounts(t *testing.T) {
	d := noise(50_000)
	d.X[7], d.Y[8], d.Y[9] = math.NaN(), math.Inf(1), 900 // the last is beyond Max
	for _, kind := range []AxisKind{Linear, Log} {
		layers := Scatter(Axis{}, Axis{Kind: kind, Max: ptr(800)}, d)
		roles := LevelRoles(d.Levels, d.Codes)
		grid := layers[0].Grid
		type cell struct{ column, row int }
		counts, total := map[cell]map[Role]float64{}, map[cell]float64{}
		place := func(v float64, ends Values, n int, log bool) int {
			if log {
				return min(int(math.Log(v/ends[0])/math.Log(ends[1]/ends[0])*float64(n)), n-1)
			}
			return min(int((v-ends[0])/(ends[1]-ends[0])*float64(n)), n-1)
		}
		most := 0.0
		for i := range d.X {
			if !finite(d.X[i], d.Y[i]) || d.Y[i] > 800 {
				continue
			}
			at := cell{place(d.X[i], grid.X, grid.Columns, false), place(d.Y[i], grid.Y, grid.Rows, kind == Log)}
			if counts[at] == nil {
				counts[at] = map[Role]float64{}
			}
			counts[at][roles[d.Codes[i]]]++
			total[at]++
			most = max(most, total[at])
		}
		seen, wrong := 0, 0
		for _, l := range layers[:len(layers)-1] {
			for i := range l.X {
				for column := l.X[i]; column < l.X2[i]; column++ {
					at := cell{int(column), int(l.Y[i])}
					seen++
					lead := 0.0
					for _, n := range counts[at] {
						lead = max(lead, n)
					}
					if total[at] == 0 || counts[at][l.Role] != lead || density(l.Value[i], most) != density(total[at], most) {
						wrong++
					}
				}
			}
		}
		// A value at the edge of two cells may be rounded to either.
		if seen < len(total)-5 || seen > len(total)+5 || wrong > 5 || len(total) < 2000 {
			t.Errorf("%s: %d cells drawn of %d, %d of them wrong", kind, seen, len(total), wrong)
		}
		if last := layers[len(layers)-1]; last.Value[1] != most {
			t.Errorf("%s: the legend says at most %v, want %v", kind, last.Value[1], most)
		}
	}
}

// Few points are drawn each, by level; in a crowd as one path.
func TestScatterOfFew(t *testing.T) {
	d := noise(MostPoints)
	layers := Scatter(Axis{}, Axis{}, d)
	points := 0
	var names []string
	for _, l := range layers {
		points += len(l.X)
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); points != MostPoints || len(layers) != MostLines+1 || !strings.HasSuffix(got, " others") {
		t.Errorf("%d points in layers %s", points, got)
	}
	area := Draw(Chart{X: Axis{Tight: true}, Y: Axis{Tight: true}, Layers: layers})[0].Area
	if n := strings.Count(area, "h0"); n != MostPoints || strings.Contains(area, "<circle") || len(area) > 14*MostPoints+4000 {
		t.Errorf("%d points in %d bytes", n, len(area))
	}
	if got := Scatter(Axis{}, Axis{}, Dots{}); len(got) != 0 {
		t.Errorf("nothing is drawn as %v", got)
	}
	one := Scatter(Axis{}, Axis{}, Dots{X: []float64{1}, Y: []float64{2}})
	if len(one) != 1 || one[0].Name != "" || one[0].Role != Series1 {
		t.Errorf("a point without level is %+v", one)
	}
}

// Values that are all alike, or have no place, are no reason to fail.
func TestScatterOfOddValues(t *testing.T) {
	for name, v := range map[string]float64{"alike": 5, "zero": 0, "negative": -3, "missing": math.NaN(), "huge": 1e308} {
		for _, kind := range []AxisKind{Linear, Log, Time} {
			d := Dots{X: slices.Repeat([]float64{v}, MostPoints+1), Y: slices.Repeat([]float64{v}, MostPoints+1)}
			c := Chart{X: Axis{Kind: kind}, Y: Axis{Kind: kind}, Layers: Scatter(Axis{Kind: kind}, Axis{Kind: kind}, d)}
			area := Draw(c)[0].Area
			wellFormed(t, area)
			if drawn := strings.Contains(area, "m-raster"); drawn != (name == "alike" || kind != Log && (name == "zero" || name == "negative")) {
				t.Errorf("%s on an axis %s: drawn %v: %s", name, kind, drawn, area)
			}
		}
	}
}

// The eight levels with the most points have a series, in the order of the
// levels.
func TestLevelRoles(t *testing.T) {
	levels, codes := []string{""}, []uint16{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for k := range 10 {
		levels = append(levels, string(rune('a'+k)))
		codes = append(codes, slices.Repeat([]uint16{uint16(k + 1)}, 10-k)...)
	}
	want := []Role{Faint, Series1, Series2, Series3, Series4, Series5, Series6, Series7, Series8, Faint, Faint}
	if got := LevelRoles(levels, codes); !slices.Equal(got, want) {
		t.Errorf("LevelRoles = %v, want %v", got, want)
	}
	if got := LevelRoles(levels[:3], []uint16{2, 2, 1, 9}); !slices.Equal(got, []Role{Faint, Series1, Series2}) {
		t.Errorf("the order follows the number of points: %v", got)
	}
}

// A million points travel and are drawn as a small part of a page.
func TestAMillionPointsAreSmall(t *testing.T) {
	c := Chart{Title: "A million", Layers: Scatter(Axis{}, Axis{Kind: Log}, noise(1_000_000)), Y: Axis{Kind: Log}}
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if drawn := len(SVG(File{Panels: []Chart{c}})); drawn > 250_000 || len(encoded) > 350_000 {
		t.Errorf("%d bytes drawn, %d as JSON", drawn, len(encoded))
	}
	var again Chart
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}
	if Draw(again)[0].Area != Draw(c)[0].Area {
		t.Error("decoded again, the drawing differs")
	}
}

func BenchmarkScatter(b *testing.B) {
	d := noise(1_000_000)
	for b.Loop() {
		Draw(Chart{Y: Axis{Kind: Log}, Layers: Scatter(Axis{}, Axis{Kind: Log}, d)})
	}
}
