package stats

import (
	"math"
	"testing"
)

// TestCompareParts checks the statistics that comparisons use, by hand.
func TestCompareParts(t *testing.T) {
	var one OneWay
	one.Add(map[string][]float64{"a": {1, 2, 3}, "b": {5, 6, 7}})
	if got, want := one.P(), FTail(24, 1, 4); math.Abs(got-want) > 1e-12 {
		t.Errorf("OneWay.P() = %v, want %v", got, want)
	}
	if got := InteractionVariance([]float64{1, 2, 3, 6}, 2); math.Abs(got-.25) > 1e-12 { // 4·0.5² / 1 / 4
		t.Errorf("InteractionVariance = %v, want 0.25", got)
	}
	if ci, _, ok := RangesApart([]float64{1, 2}, []float64{100, 101}, .95); !ok || math.Abs(ci.Lo-62) > 1e-9 || math.Abs(ci.Hi-136) > 1e-9 {
		t.Errorf("RangesApart = %v, %v, want [62, 136]", ci, ok)
	}
	if _, _, ok := RangesApart([]float64{1, 2}, []float64{30, 31}, .95); ok {
		t.Error("RangesApart: ranges that lie near pass for far apart")
	}
	if by, _, ok := CommonDrift([]float64{0, 1, 2, 3}, []float64{0, 1, 2.1, 3}, []float64{4, 5, 6, 7},
		[]float64{10, 11, 12, 13.1}); !ok || math.Abs(by-4.1) > .1 {
		t.Errorf("CommonDrift = %v, %v, want about 4.1", by, ok)
	}
	day := []float64{86400, 86401, 86402, 86403}
	if by, over, ok := CommonDrift([]float64{0, 1, 2, 3}, []float64{0, 1, 2.1, 3}, day,
		[]float64{10, 11, 12, 13.1}); !ok || math.Abs(by-6.1) > .2 || over != 6 { // twice the 3 s
		t.Errorf("CommonDrift a day later = %v over %v, %v, want about 6.1 over 6", by, over, ok)
	}
	var times, later, wave []float64
	for i := range 14 {
		times, later = append(times, float64(i)), append(later, float64(14+i))
		wave = append(wave, math.Sin(2*math.Pi*float64(i)/14))
	}
	if by, _, ok := CommonDrift(times, wave, later, wave); ok {
		t.Errorf("CommonDrift of a wave = %v: neighbours depend on each other", by)
	}
	if got := PairedA12([]float64{2, 1, 1}, []float64{1, 1, 2}); got != .5 {
		t.Errorf("PairedA12 = %v, want 0.5", got)
	}
}
