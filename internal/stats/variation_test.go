package stats

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// variation is testdata/variation.json, made by testdata/variation.py.
type variation struct {
	Tails struct {
		T    [][3]float64
		F    [][4]float64
		Chi2 [][3]float64
		NCF  [][5]float64
	}
	Spread []struct {
		X                     []float64
		Mean, Median, SD, COV float64
		Medcouple             float64
		Interval              [2]float64
	}
	Binomial [][3]float64
	Ordered  struct {
		X     []float64
		Cases [][3]float64
	}
	Effects []struct {
		Values       []float64
		Codes        []uint16
		F, P, Welch  float64
		Eta2, Omega2 float64
		Interval     [2]float64
	}
	Cramer []struct {
		A, B []uint16
		V, P float64
	}
	Wilson [][5]float64
	Pairs  []struct {
		X, Y            []float64
		R, P, Rho, RhoP float64
		Interval        [2]float64
	}
	Series []struct {
		X, ACF []float64
		Block  float64
	}
	Long  []float64
	Drift []struct {
		T, X                         []float64
		P, Independent, Ratio, Slope float64
		Interval                     [2]float64
	}
	Changes []struct {
		X       []float64
		Changes []int
	}
}

func readVariation(t *testing.T) variation {
	t.Helper()
	data, err := os.ReadFile("testdata/variation.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref variation
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.Tails.T) == 0 || len(ref.Spread) == 0 || len(ref.Effects) == 0 || len(ref.Pairs) == 0 {
		t.Fatal("testdata/variation.json is incomplete")
	}
	return ref
}

// relative compares what may be very small.
func relative(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func TestTailsAgreeWithSciPy(t *testing.T) {
	ref := readVariation(t).Tails
	for _, c := range ref.T {
		relative(t, "tTails", tTails(c[0], c[1]), c[2], 1e-7)
	}
	for _, c := range ref.F {
		relative(t, "FTail", FTail(c[0], c[1], c[2]), c[3], 1e-6)
	}
	for _, c := range ref.Chi2 {
		relative(t, "χ²", distuv.ChiSquared{K: c[1]}.Survival(c[0]), c[2], 1e-9)
	}
	for _, c := range ref.NCF {
		if got := noncentralF(c[0], c[1], c[2], c[3]); math.Abs(got-c[4]) > .002 || c[3] < 1000 && math.Abs(got-c[4]) > 1e-8 {
			t.Errorf("noncentralF(%v) = %v, want %v", c[:4], got, c[4])
		}
	}
}

func TestSpreadAgreesWithNumPy(t *testing.T) {
	for _, c := range readVariation(t).Spread {
		sorted := slices.Sorted(slices.Values(c.X))
		s, err := NewSpread(sorted)
		closeTo(t, "mean", s.Mean, err, c.Mean, 1e-13)
		closeTo(t, "median", s.Median, nil, c.Median, 1e-14)
		closeTo(t, "SD", s.SD, nil, c.SD, 1e-13)
		closeTo(t, "COV of the spread", s.COV, nil, c.COV, 1e-13)
		cov, err := COV(c.X)
		closeTo(t, "COV", cov, err, c.COV, 1e-13)
		iv, err := covInterval(c.X, .95)
		closeTo(t, "COV interval, lower", iv.Lo, err, c.Interval[0], 1e-10)
		closeTo(t, "COV interval, upper", iv.Hi, err, c.Interval[1], 1e-10)
		closeTo(t, "medcouple", medcouple(sorted), nil, c.Medcouple, 1e-10)
	}
}

func TestSpreadRefuses(t *testing.T) {
	one, errOne := NewSpread([]float64{7})
	negative, errNegative := NewSpread([]float64{-3, -1})
	if one != (Spread{N: 1, Mean: 7, Median: 7, Min: 7, Max: 7}) {
		t.Errorf("NewSpread of one value = %+v", one)
	}
	if negative != (Spread{N: 2, Mean: -2, Median: -2, Min: -3, Max: -1, SD: math.Sqrt2}) {
		t.Errorf("NewSpread of negative values = %+v", negative)
	}
	_, errOrder := NewSpread([]float64{2, 1})
	_, errNaN := NewSpread([]float64{1, math.NaN()})
	_, errConstant := COVInterval([]float64{.1, .1, .1, .1, .1}, .95, 1)
	_, errFew := COVInterval([]float64{1, 2, 3, 4}, .95, 1)
	_, errLevel := COVInterval([]float64{1, 2, 3, 4, 5}, 1, 1)
	_, _, errMedian := MedianRanks(5, .95)
	_, errRepetitions := RepetitionsForMean(.2, 0, .95)
	_, errMany := RepetitionsForMean(1e9, .01, .95)
	_, errConfirm := ConfirmMedian([]float64{1, 2, 3}, []float64{.1}, .95)
	_, errShare := ConfirmMedian(make([]float64, 20), []float64{.1}, .95)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"one value", errOne, ErrTooFew},
		{"negative mean", errNegative, ErrZeroMean},
		{"falling values", errOrder, ErrArgument},
		{"NaN", errNaN, ErrNotFinite},
		{"interval of constants", errConstant, ErrNoSpread},
		{"interval of four", errFew, ErrTooFew},
		{"level 1", errLevel, ErrArgument},
		{"median of five", errMedian, ErrTooFew},
		{"precision 0", errRepetitions, ErrArgument},
		{"10²² repetitions", errMany, ErrArgument},
		{"CONFIRM of three", errConfirm, ErrTooFew},
		{"CONFIRM about 0", errShare, ErrZeroMean},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if cov, err := COV([]float64{.1, .1, .1}); err != nil || cov != 0 {
		t.Errorf("COV of equal values = %v, %v, want 0", cov, err)
	}
}

