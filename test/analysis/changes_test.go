package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// otavaDir is where scripts/otava.sh has installed Otava; empty: the comparison is not
// made.
const otavaDir = "OTAVA"

// drawn is a series with known changes.
type drawn struct {
	noise  string
	values []float64
	places []int
}

// noisesDrawn are kinds of noise, each with an SD of about 1.
func noisesDrawn() map[string]func(*rand.Rand, int) []float64 {
	each := func(draw func(*rand.Rand) float64) func(*rand.Rand, int) []float64 {
		return func(rng *rand.Rand, n int) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = draw(rng)
			}
			return out
		}
	}
	return map[string]func(*rand.Rand, int) []float64{
		"white": each((*rand.Rand).NormFloat64),
		"AR(1), φ = 0.3 to 0.8": func(rng *rand.Rand, n int) []float64 {
			phi, x := .3+.5*rng.Float64(), rng.NormFloat64()
			out := make([]float64, n)
			for i := range out {
				out[i] = x
				x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
			}
			return out
		},
		"heavy tails": each(func(rng *rand.Rand) float64 { // Student's t with 3 degrees, SD 1
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			return rng.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3) / math.Sqrt(3)
		}),
		"outliers": each(func(rng *rand.Rand) float64 {
			x := rng.NormFloat64()
			if rng.Float64() < .03 {
				x += 20 * (rng.Float64() - .5)
			}
			return x
		}),
	}
}

// draw makes a series of 20 to 400 values. A quarter has no change; others have up to
// six, by .5 to 5 SDs, with five values or more between them.
func draw(rng *rand.Rand, kind string) drawn {
	n := int(20 * math.Pow(20, rng.Float64()))
	d := drawn{noise: kind, values: noisesDrawn()[kind](rng, n)}
	if rng.Float64() > .25 {
		for range 1 + rng.IntN(min(6, n/10)) {
			at := 5 + rng.IntN(n-9)
			if !slices.ContainsFunc(d.places, func(p int) bool { return max(p-at, at-p) < 5 }) {
				d.places = append(d.places, at)
			}
		}
		slices.Sort(d.places)
	}
	level, next := 100.0, 0
	for i := range d.values {
		if next < len(d.places) && i == d.places[next] {
			step := .5 + 4.5*rng.Float64()
			if rng.IntN(2) == 0 {
				step = -step
			}
			level, next = level+step, next+1
		}
		d.values[i] += level
	}
	return d
}

// tally is how well changes were found.
type tally struct{ truths, hits, found, right, clean, alarms, off int }

func (t *tally) add(places, found []int) {
	t.truths, t.found = t.truths+len(places), t.found+len(found)
	for _, p := range places {
		if i := nearest(found, p); i >= 0 {
			t.hits++
			t.off += max(found[i]-p, p-found[i])
		}
	}
	for _, f := range found {
		if nearest(places, f) >= 0 {
			t.right++
		}
	}
	if len(places) == 0 {
		t.clean++
		if len(found) > 0 {
			t.alarms++
		}
	}
}

// nearest is the place within two of another; −1: none.
func nearest(places []int, of int) int {
	best := -1
	for i, p := range places {
		if d := max(p-of, of-p); d <= 2 && (best < 0 || d < max(places[best]-of, of-places[best])) {
			best = i
		}
	}
	return best
}

func (t *tally) recall() float64    { return float64(t.hits) / float64(max(1, t.truths)) }
func (t *tally) precision() float64 { return float64(t.right) / float64(max(1, t.found)) }

// programs are those that are compared, ours first.
var programs = []string{"scalebench", "otava", "otava_strict", "e_divisive"}

// TestChangesBeside: on 200 series with known changes, recall is no less than that of
// Otava and of E-divisive where false alarms are no more. The real series that Otava's
// own archive carries are listed with what each finds.
func TestChangesBeside(t *testing.T) {
	parts.Begin(t)
	dir := os.Getenv(otavaDir)
	if dir == "" {
		t.Skip("set " + otavaDir + " to where scripts/otava.sh has installed Otava")
	}
	rng := rand.New(rand.NewPCG(2026, 200))
	var all []drawn
	for _, kind := range slices.Sorted(maps.Keys(noisesDrawn())) {
		for range 50 {
			all = append(all, draw(rng, kind))
		}
	}
	var series [][]float64
	for _, d := range all {
		series = append(series, d.values)
	}
	tallies := make(map[string]map[string]*tally)
	for i, found := range foundBy(t, dir, series) {
		for _, kind := range []string{all[i].noise, "all"} {
			if tallies[kind] == nil {
				tallies[kind] = map[string]*tally{}
			}
			for _, p := range programs {
				if tallies[kind][p] == nil {
					tallies[kind][p] = new(tally)
				}
				tallies[kind][p].add(all[i].places, found[p])
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(tallies)) {
		for _, p := range programs {
			x := tallies[kind][p]
			t.Logf("| %s | %s | %.0f (%d/%d) | %.0f (%d/%d) | %d of %d | %.2f |", kind, p, 100*x.recall(), x.hits,
				x.truths, 100*x.precision(), x.right, x.found, x.alarms, x.clean,
				float64(x.off)/float64(max(1, x.hits)))
		}
	}
	ours := tallies["all"]["scalebench"]
	for _, p := range programs[1:] {
		other := tallies["all"][p]
		if ours.alarms > other.alarms || ours.recall() < other.recall() && ours.precision() <= other.precision() {
			t.Errorf("recall %.2f, precision %.2f, %d alarms; %s has %.2f, %.2f, %d", ours.recall(), ours.precision(),
				ours.alarms, p, other.recall(), other.precision(), other.alarms)
		}
	}
	realSeries(t, dir)
}

// realSeries lists what each program finds in the series of the archive.
func realSeries(t *testing.T, dir string) {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(dir, "sdist", "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives %v, %v; want one", archives, err)
	}
	var real map[string][]float64
	askOtava(t, dir, nil, &real, "real", archives[0])
	names := slices.Sorted(maps.Keys(real))
	var series [][]float64
	for _, name := range names {
		series = append(series, real[name])
	}
	for i, found := range foundBy(t, dir, series) {
		t.Logf("%s (%d values): %v", names[i], len(series[i]), found)
	}
}

// foundBy is what each program finds in each series.
func foundBy(t *testing.T, dir string, series [][]float64) []map[string][]int {
	t.Helper()
	input, err := json.Marshal(series)
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string][]int
	askOtava(t, dir, input, &out)
	for i, values := range series {
		changes, err := stats.ChangePoints(values, .05, 1)
		if err != nil {
			t.Fatal(fmt.Errorf("series %d: %w", i, err))
		}
		for _, c := range changes {
			out[i]["scalebench"] = append(out[i]["scalebench"], c.Index)
		}
	}
	return out
}

// askOtava asks beside.py.
func askOtava(t *testing.T, dir string, input []byte, into any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "python"), append([]string{"beside.py"}, args...)...) //nolint:gosec // of the user's environment
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("beside.py: %v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
