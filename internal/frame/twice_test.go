package frame

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// made is rows from..to of a series: a value a minute of one of three nodes.
func made(from, to int, timed bool) Frame {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible
	f, node := Frame{Key: Key{Metric: "score"}}, NewFact("node")
	for i := range to {
		if v := 100 + r.NormFloat64(); i >= from {
			f.Values = append(f.Values, v)
			if node.Append(string(rune('a' + i%3))); timed {
				f.Times = append(f.Times, int64(i)*6e10)
			}
		}
	}
	f.Facts = []Fact{node.Fact()}
	return f
}

// inZone is a frame with the fact zone.
func inZone(f Frame, zone string) Frame {
	x := NewFact("zone")
	for range f.Len() {
		x.Append(zone)
	}
	f.Facts = append([]Fact{x.Fact()}, f.Facts...)
	return f
}

// coarse is a frame of which the values are a few integers.
func coarse(f Frame, seed uint64) Frame {
	r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // reproducible
	f.Values = make([]float64, f.Len())
	for i := range f.Values {
		f.Values[i] = float64(r.IntN(4))
	}
	return f
}

// constant is a frame of which all values are the same.
func constant(f Frame) Frame {
	f.Values = make([]float64, f.Len())
	return f
}

// TestTwice: rows that several sources have are told with their number, those that
// may be equal by chance are not.
func TestTwice(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []Frame
		want   string
	}{
		{"one source", []Frame{made(0, 120, true)}, ""},
		{"the same", []Frame{made(0, 120, true), made(0, 120, true)}, "120 of 240 rows are in both a and b;"},
		{"overlap", []Frame{made(0, 120, true), made(100, 200, true)}, "20 of 220 rows are in both a and b;"},
		{"one row", []Frame{made(0, 120, true), made(119, 200, true)}, "1 of 201 rows is in both a and b;"},
		{"one after the other", []Frame{made(0, 120, true), made(120, 200, true)}, ""},
		{"two of three", []Frame{made(0, 60, true), made(60, 100, true), made(50, 60, true)}, "10 of 110 rows are in both a and c;"},
		{"three", []Frame{made(0, 60, true), made(0, 60, true), made(0, 60, true)}, "120 of 180 rows are in several of a, b, c;"},
		{"a column more", []Frame{made(0, 120, true), inZone(made(0, 120, true), "x")}, "120 of 240 rows are in both a and b;"},
		{"another zone", []Frame{inZone(made(0, 120, true), "y"), inZone(made(0, 120, true), "x")}, ""},
		{"equal by chance", []Frame{coarse(made(0, 120, true), 1), coarse(made(0, 120, true), 2)}, ""},
		{"the same without times", []Frame{made(0, 30, false), made(0, 30, false), made(0, 30, false)}, "60 of 90 rows are in several of a, b, c;"},
		{"five without times", []Frame{made(0, 5, false), made(0, 5, false)}, "5 of 10 rows are in both a and b;"},
		{"four without times", []Frame{made(0, 4, false), made(0, 4, false)}, ""},
		{"overlap without times", []Frame{made(0, 30, false), made(0, 20, false)}, ""},
		{"another zone without times", []Frame{inZone(made(0, 30, false), "y"), inZone(made(0, 30, false), "x")}, ""},
		{"constants without times", []Frame{constant(made(0, 30, false)), constant(made(0, 30, false))}, ""},
	} {
		var parts []Part
		for i, f := range c.frames {
			parts = append(parts, Part{Name: string(rune('a' + i)), Frames: []Frame{f}})
		}
		d := Twice(parts)[Key{Metric: "score"}]
		if c.want == "" && d.Text != "" || !strings.HasPrefix(d.Text, c.want) || c.want != "" && d.Severity != model.Problem {
			t.Errorf("%s: %s %q, want %q", c.name, d.Severity, d.Text, c.want)
		}
	}
}

// BenchmarkTwice takes two sources of ten million rows in all.
func BenchmarkTwice(b *testing.B) {
	f := made(0, 5_000_000, true)
	b.ReportAllocs()
	for b.Loop() {
		Twice([]Part{{"a", []Frame{f}}, {"b", []Frame{f}}})
	}
}
