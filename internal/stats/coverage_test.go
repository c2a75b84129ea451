package stats

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

const coverageFile = "testdata/coverage.csv"

// population draws one node's serial and parallel capacity. Its truth is
// E[parallel]/E[serial].
type population struct {
	name  string
	truth float64
	draw  func(*rand.Rand) (serial, parallel float64)
}

// independent pairs have nothing in common: the same kind of value drawn
// twice. level has mean 1.
func independent(name string, level func(*rand.Rand) float64) population {
	return population{name + " independent", 0.8, func(r *rand.Rand) (float64, float64) {
		return 100 * level(r), 80 * level(r)
	}}
}

// paired nodes keep their level in both phases; 5 % of noise is each phase's
// own.
func paired(name string, level func(*rand.Rand) float64) population {
	return population{name + " paired", 0.8, func(r *rand.Rand) (float64, float64) {
		node := level(r)
		return 100 * node * (1 + .05*r.NormFloat64()), 80 * node * (1 + .05*r.NormFloat64())
	}}
}

func normalLevel(r *rand.Rand) float64 { return 1 + .1*r.NormFloat64() }

func lognormalLevel(r *rand.Rand) float64 {
	const sigma = .4
	return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2)
}

// bimodalLevel: half of the nodes are twice as fast as the others.
func bimodalLevel(r *rand.Rand) float64 {
	level := 2. / 3
	if r.IntN(2) == 0 {
		level = 4. / 3
	}
	return level * (1 + .03*r.NormFloat64())
}

// populations are the cases of the table in docs/methods.md. In the last two
// a share of the nodes gets half of its capacity in the parallel phase, as in
// ScaleBench, section 4.2, where nodes share storage channels.
func populations() []population {
	ps := make([]population, 0, 8)
	for _, l := range []struct {
		name  string
		level func(*rand.Rand) float64
	}{{"normal", normalLevel}, {"lognormal", lognormalLevel}, {"bimodal", bimodalLevel}} {
		ps = append(ps, independent(l.name, l.level), paired(l.name, l.level))
	}
	for _, share := range []float64{.5, .2} {
		ps = append(ps, population{fmt.Sprintf("%.0f%% of nodes halved", 100*share), 1 - share/2,
			func(r *rand.Rand) (float64, float64) {
				ratio := 1.
				if r.Float64() < share {
					ratio = .5
				}
				return 100 * (1 + .03*r.NormFloat64()), 100 * ratio * (1 + .03*r.NormFloat64())
			}})
	}
	return ps
}

// tally counts how often an interval held the truth.
type tally struct{ held, missing int }

func (t *tally) count(iv Interval, err error, truth float64) {
	switch {
	case err != nil:
		t.missing++
	case iv.Contains(truth):
		t.held++
	}
}

// simulate runs the population's experiment many times over.
func simulate(p population, nodes, runs, resamples int, seed uint64) (fieller, bca tally) {
	rng := rand.New(rand.NewPCG(seed, uint64(nodes)))
	num, den := make([]float64, nodes), make([]float64, nodes)
	for run := range runs {
		for i := range nodes {
			den[i], num[i] = p.draw(rng)
		}
		iv, err := Fieller(num, den, .95)
		fieller.count(iv, err, p.truth)
		if resamples > 0 {
			iv, err = BCa(num, den, .95, resamples, uint64(run))
			bca.count(iv, err, p.truth)
		}
	}
	return fieller, bca
}

// TestCoverage compares how often the intervals hold the truth with the table
// of testdata/coverage.csv, on which the choice of interval in docs/methods.md
// rests. The table is made of 10,000 runs a cell by
//
//	go test ./internal/stats -run TestCoverage -update
func TestCoverage(t *testing.T) {
	if *update {
		writeCoverage(t)
	}
	want := readCoverage(t)
	const runs = 1000
	for _, p := range populations() {
		for _, nodes := range []int{4, 6, 10, 20} {
			key := fmt.Sprintf("%s/%d", p.name, nodes)
			stored, ok := want[key]
			if !ok {
				t.Fatalf("%s has no row for %s; run with -update", coverageFile, key)
			}
			got, _ := simulate(p, nodes, runs, 0, 99)
			near(t, key+" Fieller", float64(got.held)/runs, stored[0], runs)
		}
	}
}

// TestCoverageBCa does the same for some cells of BCa, which costs more.
func TestCoverageBCa(t *testing.T) {
	want := readCoverage(t)
	const runs = 150
	for _, p := range populations()[:2] {
		for _, nodes := range []int{4, 20} {
			key := fmt.Sprintf("%s/%d", p.name, nodes)
			_, got := simulate(p, nodes, runs, 500, 7)
			near(t, key+" BCa", float64(got.held)/runs, want[key][1], runs)
		}
	}
}

// near allows four standard errors of the binomial share.
func near(t *testing.T, what string, got, want, runs float64) {
	t.Helper()
	if tolerance := 4*math.Sqrt(want*(1-want)/runs) + .005; math.Abs(got-want) > tolerance {
		t.Errorf("%s held the truth in %.3f of the runs, want %.3f ± %.3f", what, got, want, tolerance)
	}
}

func writeCoverage(t *testing.T) {
	const runs, resamples = 10_000, 2000
	rows := [][]string{{"population", "nodes", "fieller", "bca", "fieller_absent", "bca_absent"}}
	for _, p := range populations() {
		for _, nodes := range []int{4, 6, 10, 20} {
			f, b := simulate(p, nodes, runs, resamples, 1)
			share := func(k int) string { return strconv.FormatFloat(float64(k)/runs, 'f', 4, 64) }
			rows = append(rows, []string{p.name, strconv.Itoa(nodes), share(f.held), share(b.held), share(f.missing), share(b.missing)})
		}
	}
	file, err := os.Create(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(file).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// readCoverage returns the shares of Fieller and BCa by population and nodes.
func readCoverage(t *testing.T) map[string][2]float64 {
	t.Helper()
	file, err := os.Open(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // read only
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][2]float64, len(rows))
	for _, row := range rows[1:] {
		var v [2]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[2+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		out[row[0]+"/"+row[1]] = v
	}
	return out
}

// TestDocumentedCoverage compares the table in docs/methods.md with the file.
func TestDocumentedCoverage(t *testing.T) {
	text, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	stored := readCoverage(t)
	for _, p := range populations() {
		row := "| " + p.name
		for method := range 2 {
			for _, nodes := range []int{4, 6, 10, 20} {
				row += fmt.Sprintf(" | %.1f", 100*stored[fmt.Sprintf("%s/%d", p.name, nodes)][method])
			}
		}
		if !strings.Contains(string(text), row+" |\n") {
			t.Errorf("docs/methods.md has no row %q", row+" |")
		}
	}
}
