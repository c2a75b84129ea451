package frame

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// counting is a total that began with start, by so many rises of about each; at the
// rows of resets it begins anew.
func counting(r *rand.Rand, n int, start, each, scatter float64, resets ...int) []float64 {
	out, now := make([]float64, n), start
	for i := range out {
		rise := math.Round(each * math.Exp(scatter*r.NormFloat64()))
		if now += rise; slices.Contains(resets, i) {
			now = rise
		}
		out[i] = now
	}
	return out
}

// minutes are times, one a minute; each comes so many times.
func minutes(n, each int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1_775_174_400e9 + int64(i/each)*60e9
	}
	return out
}

// inTurns puts rows of several nodes beside each other.
func inTurns(columns ...[]float64) (values []float64, node Fact) {
	of := NewFact("node")
	for i := range columns[0] {
		for j, c := range columns {
			values = append(values, c[i])
			of.Append(string(rune('a' + j)))
		}
	}
	return values, of.Fact()
}

func TestTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	turns, nodes := inTurns(counting(r, 12, 5e6, 100, .1), counting(r, 12, 10, 3000, .1, 7),
		counting(r, 12, 8e8, 20, .1))
	backward := counting(r, 30, 1000, 50, .1, 12)
	slices.Reverse(backward)
	for name, c := range map[string]struct {
		f      Frame
		series int // 0: no total
		resets int
	}{
		"as it was exported": {Frame{Key: Key{Metric: "requests_total"}, Values: counting(r, 19, 1e9, 3000, .01),
			Times: minutes(19, 1)}, 1, 0},
		"with a reset":     {Frame{Values: counting(r, 240, 8e5, 3000, .02, 151), Times: minutes(240, 1)}, 1, 1},
		"without times":    {Frame{Values: counting(r, 40, 8e5, 3000, .1, 21)}, 1, 1},
		"the newest first": {Frame{Values: backward}, 1, 1},
		"bursts":           {Frame{Values: counting(r, 40, 0, 3000, 1.5, 20, 30), Times: minutes(40, 1)}, 1, 2},
		"idle now and then": {Frame{Values: []float64{1, 3, 3, 4, 7, 7, 9, 12, 12, 13, 15, 18, 19, 22, 22, 25},
			Times: minutes(16, 1)}, 1, 0},
		"of several nodes": {Frame{Values: turns, Times: minutes(36, 3), Facts: []Fact{nodes}}, 3, 1},
		"few, by name": {Frame{Key: Key{Metric: "node_cpu_seconds_total{cpu=0}"},
			Values: []float64{1000.1, 1000.4, 1000.6, 1001.1, 1001.2, 1001.6, 1001.8, 1002.4}, Times: minutes(8, 1)}, 1,
			0},
		"few, short drift": {Frame{
			Values: []float64{100, 100.2, 100.4, 100.6, 100.8, 101, 101.2, 101.4, 101.6, 101.8}, Times: minutes(10, 1)},
			0, 0},
		"a slight drift": {Frame{
			Values: []float64{100, 100.1, 100.2, 100.3, 100.4, 100.5, 100.6, 100.7, 100.8, 100.9, 101, 101.1, 101.2,
				101.3, 101.4, 101.5, 101.6}, Times: minutes(17, 1)}, 0, 0},
		"heap and its collector": {Frame{
			Values: []float64{50, 60, 70, 80, 90, 100, 45, 55, 65, 75, 85, 95, 47, 57, 67, 77, 87, 97, 44, 54, 64, 74},
			Times:  minutes(22, 1)}, 0, 0},
		"constant": {Frame{Values: slices.Repeat([]float64{7}, 30), Times: minutes(30, 1)}, 0, 0},
		"two levels": {Frame{Values: append(slices.Repeat([]float64{7}, 15), slices.Repeat([]float64{9}, 15)...),
			Times: minutes(30, 1)}, 0, 0},
		"none": {Frame{}, 0, 0},
	} {
		got, ok := c.f.Total()
		if ok != (c.series > 0) || got.Series != c.series || got.Resets != c.resets {
			t.Errorf("%s: %+v, %v; want %d series, %d resets", name, got, ok, c.series, c.resets)
		}
	}
}

