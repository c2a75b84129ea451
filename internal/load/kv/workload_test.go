package kv

import (
	"bufio"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// TestPresets: the mixes are those of the paper's Table I and of YCSB's files.
func TestPresets(t *testing.T) {
	for name, want := range map[string]struct {
		mix          []load.Weight
		distribution Distribution
	}{
		"W1":  {[]load.Weight{{Name: "update", Weight: 100}}, Uniform},
		"W2":  {[]load.Weight{{Name: "read", Weight: 100}}, Zipfian},
		"W3":  {[]load.Weight{{Name: "read", Weight: 95}, {Name: "update", Weight: 5}}, Zipfian},
		"w3b": {[]load.Weight{{Name: "read", Weight: 50}, {Name: "update", Weight: 50}}, Zipfian},
		"a":   {[]load.Weight{{Name: "read", Weight: 50}, {Name: "update", Weight: 50}}, Zipfian},
		"b":   {[]load.Weight{{Name: "read", Weight: 95}, {Name: "update", Weight: 5}}, Zipfian},
		"c":   {[]load.Weight{{Name: "read", Weight: 100}}, Zipfian},
		"d":   {[]load.Weight{{Name: "read", Weight: 95}, {Name: "insert", Weight: 5}}, Latest},
		"f":   {[]load.Weight{{Name: "read", Weight: 50}, {Name: "read-modify-write", Weight: 50}}, Zipfian},
	} {
		w, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		_, mix := w.mix()
		if diff := cmp.Diff(want.mix, mix); diff != "" || w.Distribution != want.distribution {
			t.Errorf("%s: %s, %s", name, w.Distribution, diff)
		}
		if err := w.Distribution.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Preset("e"); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Preset(e) = %v, want ErrUsage", err)
	}
}

// draws is enough to see shares that are wrong by a percent.
const draws = 1_000_000

// acceptable bounds what chiSquare returns: beyond it is one of 16,000 right
// generators. Seeds are fixed, so a test that passes goes on passing.
const acceptable = 4

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// countDraws draws and counts.
func countDraws(t *testing.T, n int64, draw func() int64) []int64 {
	t.Helper()
	counts := make([]int64, n)
	for range draws {
		i := draw()
		if i < 0 || i >= n {
			t.Fatalf("%d was drawn of %d", i, n)
		}
		counts[i]++
	}
	return counts
}

// TestDistributions: each is drawn as its exact shares say.
func TestDistributions(t *testing.T) {
	const n = 1000
	uniform := make([]float64, n)
	reversed := make([]float64, n)
	for i, p := range zipfShares(n) {
		uniform[i], reversed[n-1-i] = 1./n, p
	}
	for d, shares := range map[Distribution][]float64{
		Uniform: uniform,
		Zipfian: scrambledShares(newScrambled(n)),
		Zipf:    zipfShares(n),
		Latest:  reversed,
	} {
		choose := newChooser(d, n, func() int64 { return n }, newRand(7))
		z := chiSquare(countDraws(t, n, choose), times(shares, draws))
		if math.Abs(z) > acceptable {
			t.Errorf("%s: χ² is %.1f standard deviations off", d, z)
		}
		sum := 0.0
		for _, p := range shares {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the shares add up to %v", d, sum)
		}
	}
}

// TestChiSquareNotices: the test above would notice a distribution that is not
// the right one, even if it is near.
func TestChiSquareNotices(t *testing.T) {
	const n = 1000
	g, rng := newGray(n, zeta(n)), newRand(7)
	counts := countDraws(t, n, func() int64 { return g.rank(rng.Float64()) })
	if z := chiSquare(counts, times(grayShares(g, n), draws)); math.Abs(z) > acceptable {
		t.Errorf("Gray's method is %.1f standard deviations from its own shares", z)
	}
	if z := chiSquare(counts, times(zipfShares(n), draws)); z < 5*acceptable {
		t.Errorf("Gray's method is only %.1f standard deviations from the exact shares", z)
	}
}

// TestGrayIsApproximate has the figures that gray's comment is about.
func TestGrayIsApproximate(t *testing.T) {
	for _, test := range []struct {
		n                    int64
		rank3, last, distant float64
	}{
		{1_000, 1.1705, .9647, .0161},
		{1_000_000, 1.1940, .9836, .0110},
	} {
		exact := zipfShares(test.n)
		approx := grayShares(newGray(test.n, zeta(test.n)), int(test.n))
		last := test.n - 1
		near(t, "share of rank 3 to the exact one", approx[2]/exact[2], test.rank3)
		near(t, "share of the last rank to the exact one", approx[last]/exact[last], test.last)
		near(t, "distance", distance(approx, exact), test.distant)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > .0001 {
		t.Errorf("%s = %.4f, want %.4f", what, got, want)
	}
}

// TestScrambledShares has the figures that scrambled's comment is about.
func TestScrambledShares(t *testing.T) {
	near(t, "ζ of ten billion", zeta(scrambledItems-1), scrambledZeta)
	g := newGray(scrambledItems, scrambledZeta)
	near(t, "share of ranks beyond ten million", (1-math.Pow(10_000_000/g.items, 1-theta))/g.eta, .3145)
	near(t, "share of the first rank", 1/scrambledZeta, .0378)
	near(t, "share of the first of a million", 1/zeta(1_000_000), .0650)
}

// TestZipfSizes: small numbers of records, and ones that cannot be added up.
func TestZipfSizes(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 10, 1_000_000_000} {
		z, rng := newZipf(n), newRand(uint64(n))
		// The first ranks one by one, the others by powers of two.
		cell := func(rank int64) int64 {
			if rank < 8 {
				return rank
			}
			return 5 + int64(math.Log2(float64(rank)))
		}
		cells := cell(n-1) + 1
		expected := make([]float64, cells)
		for c := range cells {
			from, to := c, c+1
			if c >= 8 {
				from, to = 1<<(c-5), min(1<<(c-4), n)
			}
			expected[c] = draws * (zeta(to) - zeta(from)) / zeta(n)
		}
		counts := countDraws(t, cells, func() int64 { return cell(z.rank(rng)) })
		if z := chiSquare(counts, expected); cells > 1 && math.Abs(z) > acceptable {
			t.Errorf("%d records: χ² is %.1f standard deviations off", n, z)
		}
	}
}

// TestLatestMoves: the newest record is the most popular one at every moment,
// although there is one more after every hundred draws.
func TestLatestMoves(t *testing.T) {
	const loaded, perInsert = 50, 5000
	known := int64(loaded)
	choose := newChooser(Latest, loaded, func() int64 { return known }, newRand(3))
	last := int64(loaded + draws/perInsert)
	counts, expected := make([]int64, last+1), make([]float64, last+1)
	for i := range draws {
		if i%perInsert == 0 {
			known++
			for age, p := range zipfShares(known) {
				expected[age] += p * perInsert
			}
		}
		counts[known-1-choose()]++
	}
	if z := chiSquare(counts, expected); math.Abs(z) > acceptable {
		t.Errorf("χ² is %.1f standard deviations off", z)
	}
}

func TestDistributionCheck(t *testing.T) {
	if err := Distribution("zipfy").Check(); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Check = %v, want ErrUsage", err)
	}
}

