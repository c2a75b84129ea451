package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressive is an AR(1) series of mean 0 and variance 1.
func autoregressive(rng *rand.Rand, phi float64, n int) []float64 {
	out, x := make([]float64, n), rng.NormFloat64()
	for i := range out {
		out[i] = x
		x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
	}
	return out
}

func TestAutocorrelationAgreesWithStatsmodels(t *testing.T) {
	ref := readVariation(t)
	for _, c := range ref.Series {
		r, err := ACF(c.X, 20)
		if err != nil {
			t.Fatal(err)
		}
		for k := range r {
			closeTo(t, "autocorrelation", r[k], nil, c.ACF[k], 1e-12)
		}
		if r, err = ACF(c.X, blockLags(len(c.X))); err != nil {
			t.Fatal(err)
		}
		closeTo(t, "block length, as arch has it", circularBlock(float64(len(c.X)), r), nil, c.Block, 1e-9)
	}
	long := make([]float64, 9000)
	for i := range long {
		x := float64(i)
		long[i] = math.Sin(x*x/1000) + math.Mod(x, 7)
	}
	for _, lags := range []int{100, 40} { // by transform, by products
		r, err := ACF(long, lags)
		for k := range r {
			closeTo(t, "autocorrelation of many", r[k], err, ref.Long[k], 1e-11)
		}
	}
}

// TestEffectiveSize: an AR(1) series is worth n·(1−φ)/(1+φ) independent values.
func TestEffectiveSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 6))
	for _, phi := range []float64{-.3, 0, .5, .9} {
		const n = 100_000
		got, block, err := EffectiveSize(autoregressive(rng, phi, n))
		want := n * min(1, (1-phi)/(1+phi))
		closeTo(t, "effective size", got/want, err, 1, .1)
		if longest := 10 * (1 + 40*phi*phi); block < 1 || float64(block) > longest || phi == .9 && block < 40 {
			t.Errorf("φ = %v: blocks of %d, want at most %v", phi, block, longest)
		}
	}
	_, errFew := ACF([]float64{1, 2, 3}, 3)
	_, errFlat := ACF([]float64{2, 2, 2}, 1)
	_, _, errShort := EffectiveSize([]float64{1, 2, 3})
	if !errors.Is(errFew, ErrTooFew) || !errors.Is(errFlat, ErrNoSpread) || !errors.Is(errShort, ErrTooFew) {
		t.Errorf("degenerate series: %v, %v, %v, want ErrTooFew, ErrNoSpread, ErrTooFew", errFew, errFlat, errShort)
	}
}

// TestBlockIntervalOfMany: beyond 100,000 values the interval is that of theory.
func TestBlockIntervalOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n, phi = 400_000, .5
	xs := autoregressive(rng, phi, n)
	iv, err := BlockInterval(xs, mean, 200, .95, 400, 1)
	want := 2 * 1.96 * math.Sqrt((1+phi)/(1-phi)/n)
	closeTo(t, "width", (iv.Hi-iv.Lo)/want, err, 1, .15)
	if !iv.Contains(mean(xs)) {
		t.Errorf("%v does not hold the mean %v", iv, mean(xs))
	}
}

func TestBlockIntervalRefuses(t *testing.T) {
	xs := []float64{1, 2, 3, 4}
	of := func(level float64, block int, statistic func([]float64) float64) error {
		_, err := BlockInterval(xs, statistic, block, level, 200, 1)
		return err
	}
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"level 1", of(1, 1, mean), ErrArgument},
		{"one block", of(.95, 3, mean), ErrTooFew},
		{"no result", of(.95, 1, func([]float64) float64 { return math.NaN() }), ErrNotFinite},
		{"a constant", of(.95, 1, func([]float64) float64 { return 1 }), ErrNoSpread},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	first, _ := BlockInterval(xs, mean, 2, .95, 200, 1)
	if again, _ := BlockInterval(xs, mean, 2, .95, 200, 1); again != first {
		t.Errorf("the same seed gives %v and %v", first, again)
	}
}

// TestEffectiveSizeOfMany: means of neighbours give what the values themselves do,
// whether these remember for long or not.
func TestEffectiveSizeOfMany(t *testing.T) {
	const n = mostRelated + 5
	rng := rand.New(rand.NewPCG(5, 8))
	cycle, even := make([]float64, n), make([]float64, n)
	for i := range cycle {
		cycle[i] = math.Sin(2*math.Pi*float64(i)/6000) + rng.NormFloat64()
		even[i] = float64(1 - i%2*2)
	}
	for name, xs := range map[string][]float64{"φ = 0.5": autoregressive(rng, .5, n), "φ = 0.99": autoregressive(rng, .99, n), "a cycle": cycle} {
		r, err := acf(xs, blockLags(n))
		if err != nil {
			t.Fatal(err)
		}
		tau, err := integratedTime(xs, r)
		if err != nil {
			t.Fatal(err)
		}
		got, block, err := EffectiveSize(xs)
		closeTo(t, name+": size against that of the whole", got*tau/n, err, 1, .03)
		if longest := int(longestBlock(n)); block < 1 || block > longest {
			t.Errorf("%s: blocks of %d, want 1 to %d", name, block, longest)
		}
	}
	if got, _, err := EffectiveSize(even[1:]); err != nil || got != n-1 {
		t.Errorf("values that make up for each other are worth %v, %v, want %d", got, err, n-1)
	}
}