// TestNoTotal: noise, walks, drifts and sorted values are no totals.
func TestNoTotal(t *testing.T) {
	auto := func(phi float64) func(r *rand.Rand, n int) []float64 {
		return func(r *rand.Rand, n int) []float64 {
			out, x := make([]float64, n), 0.
			for i := range out {
				x = phi*x + r.NormFloat64()
				out[i] = 100 + x
			}
			return out
		}
	}
	sorted := func(draw func(*rand.Rand) float64) func(r *rand.Rand, n int) []float64 {
		return func(r *rand.Rand, n int) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = draw(r)
			}
			slices.Sort(out)
			return out
		}
	}
	for name, c := range map[string]struct {
		draw  func(r *rand.Rand, n int) []float64
		times bool
	}{
		"noise": {auto(0), true}, "AR .7": {auto(.7), true}, "AR .95": {auto(.95), true},
		"random walk":        {auto(1), true},
		"walk without times": {auto(1), false},
		"drift of 2 %": {func(r *rand.Rand, n int) []float64 {
			out := auto(0)(r, n)
			for i := range out {
				out[i] = 100 + .2*(out[i]-100) + 2*float64(i)/float64(n)
			}
			return out
		}, true},
		"exponential": {func(r *rand.Rand, n int) []float64 {
			return counting(r, n, 0, 100, 1, allRows(n)...)
		}, true},
		"sorted, uniform": {sorted((*rand.Rand).Float64), false},
		"sorted, normal":  {sorted(func(r *rand.Rand) float64 { return 100 + r.NormFloat64() }), false},
		"sorted, whole": {sorted(func(r *rand.Rand) float64 { return math.Round(1000 + 100*r.NormFloat64()) }),
			false},
		"sorted, two levels": {sorted(func(r *rand.Rand) float64 {
			return 50 + 50*float64(r.IntN(2)) + r.NormFloat64()
		}), false},
	} {
		const runs = 2000
		found := 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, 3))
			f := Frame{Values: c.draw(r, 10+r.IntN(60))}
			if c.times {
				f.Times = minutes(f.Len(), 1)
			}
			if _, ok := f.Total(); ok {
				found++
			}
		}
		if found > runs/100 {
			t.Errorf("%s: called totals in %d of %d, want 1 %% at most", name, found, runs)
		}
	}
}