func TestMedianRanks(t *testing.T) {
	for n, want := range map[int][2]int{6: {1, 6}, 10: {2, 9}, 20: {6, 15}, 30: {10, 21}} {
		if lo, hi, err := MedianRanks(n, .95); err != nil || lo != want[0] || hi != want[1] {
			t.Errorf("MedianRanks(%d) = %d, %d, %v, want %v", n, lo, hi, err, want)
		}
	}
	// SciPy's quantile k is the first with P(B ≤ k) beyond the tail: the rank is k.
	for _, c := range readVariation(t).Binomial {
		n, k := int(c[0]), int(c[2])
		if lo, hi, err := MedianRanks(n, c[1]); err != nil || lo != k || hi != n-k+1 {
			t.Errorf("MedianRanks(%d, %v) = %d, %d, %v, want %d, %d", n, c[1], lo, hi, err, k, n-k+1)
		}
	}
}

func TestRepetitionsForMean(t *testing.T) {
	for cov, want := range map[float64]int{.24: 91, .21: 71, .19: 58, 0: 2} {
		if n, err := RepetitionsForMean(cov, .05, .95); err != nil || n != want {
			t.Errorf("RepetitionsForMean(%v) = %d, %v, want %d", cov, n, err, want)
		}
	}
}

func TestMeanOrderedIsOverAllSubsets(t *testing.T) {
	ref := readVariation(t).Ordered
	for _, c := range ref.Cases {
		closeTo(t, "mean order statistic", meanOrdered(ref.X, int(c[0]), int(c[1])), nil, c[2], 1e-12)
	}
}

