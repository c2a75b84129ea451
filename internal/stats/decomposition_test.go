package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/scalebench/scalebench/test/skip"
)

// TestDecompositionIdentity: of balanced groups,
// (N−1)/N·S²_all = (k−1)/k·S²_means + (n−1)/n·mean(S²_i).
func TestDecompositionIdentity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		k, n := 2+rng.IntN(8), 2+rng.IntN(9)
		var values []float64
		var codes []int32
		var within float64
		for g := range k {
			level := 100 * (1 + .2*rng.NormFloat64())
			one := make([]float64, n)
			for i := range one {
				one[i] = level * (1 + .1*rng.NormFloat64())
				codes = append(codes, int32(g+1))
			}
			_, variance := stat.MeanVariance(one, nil)
			values, within = append(values, one...), within+variance/float64(k)
		}
		d, err := Decompose(values, codes, k+1)
		if err != nil {
			t.Fatal(err)
		}
		grand, all, groups, size := stat.Mean(values, nil), float64(k*n), float64(k), float64(n)
		left := (all - 1) / all * square(d.All*grand)
		right := (groups-1)/groups*square(d.Between*grand) + (size-1)/size*within
		closeTo(t, "identity", left/right, nil, 1, 1e-12)
		// The components are MSW and S²_means − MSW/n, which is n0 of balanced groups.
		closeTo(t, "within", square(d.InCorrected*grand), nil, within, 1e-12)
		closeTo(t, "between", square(d.BetweenCorrected*grand), nil, max(0, square(d.Between*grand)-within/size), 1e-10)
	}
}

// TestDecomposeByHand: groups {1, 3}, {5}, {6, 8, 10} and a value without a group.
// Means 2, 5, 8; of all six 5.5; MSW = (2+8)/3, MSB = (2·3.5²+.5²+3·2.5²)/2 = 21.75,
// n0 = (6 − 14/6)/2.
func TestDecomposeByHand(t *testing.T) {
	d, err := Decompose([]float64{1, 99, 3, 5, 6, 8, 10}, []uint16{1, 0, 1, 2, 4, 4, 4}, 6)
	if d.N != 6 || d.Unknown != 1 || d.Groups != 3 || d.Skipped != 1 {
		t.Errorf("Decompose counts %+v", d)
	}
	within, between := 10./3, (21.75-10./3)/(11./6)
	closeTo(t, "all", d.All, err, math.Sqrt(53.5/5)/5.5, 1e-14)
	closeTo(t, "between", d.Between, nil, 3./5, 1e-14)
	closeTo(t, "in", d.In, nil, (math.Sqrt2/2+2./8)/2, 1e-14)
	closeTo(t, "corrected in", d.InCorrected, nil, math.Sqrt(within)/5.5, 1e-14)
	closeTo(t, "corrected between", d.BetweenCorrected, nil, math.Sqrt(between)/5.5, 1e-14)
	closeTo(t, "share", d.Share, nil, between/(between+within), 1e-14)
}

// TestCorrectedDecomposition: days that differ by 5 % and hours of a day by 20 %,
// three values a day. The paper's form takes noise for a difference between days;
// the corrected one does not.
func TestCorrectedDecomposition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	const runs, days, perDay = 300, 30, 3
	var paper, corrected, share float64
	for range runs {
		var values []float64
		var codes []uint16
		for day := range days {
			level := 100 * (1 + .05*rng.NormFloat64())
			for range perDay {
				values, codes = append(values, level+20*rng.NormFloat64()), append(codes, uint16(day+1))
			}
		}
		d, err := Decompose(values, codes, days+1)
		if err != nil {
			t.Fatal(err)
		}
		paper += d.Between / runs
		corrected += d.BetweenCorrected * d.BetweenCorrected / runs
		share += d.Share / runs
	}
	if want := math.Sqrt(.05*.05 + .2*.2/perDay); math.Abs(paper-want) > .005 {
		t.Errorf("Between = %v on average, want %v: the days' 5 %% and the noise of their means", paper, want)
	}
	if got := math.Sqrt(corrected); got < .045 || got > .075 {
		t.Errorf("BetweenCorrected = %v on average, want about .05", got)
	}
	if want := .05 * .05 / (.05*.05 + .2*.2); share < want/1.5 || share > want*2 {
		t.Errorf("Share = %v on average, want about %v", share, want)
	}
}