func allRows(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestRisingLevels: what rises as a total does is none where direction, unit or name say that
// it is a level, or where a factor that somebody chose rises with it. A total by its name is.
func TestRisingLevels(t *testing.T) {
	// by has as many levels as the values, one a row, so many times.
	by := func(name string, passes int, level func(k int) string) Fact {
		c := NewFact(name)
		for range passes {
			for k := range 14 {
				c.Append(level(k))
			}
		}
		return c.Fact()
	}
	r := rand.New(rand.NewPCG(2, 2))
	start, bytes := 1+float64(r.IntN(9)), counting(r, 14, 5e6, 1234, .3)
	whole := func(k int) string { return strconv.Itoa(k + 1) }
	for name, c := range map[string]struct {
		key    Key
		unit   string
		better model.Better
		passes int
		facts  []Fact
		want   bool
	}{
		"nothing is known":             {passes: 1, want: true},
		"two passes, nothing is known": {passes: 2, want: true},
		"higher is better":             {better: model.Higher, passes: 1},
		"a rate":                       {unit: "op/s", passes: 1},
		"Go's time":                    {unit: "ns/op", passes: 1},
		"a time":                       {unit: "ms", passes: 2},
		"a time in words":              {unit: "Seconds", passes: 2},
		"a share":                      {unit: "%", passes: 1},
		"a rate by its name":           {key: Key{Metric: "readThroughput"}, passes: 1},
		"a time by its name":           {key: Key{Metric: "p99_us"}, passes: 1},
		"bytes":                        {unit: "MB", passes: 1, want: true},
		"a total of seconds":           {key: Key{Metric: "cpu_seconds_total{cpu=0}"}, unit: "s", passes: 1, want: true},
		"a total in camelCase":         {key: Key{Metric: "requestCount"}, unit: "s", passes: 1, want: true},
		"a ramp":                       {passes: 1, facts: []Fact{by("concurrency", 1, whole)}},
		"three ramps":                  {passes: 3, facts: []Fact{by("threads", 3, whole)}},
		"doubled":                      {passes: 1, facts: []Fact{by("size", 1, func(k int) string { return strconv.Itoa(1 << k) })}},
		"tenths":                       {passes: 1, facts: []Fact{by("offered", 1, func(k int) string { return strconv.FormatFloat(float64(k)/10, 'g', -1, 64) })}},
		"odd loads, twice":             {passes: 2, facts: []Fact{by("load", 2, func(k int) string { return strconv.Itoa(1033 + 701*k) })}},
		"the other way round":          {passes: 1, facts: []Fact{by("think", 1, func(k int) string { return strconv.Itoa(20 - k) })}},
		"by a name":                    {passes: 1, facts: []Fact{by("kind", 1, func(k int) string { return string(rune('a' + k)) })}, want: true},
		"numbered rows":                {passes: 1, facts: []Fact{by("iteration", 1, whole)}, want: true},
		"an id":                        {passes: 1, facts: []Fact{by("request_id", 1, whole)}, want: true},
		"seconds from the beginning":   {passes: 1, facts: []Fact{by("elapsed_s", 1, func(k int) string { return strconv.Itoa(60 * k) })}, want: true},
		"another counter beside it": {passes: 1, facts: []Fact{by("bytes", 1, func(k int) string {
			return strconv.FormatFloat(bytes[k], 'f', 0, 64)
		})}, want: true},
		"a factor of half of it": {passes: 1, facts: []Fact{by("cores", 1, func(k int) string { return strconv.Itoa(1 + k/7) })}, want: true},
	} {
		f := Frame{Key: c.key, Unit: c.unit, Better: c.better, Facts: c.facts, Times: minutes(14*c.passes, 1)}
		for range c.passes {
			for k := range 14 {
				f.Values = append(f.Values, start+900*float64(k)/float64(k+8))
			}
		}
		if d, ok := f.TotalDoubt("x"); ok != c.want {
			t.Errorf("%s: called a total: %t, want %t (%s)", name, ok, c.want, d.Text)
		}
	}
}

// TestManyFacts: hundreds of facts cost no more than a look at some rows each, and those
// that tell all rows apart no key of all rows.
func TestManyFacts(t *testing.T) {
	const rows, facts = 100_000, 200
	r := rand.New(rand.NewPCG(3, 5))
	f := Frame{Values: make([]float64, rows), Times: minutes(rows, 1)}
	for range facts {
		x := Fact{Name: "x", Levels: []string{""}, Codes: make([]uint16, rows)}
		for len(x.Levels) <= 50 {
			x.Levels = append(x.Levels, strconv.Itoa(len(x.Levels)))
		}
		for row := range x.Codes {
			x.Codes[row] = uint16(1 + r.IntN(50))
		}
		f.Facts = append(f.Facts, x)
	}
	for row := range f.Values {
		f.Values[row] = r.NormFloat64()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, ok := f.Total(); ok {
		t.Error("noise is called a total")
	}
	runtime.ReadMemStats(&after)
	// A number for each row of each fact would take 80 MB, and the keys of all facts 40 MB.
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("%d facts of %d rows take %d bytes, want 16 MB at most", facts, rows, took)
	}
}

// TestRates: differences as pandas has them, for values, times and nodes of the same
// table:
//
//	g = df.sort_values("time", kind="stable").groupby("node")
//	rate = g.value.diff() / g.time.diff()
//	rate[(g.value.diff() >= 0) & (g.time.diff() > 0)]
func TestRates(t *testing.T) {
	node := NewFact("node")
	for i := range 12 {
		node.Append([]string{"a", "b"}[i%2])
	}
	at := []int64{0, 0, 60, 61, 120, 121, 120, 180, 240, 240, 300, 303}
	for i := range at {
		at[i] *= 1e9
	}
	values := []float64{100, 5000, 160, 5610, 280, 6210, 285, 7390, 24, 7390, 54, 63}
	f := Frame{Key: Key{Metric: "requests"}, Unit: "requests", Values: values, Times: at, Facts: []Fact{node.Fact()}}
	got, err := f.Rates()
	if err != nil {
		t.Fatal(err)
	}
	// node a: 60/60, 120/60, no time, a reset, 30/60; b: 610/61, 600/60, 1180/59, 0, a reset
	want := []float64{1, 10, 2, 10, 20, 0, .5}
	if !slices.Equal(got.Values, want) || got.Unit != "requests/s" || got.Metric != "rate(requests)" ||
		len(got.Doubts) != 1 {
		t.Errorf("rates %v in %s of %s, %v; want %v", got.Values, got.Unit, got.Metric, got.Doubts, want)
	}
	if level := got.Facts[0].Level(1); level != "b" || got.Times[1] != 61e9 {
		t.Errorf("the second rate is of %s at %d; want b at 61 s", level, got.Times[1])
	}
	f = Frame{Key: Key{Metric: "bytes"}, Values: []float64{70, 60, 50, 30, 10}}
	if got, err := f.Rates(); err == nil {
		t.Errorf("of values that fall: %v, want an error", got.Values)
	}
	f.Values = []float64{10, 30, 50, 60, 70}
	if got, err := f.Rates(); err != nil || !slices.Equal(got.Values, []float64{20, 20, 10, 10}) ||
		got.Unit != "1/row" {
		t.Errorf("without times: %+v, %v", got, err)
	}
}