// TestConfirmAgreesWithSubsets: the sizes are those that the mean over drawn
// subsets, as in the paper, gives; of more values than have to be looked at, too.
func TestConfirmAgreesWithSubsets(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{300, 50_000} {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 100 * lognormalLevel(rng)
		}
		got, err := ConfirmMedian(xs, []float64{.1, .0001}, .95)
		if err != nil {
			t.Fatal(err)
		}
		median, _ := Quantile(xs, .5)
		for _, p := range got[0].Curve {
			if p.Size != got[0].Needed && p.Size != 20 && p.Size != 150 {
				continue
			}
			var lo, hi float64
			const subsets = 3000
			for range subsets {
				for i := range p.Size { // the beginning of a shuffle
					j := i + rng.IntN(n-i)
					xs[i], xs[j] = xs[j], xs[i]
				}
				first, last, err := MedianRanks(p.Size, .95)
				if err != nil {
					t.Fatal(err)
				}
				subset := slices.Sorted(slices.Values(xs[:p.Size]))
				lo, hi = lo+subset[first-1]/subsets, hi+subset[last-1]/subsets
			}
			// Three standard errors of the drawn means are less than 1 % of the median.
			if math.Abs(lo-p.Lo) > .01*median || math.Abs(hi-p.Hi) > .01*median {
				t.Errorf("%d values, subsets of %d: [%v, %v], drawn [%v, %v]", n, p.Size, p.Lo, p.Hi, lo, hi)
			}
		}
		if c := got[0]; c.Needed < 80 || c.Needed > 140 || c.Extrapolated != 0 {
			t.Errorf("%d values: within 10 %% with %d, extrapolated %d", n, c.Needed, c.Extrapolated)
		}
		// The interval reaches 1.96·SD(median)/√n: SD ≈ 1.25·.4, so (.98·… /.0001)².
		if c := got[1]; c.Needed != 0 || c.Extrapolated < 5e7 || c.Extrapolated > 2e8 {
			t.Errorf("%d values: within 0.01 %% with %d, extrapolated %d, want 0 and about 10⁸", n, c.Needed, c.Extrapolated)
		}
	}
}

func TestEffectsAgreeWithSciPy(t *testing.T) {
	ref := readVariation(t)
	for _, c := range ref.Effects {
		e, err := EtaSquared(c.Values, c.Codes, 4, DefaultLevel)
		closeTo(t, "F", e.F, err, c.F, 1e-9)
		relative(t, "P", e.P, c.P, 1e-9)
		welch, err := WelchANOVA(c.Values, c.Codes, 4, 1)
		if relative(t, "p of Welch", welch, c.Welch, 1e-9); err != nil {
			t.Error(err)
		}
		closeTo(t, "eta²", e.Eta2, nil, c.Eta2, 1e-12)
		closeTo(t, "omega²", e.Omega2, nil, c.Omega2, 1e-12)
		closeTo(t, "noncentral F, lower", e.noncentral(.975), nil, c.Interval[0], 1e-6)
		closeTo(t, "noncentral F, upper", e.noncentral(.025), nil, c.Interval[1], 1e-6)
		if e.CI.Lo > c.Interval[0]+1e-6 || e.CI.Hi < c.Interval[1]-1e-6 || !e.CI.Contains(e.Omega2) {
			t.Errorf("interval %v does not hold %v and omega² %v", e.CI, c.Interval, e.Omega2)
		}
		if wide, err := EtaSquared(c.Values, c.Codes, 4, .999); err != nil || wide.CI.Hi <= e.CI.Hi || wide.CI.Lo > e.CI.Lo {
			t.Errorf("at .999 the interval is %v: %v, want it wider than %v", wide.CI, err, e.CI)
		}
	}
	for _, c := range ref.Cramer {
		v, p, err := CramersV(c.A, c.B, 6, 6)
		closeTo(t, "Cramér's V", v, err, c.V, 1e-12)
		relative(t, "p of χ²", p, c.P, 1e-9)
	}
	for _, c := range ref.Wilson {
		iv, err := Wilson(int(c[0]), int(c[1]), c[2])
		closeTo(t, "Wilson, lower", iv.Lo, err, c[3], 1e-12)
		closeTo(t, "Wilson, upper", iv.Hi, nil, c[4], 1e-12)
	}
	for _, c := range ref.Pairs {
		r, p, err := Pearson(c.X, c.Y)
		closeTo(t, "Pearson", r, err, c.R, 1e-12)
		relative(t, "p of Pearson", p, c.P, 1e-6)
		rho, p, err := Spearman(c.X, c.Y)
		closeTo(t, "Spearman", rho, err, c.Rho, 1e-12)
		relative(t, "p of Spearman", p, c.RhoP, 1e-6)
		again, after, n, err := SpearmanOfSeries(c.X, c.Y)
		if err != nil || again != rho || n > float64(len(c.X)) || n == float64(len(c.X)) && after != p || after < p {
			t.Errorf("as series: %v, p %v of %v, %v, want %v, and p no less than %v", again, after, n, err, rho, p)
		}
	}
}

