package levels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// random is a model of random limits without inputs, and a function that computes the
// operations a second by brute force.
func random(r *rand.Rand) (text string, ops func(size, reads float64) float64) {
	type limit struct {
		bytes             bool
		unit, rate        float64
		counts            func(reads float64) float64
		ways, label, from string
	}
	var limits []limit
	ways := []string{"[read, write]", "[read]", "[write]", "each"}
	counts := []func(float64) float64{func(float64) float64 { return 1 }, func(x float64) float64 { return x },
		func(x float64) float64 { return 1 - x }, func(x float64) float64 { return max(x, 1-x) }}
	for i := range 1 + r.IntN(4) {
		w := r.IntN(len(ways))
		l := limit{bytes: r.IntN(2) == 0, ways: ways[w], counts: counts[w], label: fmt.Sprintf("l%d", i),
			rate: float64(1 + r.IntN(5000))}
		l.from = fmt.Sprint(l.rate)
		if l.bytes {
			l.from = fmt.Sprintf("%vMiB/s", l.rate)
			l.rate *= 1 << 20
		} else if r.IntN(2) == 0 {
			l.unit = float64(int(64) << r.IntN(6))
		}
		if r.IntN(3) == 0 { // two levels: the harmonic mean counts
			l.from = fmt.Sprintf("{values: {%v: 0.25, %v: 0.75}}", l.rate, 2*l.rate)
			l.rate = 1 / (.25/l.rate + .75/(2*l.rate))
		}
		limits = append(limits, l)
	}
	var b strings.Builder
	b.WriteString("model: random\nlimits:\n")
	for _, l := range limits {
		of, unit := "ops", ""
		if l.bytes {
			of = "bytes"
		}
		if l.unit > 0 {
			unit = fmt.Sprintf(", unit: %vKiB", l.unit)
		}
		fmt.Fprintf(&b, "- {of: %s, name: %s, ways: %s%s, rate: %s}\n", of, l.label, l.ways, unit, l.from)
	}
	return b.String(), func(size, reads float64) float64 {
		least := math.Inf(1)
		for _, l := range limits {
			each := 1.
			for l.unit > 0 && each*l.unit*1024 < size {
				each++
			}
			if l.bytes {
				each = size
			}
			if c := l.counts(reads); c > 0 {
				least = min(least, l.rate/(c*each))
			}
		}
		return least
	}
}

// TestRandom: At, Turn and the written file of random models are those of brute force.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 120 {
		text, ops := random(r)
		m := parse(t, text)
		src, err := WriteModel(m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, parse(t, string(src)), fileOnly); diff != "" {
			t.Fatalf("%s reads back as (-was +is):\n%s", text, diff)
		}
		l, err := m.Levels(nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 20 {
			size, reads := math.Ceil(math.Exp2(9+12*r.Float64())), []float64{0, .25, .5, r.Float64(), 1}[r.IntN(5)]
			if r.IntN(3) == 0 {
				size = float64(int(4096) << r.IntN(9))
			}
			if got, want := l.At(size, reads), ops(size, reads); !near(got.Ops, want) ||
				math.IsInf(want, 1) != (len(got.Limits) == 0) {
				t.Fatalf("%s\nat %v bytes and reads %v: %+v, want %v", text, size, reads, got, want)
			}
		}
		checkTurn(t, text, l, r.Float64())
	}
}

// checkTurn: no size below the turn is held back by bytes alone, and the turn is.
func checkTurn(t *testing.T, text string, l Levels, reads float64) {
	t.Helper()
	byBytes := func(size float64) bool {
		for _, i := range l.At(size, reads).Limits {
			if l.Limits[i].Quality == Bytes {
				return true
			}
		}
		return false
	}
	turn := l.Turn(reads)
	if turn > 0 && !byBytes(turn*(1+1e-12)) {
		t.Fatalf("%s\nturns at %v with reads %v, but bytes do not hold it back", text, turn, reads)
	}
	for size := 512.; size < 4<<20 && !(size >= turn); size *= 1.01 {
		if byBytes(size) {
			t.Fatalf("%s\nturns at %v with reads %v, but bytes hold %v back", text, turn, reads, size)
		}
	}
}

