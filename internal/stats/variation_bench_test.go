package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkVariation10M is what each function takes for ten million values:
//
//	go test ./internal/stats -run '^$' -bench Variation10M -benchtime 1x -benchmem
func BenchmarkVariation10M(b *testing.B) {
	const n = 10_000_000
	rng := rand.New(rand.NewPCG(1, 1))
	xs := dependent(.5)(rng, n)
	stepped, times, hours := slices.Clone(xs), make([]float64, n), make([]uint16, n)
	for i := range xs {
		times[i], hours[i] = float64(i), uint16(1+i/1000%24)
		if i > 4_321_987 {
			stepped[i] += 3
		}
	}
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"NewSpread", func() error { _, err := NewSpread(sorted); return err }},
		{"COVInterval", func() error { _, err := COVInterval(xs, .95, 1); return err }},
		{"OutlierFences", func() error { OutlierFences(sorted); return nil }},
		{"ConfirmMedian", func() error { _, err := ConfirmMedian(xs, []float64{.01, .05}, .95); return err }},
		{"ACF", func() error { _, err := ACF(xs, 1000); return err }},
		{"EffectiveSize", func() error { _, _, err := EffectiveSize(xs); return err }},
		{"BlockInterval", func() error { _, err := BlockInterval(xs, mean, 100, .95, 1000, 1); return err }},
		{"ChangePoints", func() error { _, err := ChangePoints(xs, .05, 1); return err }},
		{"ChangePointsStep", func() error { _, err := ChangePoints(stepped, .05, 1); return err }},
		{"Drift", func() error { _, _, err := Drift(times, xs, .95); return err }},
		{"Decompose", func() error { _, err := Decompose(xs, hours, 25); return err }},
		{"EtaSquared", func() error { _, err := EtaSquared(xs, hours, 25, DefaultLevel); return err }},
		{"CramersV", func() error { _, _, err := CramersV(hours, hours, 25, 25); return err }},
		{"Pearson", func() error { _, _, err := Pearson(xs, stepped); return err }},
		{"Spearman", func() error { _, _, err := Spearman(xs, stepped); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
