package levels

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// TestContradictions: a file whose parts contradict each other is refused at its place.
func TestContradictions(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"a step twice": {"inputs: {gib: {}}\nlimits: [{of: ops, rate: {steps: {170: 3, 170.0: 5, above: 7}}}]",
			"m.yaml:3:50: limits.0.rate.steps.170.0: another step ends there, too"},
		"a level twice": {"limits: [{of: ops, rate: {values: {50: 0.5, 50.0: 0.5}}}]",
			"m.yaml:2:51: limits.0.rate.values.50.0: another level is the same"},
		"burst below the rate": {"limits: [{of: ops, rate: 300, bucket: {burst: 100, size: 5}}]",
			"m.yaml:2:47: limits.0.bucket.burst: it is below the rate"},
		"burst below any rate": {
			"inputs: {gib: {}}\nlimits: [{of: ops, rate: {per_gib: 3, min: 300}, bucket: {burst: 100, size: 5}}]",
			"m.yaml:3:66: limits.0.bucket.burst: it is below the rate"},
		"burst below the rate of a word": {"inputs: {t: {}}\nlimits: [{of: ops, rate: {by: t, choices: {a: 3, b: 9}}, " +
			"bucket: {burst: {by: t, choices: {a: 5, b: 7}}, size: 5}}]",
			"m.yaml:3:101: limits.0.bucket.burst.choices.b: it is below the rate of b"},
		"fill above the burst": {"limits: [{of: ops, rate: 300, bucket: {burst: 3000, fill: 4000, size: 5}}]",
			"m.yaml:2:59: limits.0.bucket.fill: it is not below the burst"},
		"burst without a limit": {"limits: [{of: ops, rate: 300, bucket: {burst: none, size: 5}}]",
			"m.yaml:2:47: limits.0.bucket.burst: it must have a limit"},
		"size without a limit": {"limits: [{of: ops, rate: 300, bucket: {burst: 500, size: none}}]",
			"m.yaml:2:58: limits.0.bucket.size: it must have a limit"},
		"max alone": {"limits: [{of: ops, rate: {max: 5}}]", "m.yaml:2:26: limits.0.rate: it is empty"},
		"huge":      {"limits: [{of: ops, rate: 1e308}]", "m.yaml:2:26: limits.0.rate: 1e+308 is out of range"},
		"tiny":      {"limits: [{of: ops, rate: 1e-300}]", "m.yaml:2:26: limits.0.rate: 1e-300 is out of range"},
		"per_gib of words": {
			"inputs: {gib: {}}\nlimits: [{of: ops, rate: {by: gib, choices: {a: 3}}},{of: bytes, rate: {per_gib: 3}}]",
			"m.yaml:3:82: limits.1.rate.per_gib: the input gib is a word, or in bytes"},
		"per_op of bytes": {"inputs: {iops: {unit: MiB}}\nlimits: [{of: bytes, rate: {per_op: 3}}]",
			"m.yaml:3:37: limits.0.rate.per_op: the input iops is a word, or in bytes"},
		"no choices": {"inputs: {t: {}}\nlimits: [{of: ops, rate: {by: t, choices: {}}}]",
			"m.yaml:3:26: limits.0.rate: it is empty"},
		"no steps": {"inputs: {t: {}}\nlimits: [{of: ops, rate: {by: t, steps: {}}}]",
			"m.yaml:3:26: limits.0.rate: it is empty"},
		"input's min": {"inputs: {iops: {min: 10, max: 5}}\nlimits: [{of: ops, rate: iops}]",
			"m.yaml:2:31: inputs.iops.max: it is less than min"},
		"low default": {"inputs: {iops: {min: 10, default: 5}}\nlimits: [{of: ops, rate: iops}]",
			"m.yaml:2:35: inputs.iops.default: it is not between min and max"},
		"high default": {
			"inputs: {gib: {}, iops: {max: {per_gib: 3, max: 10}, default: 50}}\nlimits: [{of: ops, rate: iops}]",
			"m.yaml:2:63: inputs.iops.default: it is not between min and max"},
		"ways of processors": {"service: cpu\nlimits: [{of: cpu, ways: each, rate: 4}]",
			"m.yaml:3:26: limits.0.ways: only operations and bytes have ways"},
	} {
		_, err := Parse("m.yaml", []byte("model: m\n"+c.src+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, model.ErrUsage) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestRatesOfInputs: what a rate is for inputs that bound it.
func TestRatesOfInputs(t *testing.T) {
	const bytes = "inputs: {t: {unit: MiB}, gib: {default: none}}\nlimits:\n- {of: bytes, rate: {by: t, " +
		"steps: {170: 3MiB, above: 7MiB}}}\n- {of: ops, rate: {per_gib: 3, max: 100}}\n"
	for _, c := range []struct {
		set  map[string]string
		want map[string]float64
	}{
		{map[string]string{"t": "170"}, map[string]float64{"bytes": 3 << 20}}, // steps are in the unit of the input
		{map[string]string{"t": "171MiB", "gib": "5"}, map[string]float64{"bytes": 7 << 20, "ops": 15}},
		{map[string]string{"t": "1", "gib": "50"}, map[string]float64{"bytes": 3 << 20, "ops": 100}},
	} {
		l, err := parse(t, "model: m\n"+bytes).Levels(c.set)
		got := map[string]float64{}
		for _, lim := range l.Limits {
			got[lim.Name()] = lim.Rate.Level()
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%v: %v, %v, want %v", c.set, got, err, c.want)
		}
	}
	m := parse(t, "model: m\ninputs: {gib: {}}\nlimits:\n"+
		"- {of: ops, rate: 3, bucket: {burst: 9, fill: {per_gib: 1}, for: 1m}}\n")
	for gib, known := range map[string]bool{"8": true, "9": false} {
		if _, err := m.Levels(map[string]string{"gib": gib}); (err == nil) != known {
			t.Errorf("a bucket that gains %s of 9 a second: %v", gib, err)
		}
	}
}

var numberRE = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[0-9]+)?`)

// mutate changes a number, exchanges two, or removes or doubles a line or a part of one.
func mutate(r *rand.Rand, src string) string {
	at := numberRE.FindAllStringIndex(src, -1)
	put := func(where []int, text string) string { return src[:where[0]] + text + src[where[1]:] }
	one, other := at[r.IntN(len(at))], at[r.IntN(len(at))]
	lines := strings.SplitAfter(src, "\n")
	line := r.IntN(len(lines))
	switch r.IntN(6) {
	case 0:
		words := strings.Fields("0 -1 1e308 1e-308 none unknown iops 0.0001 1e9 .nan 99999")
		return put(one, words[r.IntN(len(words))])
	case 1:
		return put(one, fmt.Sprint(math.Round(math.Exp2(20*r.Float64()))))
	case 2:
		return put(one, src[other[0]:other[1]])
	case 3:
		return strings.Join(slices.Delete(lines, line, line+1), "")
	case 4:
		return strings.Join(slices.Insert(lines, line, lines[line]), "")
	}
	parts := strings.Split(lines[line], ", ")
	k := r.IntN(len(parts))
	if parts = slices.Delete(parts, k, k+1); r.IntN(2) == 0 {
		parts = slices.Insert(parts, r.IntN(len(parts)+1), strings.Split(lines[r.IntN(len(lines))], ", ")[0])
	}
	lines[line] = strings.TrimRight(strings.Join(parts, ", "), "\n") + "\n"
	return strings.Join(lines, "")
}

// TestMutations: a built-in model that was damaged is refused, or its levels are finite and above 0, and none
// falls where an input that is a number grows.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 1))
	accepted, refused := 0, 0
	for range 800 {
		names := builtinNames()
		name := names[r.IntN(len(names))]
		whole, err := files.ReadFile("models/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		src := string(whole)
		for range 1 + r.IntN(3) {
			src = mutate(r, src)
		}
		m, err := Parse(name+".yaml", []byte(src))
		if err != nil {
			if refused++; !errors.Is(err, model.ErrUsage) || !strings.HasPrefix(err.Error(), name+".yaml:") {
				t.Fatalf("%v of\n%s", err, src)
			}
			continue
		}
		accepted++
		for range 10 {
			set := map[string]string{}
			var numbers []string
			for _, in := range m.InputNames() {
				if words := m.Choices(in); words != nil {
					set[in] = words[r.IntN(len(words))]
				} else {
					set[in], numbers = num.Digits(math.Exp2(18*r.Float64()), 7), append(numbers, in)
				}
			}
			low, err := m.Levels(set)
			if err != nil {
				continue
			}
			checkSound(t, low, src)
			if len(numbers) == 0 || strings.Contains(src, "steps") {
				continue
			}
			in := numbers[r.IntN(len(numbers))]
			x, _ := m.Inputs[in].number(set[in])
			set[in] = num.Digits(1.5*x/m.Inputs[in].factor(), 7)
			high, err := m.Levels(set)
			for i := range high.Limits {
				if before, after := low.Limits[i].Rate.Level(), high.Limits[i].Rate.Level(); err == nil && after < before {
					t.Fatalf("%v: %s falls from %v to %v with %s in\n%s", set, low.Limits[i].Name(), before, after, in, src)
				}
			}
		}
	}
	if accepted < 150 || refused < 150 {
		t.Errorf("%d were accepted and %d refused: the mutations show little", accepted, refused)
	}
}

// checkSound: levels are finite and above 0, and buckets can be empty and full.
func checkSound(t *testing.T, l Levels, src string) {
	t.Helper()
	for _, lim := range l.Limits {
		base := lim.Rate.Level()
		if !(base > 0) || math.IsInf(base, 0) {
			t.Fatalf("%s is %v in\n%s", lim.Name(), base, src)
		}
		if b := lim.Bucket; b != nil && (!(b.Burst > base) || b.Fill >= b.Burst || b.Fill <= 0 || b.Size <= 0 ||
			!num.Finite(b.Burst) || math.IsInf(b.Size, 0)) {
			t.Fatalf("%s has the bucket %+v with %v in\n%s", lim.Name(), *b, base, src)
		}
	}
	for _, size := range []float64{512, 16 << 10, 1 << 20} {
		if e := l.At(size, .5); len(e.Limits) > 0 && !(num.Finite(e.Ops) && e.Ops > 0) {
			t.Fatalf("%v op/s of %v bytes in\n%s", e.Ops, size, src)
		}
	}
}