// TestMeasured: between cells of a known law, time goes in straight lines, and nothing is
// known outside.
func TestMeasured(t *testing.T) {
	var cells strings.Builder
	time := func(size, reads float64) float64 { return 1e-3 + size/(60<<20) + 1e-3*reads }
	for _, size := range []int{4, 32, 64} {
		for _, reads := range []int{100, 50, 0} {
			if size == 64 && reads == 0 {
				continue // a corner is missing
			}
			x := 1 / time(float64(size)*1024, float64(reads)/100)
			fmt.Fprintf(&cells, "- {size: %dKiB, reads: %d, ops: [%v, %v]}\n", size, reads, 1.1*x, x/1.1)
		}
	}
	l, err := parse(t, "model: m\ncells:\n"+cells.String()).Levels(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kib, reads float64
		inside     bool
	}{{4, 1, true}, {16, .25, true}, {48, .75, true}, {64, .5, true}, {64, .25, false}, {48, .25, false}, {3.9, 1,
		false}, {65, 1, false}} {
		d, inside := l.Measured(c.kib*1024, c.reads)
		if inside != c.inside {
			t.Errorf("%+v: inside is %v", c, inside)
			continue
		}
		e := l.At(c.kib*1024, c.reads)
		if !inside {
			if !math.IsNaN(e.Ops) {
				t.Errorf("%+v: %v op/s outside", c, e.Ops)
			}
			continue
		}
		x := 1 / time(c.kib*1024, c.reads)
		if len(d) != 2 || !near(d[0].Rate, x/1.1) || !near(d[1].Rate, 1.1*x) || !near(e.Ops, d.Level()) {
			t.Errorf("%+v: %v and %v, want %v and %v", c, d, e.Ops, x/1.1, 1.1*x)
		}
	}
}

// TestFit: a processor with two peaks has two levels, other values as many as their
// spread, and the pressure is that of all values.
func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, x func() float64) (out []float64) {
		for range n {
			out = append(out, x())
		}
		return out
	}
	for name, c := range map[string]struct {
		values []float64
		levels int
	}{
		"two peaks": {append(draw(140, func() float64 { return 100 * (1 + .01*r.NormFloat64()) }),
			draw(60, func() float64 { return 60 * (1 + .01*r.NormFloat64()) })...), 2},
		"one peak":  {draw(200, func() float64 { return 100 * (1 + .01*r.NormFloat64()) }), 1},
		"wide":      {draw(200, func() float64 { return 50 + 100*r.Float64() }), 6},
		"one value": {[]float64{7}, 1},
		"few":       {[]float64{50, 100, 200}, 3},
		"equal":     {[]float64{7, 7, 7, 7}, 1},
	} {
		m, err := Fit(Model{Name: "m", Service: Processor}, Limit{Quality: CPU}, c.values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := m.Levels(nil)
		if err != nil {
			t.Fatal(err)
		}
		slp := 0.
		for _, x := range c.values {
			slp += 30 / x / float64(len(c.values))
		}
		d := l.Limits[0].Rate
		if !near(d.Pressure(30), slp) || len(d) != c.levels {
			t.Errorf("%s: %d levels, want %d; SLP(30) %v, want %v: %v", name, len(d), c.levels, d.Pressure(30), slp, d)
		}
		if name == "two peaks" && (math.Abs(d[0].Share-.3) > 1e-9 || math.Abs(d[0].Rate-60) > .5 ||
			math.Abs(d[1].Rate-100) > .5) {
			t.Errorf("the peaks are %v", d)
		}
	}
	for _, bad := range [][]float64{nil, {1, 0}, {-1}, {math.NaN()}, {math.Inf(1)}} {
		if _, err := Fit(Model{Name: "m"}, Limit{Quality: Ops}, bad); err == nil {
			t.Errorf("Fit(%v) makes a model", bad)
		}
	}
}

// FuzzParse: no file makes a level that is not above 0, and what is read is written.
func FuzzParse(f *testing.F) {
	for _, m := range Builtin() {
		src, _ := WriteModel(m)
		f.Add(string(src), "gib", "100")
	}
	f.Add("model: m\nlimits: [{of: ops, rate: {values: {50: 0.25, 100: 0.75}}, bucket: {burst: 3, for: 1m}}]", "", "")
	f.Fuzz(func(t *testing.T, src, key, value string) {
		m, err := Parse("m.yaml", []byte(src))
		if err != nil {
			return
		}
		out, err := WriteModel(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("m.yaml", out); err != nil {
			t.Fatalf("%s does not read back: %v", out, err)
		}
		l, err := m.Levels(map[string]string{key: value})
		if err != nil {
			return
		}
		for _, lim := range l.Limits {
			if x := lim.Rate.Level(); !(x > 0) || math.IsInf(x, 1) {
				t.Errorf("%s is %v", lim.Name(), x)
			}
		}
	})
}