func TestDecomposeRefuses(t *testing.T) {
	xs := []float64{1, 2, 3, 4}
	single, errSingle := Decompose(xs, []uint16{1, 2, 3, 4}, 5)
	if !errors.Is(errSingle, ErrTooFew) || single.Between != single.All || single.Skipped != 4 || single.In != 0 {
		t.Errorf("a value a group: %+v, %v, want ErrTooFew and Between = All", single, errSingle)
	}
	_, errOne := Decompose(xs, []uint16{1, 1, 1, 0}, 2)
	_, errCode := Decompose(xs, []int32{1, 1, 2, -1}, 3)
	_, errLength := Decompose(xs, []int32{1, 1}, 3)
	_, errMean := Decompose([]float64{-1, 1, -2, 2}, []int32{1, 1, 2, 2}, 3)
	_, errEffect := EtaSquared([]float64{5, 5, 5}, []uint16{1, 1, 2}, 3, DefaultLevel)
	_, errLone := EtaSquared([]float64{5, 6}, []uint16{1, 2}, 3, DefaultLevel)
	_, _, errV := CramersV([]uint16{1, 1, 0}, []uint16{1, 2, 3}, 2, 4)
	_, _, errFlat := Pearson([]float64{1, 1, 1, 1}, xs)
	_, errWilson := Wilson(3, 2, .95)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"one group", errOne, ErrTooFew},
		{"a negative code", errCode, ErrArgument},
		{"lengths differ", errLength, ErrLength},
		{"mean 0", errMean, ErrZeroMean},
		{"effect on constants", errEffect, ErrNoSpread},
		{"effect, a value a level", errLone, ErrTooFew},
		{"association with one level", errV, ErrTooFew},
		{"correlation with a constant", errFlat, ErrNoSpread},
		{"three of two", errWilson, ErrArgument},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	all, err := EtaSquared([]float64{1, 1, 9, 9}, []uint16{1, 1, 2, 2}, 3, DefaultLevel)
	if err != nil || all.Eta2 != 1 || all.P != 0 || all.F != math.MaxFloat64 {
		t.Errorf("a fact that explains all: %+v, %v", all, err)
	}
}

// TestTwoBands: the coefficient of variation of two levels, a share p of the values
// at r times the other: √(p(1−p))·(1−r)/(1−p(1−r)).
func TestTwoBands(t *testing.T) {
	skip.IfShort(t)
	for _, c := range [][3]float64{{.22, .5, .2327}, {.17, .5, .2053}, {.5, .4815, .350}} {
		const n = 100_000
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 1
			if float64(i) < c[0]*n {
				xs[i] = c[1]
			}
		}
		got, err := COV(xs)
		closeTo(t, "COV of two bands", got, err, c[2], 5e-5)
	}
}

func square(x float64) float64 { return x * x }

// TestSumLevelsInParts: sums of so many values that parts of them are summed up at
// once are those of one walk.
func TestSumLevelsInParts(t *testing.T) {
	const n, levels = 1<<20 + 7, 50
	rng := rand.New(rand.NewPCG(7, 7))
	values, codes := make([]float64, n), make([]uint16, n)
	var counts, sums [levels]float64
	for i := range values {
		values[i], codes[i] = 100+rng.NormFloat64(), uint16(rng.IntN(levels))
		counts[codes[i]]++
		sums[codes[i]] += values[i] - 100
	}
	got := SumLevels(values, codes, levels, 100)
	for c := 1; c < levels; c++ { // of code 0 no level is known
		if got.N[c] != counts[c] || math.Abs(got.Sum[c]-sums[c]) > 1e-7 {
			t.Errorf("level %d: %v values with the sum %v, want %v with %v", c, got.N[c], got.Sum[c], counts[c], sums[c])
		}
	}
}
