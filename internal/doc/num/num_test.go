package num

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestScaleValue(t *testing.T) {
	for _, c := range []struct {
		unit  string
		v, sd float64
		want  string
	}{
		{"op/s", 12_345_678, 0, "12.3 Mop/s"},
		{"op/s", 12_345_678, 40_000, "12.35 Mop/s"},
		{"op/s", 12_345_678, 3_000_000, "12.3 Mop/s"},
		{"ops/s", 999, 0, "999 ops/s"},
		{"op/s", 1000, 0, "1.00 kop/s"},
		{"byte/s", 1.2e9, 0, "1.20 GB/s"},
		{"B/s", 45e3, 0, "45.0 kB/s"},
		{"byte", 1.2 * (1 << 30), 0, "1.20 GiB"},
		{"B/s", 900, 0, "900 B/s"},
		{"MB/s", 958, 12, "958 MB/s"},
		{"MB/s", 5.5, 0.01, "5.500 MB/s"},
		{"", 7543, 55, "7543"},
		{"score", 7543, 55, "7543 score"},
		{"events/s", 1_234_567, 0, "1.23 M events/s"},
		{"s", 0.0123, 0, "12.3 ms"},
		{"s", 4.2e-8, 0, "42.0 ns"},
		{"s", 90, 0, "90.0 s"},
		{"ms", 0.5, 0, "0.500 ms"},
		{"op/s", 0, 0, "0.0 op/s"},
		{"op/s", math.NaN(), 0, Missing},
		{"op/s", math.Inf(1), 0, Missing},
		{"score", 1.234e-12, 0, "1.23e-12 score"},
		{"op/s", -1500, 0, "-1.50 kop/s"},
	} {
		if got := For(c.unit, c.v).Value(c.v, c.sd); got != c.want {
			t.Errorf("For(%q).Value(%v, %v) = %q, want %q", c.unit, c.v, c.sd, got, c.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		mean, sd float64
		want     string
	}{
		{12.3e6, 0.05e6, "12.30 ±0.05"},
		{12.3e6, 3e6, "12.3 ±3.0"},
		{12.3e6, 0, "12.3 ±0.0"},
		{math.NaN(), 1, Missing},
	} {
		if got := For("op/s", 12.3e6).Spread(c.mean, c.sd); got != c.want {
			t.Errorf("Spread(%v, %v) = %q, want %q", c.mean, c.sd, got, c.want)
		}
	}
}

func TestFixedQuantities(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"Percent", Percent(74.96), "75.0 %"},
		{"Percent without negative zero", Percent(-0.04), "0.0 %"},
		{"Percent of nothing", Percent(math.NaN()), Missing},
		{"PercentInterval", PercentInterval(-1.25, 3), "[-1.2, 3.0]"},
		{"Fraction", Fraction(0.9921), "99.2 %"},
		{"Millis below one", Millis(0.42), "420 µs"},
		{"Millis", Millis(12), "12.0 ms"},
		{"Millis above 1000", Millis(1300), "1.30 s"},
		{"Millis zero", Millis(0), "0 s"},
		{"Seconds minutes", Seconds(125), "2 min 05 s"},
		{"Seconds just below a minute", Seconds(59.99), "1 min 00 s"},
		{"Seconds hours", Seconds(3*3600 + 4*60), "3 h 04 min"},
		{"Seconds negative", Seconds(-0.002), "-2.00 ms"},
		{"Bytes", Bytes(512), "512 B"},
		{"Bytes large", Bytes(16_777_216_000), "15.6 GiB"},
		{"Tick", Tick(0.5, 0.5), "0.5"},
		{"Tick whole", Tick(2, 1), "2"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %q, want %q", c.name, c.got, c.want)
		}
	}
}

// What is printed must lie within half a unit of the third significant digit
// of what was measured, at any magnitude.
func TestValueIsFaithful(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		v := math.Pow(10, rng.Float64()*20-6)
		s := For("op/s", v)
		text := s.Number(v, v*rng.Float64())
		back, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("Number(%v) = %q: %v", v, text, err)
		}
		if rel := math.Abs(back*s.Factor-v) / v; rel > 0.0051 {
			t.Errorf("Number(%v) = %q, off by %v", v, text, rel)
		}
		if strings.Contains(text, "e") {
			t.Errorf("Number(%v) = %q, want no exponent", v, text)
		}
	}
}

func TestRanges(t *testing.T) {
	if got, want := Ranges([]int{1, 2, 4, 5, 6, 9}), "1, 2, 4 to 6, 9"; got != want {
		t.Errorf("Ranges = %q, want %q", got, want)
	}
}

// Times in a small unit go on in the next, not as thousands of it.
func TestForDurations(t *testing.T) {
	for _, c := range []struct {
		unit  string
		value float64
		want  string
	}{{"us", 103_000, "103 ms"}, {"ns", 2.5e9, "2.50 s"}, {"ms", 99_000, "99.0 s"}, {"ms", 250_000, "250 s"},
		{"ns/op", 501_234, "501 µs/op"}, {"us", 46_823, "46.8 ms"}, {"usec", 999, "999 usec"}, {"sec/op", 0.00123, "1.23 ms/op"}, {"ms/req", 0.004, "4.00 µs/req"},
		{"B/op", 513_000, "501 KiB/op"}, {"allocs/op", 1_200_000, "1.20 M allocs/op"}, {"MB/s", 120_000, "120 GB/s"}, {"MiB", 409_600, "400 GiB"},
		{"ns/s", 200_000, "200 k ns/s"}, {"s/s", 0.5, "0.500 s/s"}, {"/s", 200_000, "200 k /s"}} {
		if got := For(c.unit, c.value).Value(c.value, 0); got != c.want {
			t.Errorf("For(%q, %v) prints %q, want %q", c.unit, c.value, got, c.want)
		}
	}
}