func BenchmarkChoosers(b *testing.B) {
	for _, d := range []Distribution{Uniform, Zipfian, Zipf, Latest} {
		b.Run(string(d), func(b *testing.B) {
			choose := newChooser(d, 1_000_000, func() int64 { return 1_000_000 }, newRand(1))
			for b.Loop() {
				choose()
			}
		})
	}
}

// TestYCSB compares with what YCSB 0.17.0 printed: its constants, hashes, and
// what its generators made of a random number u. The head of the golden file
// says how it was made.
func TestYCSB(t *testing.T) {
	f, err := os.Open("testdata/ycsb/core.golden")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	zetas := map[int64]float64{} // by number of records: they take a while
	for _, records := range []int64{10, 1000, 123457} {
		zetas[records] = zeta(records)
	}
	seen := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if words[0] == "#" {
			continue
		}
		seen++
		last := len(words) - 1
		if got := ours(t, words[:last], zetas); got != words[last] {
			t.Errorf("%s = %s, want %s", strings.Join(words[:last], " "), got, words[last])
		}
	}
	if seen < 900 {
		t.Errorf("only %d lines in the golden file", seen)
	}
}

// ours computes what a line of the golden file is about.
func ours(t *testing.T, words []string, zetas map[int64]float64) string {
	t.Helper()
	switch words[0] {
	case "items":
		return strconv.Itoa(scrambledItems - 1)
	case "zeta":
		return strconv.FormatFloat(scrambledZeta, 'g', -1, 64)
	case "theta":
		return strconv.FormatFloat(theta, 'g', -1, 64)
	case "fnv":
		return strconv.FormatUint(fnv(parseInt(t, words[1])), 10)
	}
	records := parseInt(t, words[1])
	u, err := strconv.ParseFloat(words[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	if words[0] == "zipfian" {
		return strconv.FormatInt(newGray(records, zetas[records]).rank(u), 10)
	}
	return strconv.FormatInt(newScrambled(records).recordAt(u), 10)
}

func parseInt(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// zeta is ζ(n, theta), the sum of i^-theta for i from 1 to n: added up for the
// first ten thousand, and by the Euler–Maclaurin formula beyond; its next term
// is below 1e-15 there.
func zeta(n int64) float64 {
	sum := 0.0
	head := min(n, 10_000)
	for i := head; i > 0; i-- { // the small ones first
		sum += math.Pow(float64(i), -theta)
	}
	if n == head {
		return sum
	}
	a, b := float64(head), float64(n)
	return sum + (math.Pow(b, 1-theta)-math.Pow(a, 1-theta))/(1-theta) +
		(math.Pow(b, -theta)-math.Pow(a, -theta))/2 -
		theta*(math.Pow(b, -theta-1)-math.Pow(a, -theta-1))/12
}

// zipfShares are the exact shares of ranks among n: 1 / (i^theta ζ(n, theta)).
func zipfShares(n int64) []float64 {
	total := zeta(n)
	p := make([]float64, n)
	for i := range p {
		p[i] = math.Pow(float64(i+1), -theta) / total
	}
	return p
}

// grayShares are the shares that Gray's method gives to the first so many
// ranks, by inverting how it maps u to a rank.
func grayShares(g gray, ranks int) []float64 {
	p := make([]float64, ranks)
	p[0], p[1] = 1/g.zeta, math.Pow(.5, theta)/g.zeta
	for k := 2; k < ranks; k++ {
		upTo := func(i int) float64 { return math.Pow(float64(i)/g.items, 1-theta) / g.eta }
		p[k] = upTo(k+1) - upTo(k)
	}
	return p
}

// scrambledShares are the shares of records: those of the first ranks go where
// their hash says, and the rest is spread evenly. The hashes of ten billion
// ranks, each with a share of at most 2e-8, do that to within 0.1 % of a
// record's share.
func scrambledShares(s scrambled) []float64 {
	p := make([]float64, s.records)
	rest := 1.0
	for rank, share := range grayShares(s.ranks, 2_000_000) {
		p[fnv(int64(rank))%s.records] += share
		rest -= share
	}
	for i := range p {
		p[i] += rest / float64(s.records)
	}
	return p
}

// chiSquare compares how often things were drawn with how often they should
// have been. What it returns is about standard normal if they were drawn so
// (Wilson and Hilferty, 1931): far above 0 they were not, far below they were
// not random.
func chiSquare(counts []int64, expected []float64) float64 {
	sum, cells := 0.0, 0
	var fewCount, fewExpected float64 // cells too small for the test are joined
	add := func(count, expected float64) {
		sum += (count - expected) * (count - expected) / expected
		cells++
	}
	for i, e := range expected {
		if e < 10 {
			fewCount, fewExpected = fewCount+float64(counts[i]), fewExpected+e
			continue
		}
		add(float64(counts[i]), e)
	}
	if fewExpected > 0 {
		add(fewCount, fewExpected)
	}
	df := float64(cells - 1)
	return (math.Cbrt(sum/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
}

// times multiplies shares by a number of draws.
func times(p []float64, draws int) []float64 {
	e := make([]float64, len(p))
	for i := range p {
		e[i] = p[i] * float64(draws)
	}
	return e
}

// distance is the total variation distance of two distributions: the share of
// draws that would have to be others.
func distance(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i] - q[i])
	}
	return sum / 2
}