// TestSpearmanOfFew: p of a few pairs by counting orders (R's cor.test, exact), with equal
// values, too (30 orders of 0, 0, 0, 0, 1, 2).
func TestSpearmanOfFew(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, 2. / 24}, {[]float64{1, 2, 3, 5, 4}, 10. / 120}, {[]float64{1, 2, 3, 4, 6, 5}, 12. / 720},
		{[]float64{0, 0, 0, 0, 1, 2}, 2. / 30}, {[]float64{9, 8, 7, 6, 5, 4, 3, 2, 1}, 2. / 362880},
	} {
		x := make([]float64, len(c.y))
		for i := range x {
			x[i] = float64(i)
		}
		_, p, err := Spearman(x, c.y)
		closeTo(t, "p of Spearman", p, err, c.want, 1e-12)
	}
}

// TestSpearmanInterval: of a correlation (computed in Python), of one order
// throughout, and of too few pairs.
func TestSpearmanInterval(t *testing.T) {
	for _, tt := range []struct {
		rho       float64
		n         int
		effective float64
		want      Interval
	}{
		{-.8, 20, 20, Interval{-0.928135143238813, -0.5023646326158095}},
		{.3, 40, 12.5, Interval{-0.3279477167801168, 0.7440832710070633}},
		{0, 100, 100, Interval{-0.19641811768205933, 0.19641811768205933}},
		{1, 5, 5, Interval{0.13359874835211968, 1}},
		{-1, 10, 10, Interval{-1, -0.9633676126807859}},
	} {
		got, err := SpearmanInterval(tt.rho, tt.n, tt.effective, .95)
		closeTo(t, "lower", got.Lo, err, tt.want.Lo, 1e-9)
		closeTo(t, "upper", got.Hi, err, tt.want.Hi, 1e-9)
	}
	inOrder := []float64{3, 1, 5, 2, 4}
	if rho, p, n, err := SpearmanOfSeries(inOrder, inOrder); err != nil || rho != 1 || p < 2./120 || n > 5 {
		t.Errorf("five pairs in order: %v, p %v of %v, %v, want a p of 1/60 or more", rho, p, n, err)
	}
	for _, tt := range []struct {
		rho, effective, level float64
		want                  error
	}{{.5, 4.9, .95, ErrTooFew}, {1.1, 20, .95, ErrArgument}, {.5, 21, .95, ErrArgument}, {.5, 20, 0, ErrArgument}, {.5, 20, 1, ErrArgument}, {math.NaN(), 20, .95, ErrArgument}, {.5, math.NaN(), .95, ErrArgument}} {
		if iv, err := SpearmanInterval(tt.rho, 20, tt.effective, tt.level); !errors.Is(err, tt.want) {
			t.Errorf("SpearmanInterval(%v, 20, %v, %v) = %v, %v, want %v", tt.rho, tt.effective, tt.level, iv, err, tt.want)
		}
	}
}

// documented looks for a row in docs/methods.md.
func documented(t *testing.T, table, row string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), row+"\n") {
		t.Errorf("docs/methods.md has no row %q (%s)", row, table)
	}
}
