package svg

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const hostile = `<script>alert(1)</script>"'>&` + "\x00\x1b\xff"

func TestDrawingIsWellFormed(t *testing.T) {
	d := New("area "+hostile, hostile, 100)
	d.Rect(hostile, Pct(10), Px(1), Pct(-5), Px(-3), hostile)
	d.Line(hostile, Px(0), Px(0), Pct(100), Px(1))
	d.Mark(Dot, hostile, Pct(1), Px(1), 3, hostile)
	d.Mark(Diamond, hostile, Pct(1), Px(1), 3, hostile)
	d.Text(hostile, Middle, Pct(1), Px(1), hostile)
	d.Polyline(hostile, 0, 10, []Point{{0, 0}, {math.NaN(), 1}, {1, 1}}, hostile)
	got := string(d.HTML())
	elements := parse(t, got)
	want := map[string]int{"svg": 3, "title": 5, "rect": 1, "line": 1, "circle": 1, "path": 1, "text": 1, "polyline": 1}
	if diff := cmp.Diff(want, elements); diff != "" {
		t.Errorf("elements differ (-want +got):\n%s", diff)
	}
	if !strings.Contains(got, `points="0,0 1000,1000"`) {
		t.Errorf("polyline keeps what is not a number: %s", got)
	}
	if !strings.Contains(got, `x="5%" y="-2" width="5%" height="3"`) {
		t.Errorf("a negative extent is not drawn to the other side: %s", got)
	}
}

// parse counts the elements of a strictly well-formed document.
func parse(t *testing.T, s string) map[string]int {
	t.Helper()
	out := make(map[string]int)
	dec := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, s)
		}
		if e, ok := token.(xml.StartElement); ok {
			out[e.Name.Local]++
		}
	}
}

func TestWhatIsNotANumberIsLeftOut(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		d := New("", "", 10)
		d.Rect("c", Pct(v), Px(0), Px(1), Px(1), "")
		d.Line("c", Px(0), Px(v), Px(0), Px(0))
		d.Mark(Dot, "c", Pct(v), Px(0), 1, "")
		d.Mark(Diamond, "c", Px(0), Px(v), 1, "")
		d.Text("c", Start, Px(v), Px(0), "x")
		d.Polyline("c", 0, 1, []Point{{v, 0}}, "")
		if got := parse(t, string(d.HTML())); len(got) != 1 {
			t.Errorf("with %v: drawn %v, want an empty drawing", v, got)
		}
	}
}

func TestAxis(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 12.3, 5, []float64{0, 2, 4, 6, 8, 10, 12, 14}},
		{0, 1054, 5, []float64{0, 200, 400, 600, 800, 1000, 1200}},
		{0, 1, 5, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{-30, 100, 6, []float64{-40, -20, 0, 20, 40, 60, 80, 100}},
		{0, 0, 4, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{math.NaN(), 1, 4, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
	} {
		got := NewAxis(c.lo, c.hi, c.n).Ticks()
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
		if diff := cmp.Diff(c.want, got, near); diff != "" {
			t.Errorf("NewAxis(%v, %v, %d).Ticks() differs (-want +got):\n%s", c.lo, c.hi, c.n, diff)
		}
	}
}

// Whatever is measured fits on its axis, and the axis wastes less than half.
func TestAxisCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		hi := math.Pow(10, rng.Float64()*24-12)
		a := NewAxis(0, hi, 2+rng.IntN(8))
		if s := a.Share(hi); s > 1+1e-9 || s < 0.4 {
			t.Errorf("NewAxis(0, %v): share of the top %v, want 0.4 to 1", hi, s)
		}
		if n := len(a.Ticks()); n < 2 || n > 16 {
			t.Errorf("NewAxis(0, %v) has %d ticks", hi, n)
		}
	}
}

func TestThin(t *testing.T) {
	for _, c := range []struct{ n, most, want int }{
		{1, 10, 1}, {10, 10, 1}, {11, 10, 2}, {20, 10, 2}, {21, 10, 5}, {200, 10, 20}, {201, 10, 50}, {5, 0, 5},
	} {
		if got := Thin(c.n, c.most); got != c.want {
			t.Errorf("Thin(%d, %d) = %d, want %d", c.n, c.most, got, c.want)
		}
	}
}
