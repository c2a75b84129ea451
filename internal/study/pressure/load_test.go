package pressure

import (
	"math"
	"math/rand/v2"
	"testing"
)

const kib = 1024

// recorded is a source with these rates in one period.
func recorded(rates map[string]float64) Rates {
	return func(measure string) []float64 {
		if x, ok := rates[measure]; ok {
			return []float64{x}
		}
		return nil
	}
}

func TestLoad(t *testing.T) {
	both := []string{"read", "write"}
	iostat := map[string]float64{"read_ops": 100, "write_ops": 50, "read_bytes": 400 * kib,
		"write_bytes": 51200 * kib,
		"read_merges": 10, "write_merges": 5}
	pair := map[string]float64{"ops": 100, "bytes": 51200 * kib}
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name          string
		limit         Limit
		rates         map[string]float64
		least, most   float64
		absent, lacks string
	}{
		{"operations as they are", Limit{Quality: "ops", Ways: both}, iostat, 150, 150, "", ""},
		{"reads alone", Limit{Quality: "ops", Ways: both[:1]}, iostat, 100, 100, "", ""},
		{"each way splits by itself", Limit{Quality: "ops", Ways: both, Unit: 256 * kib}, iostat,
			100 + 200, 100 + 400./256 + 50 + 200, "", ""},
		{"before merging", Limit{Quality: "ops", Ways: both, Unmerged: true}, iostat, 165, 165, "", ""},
		{"before merging, and split", Limit{Quality: "ops", Ways: both[1:], Unit: 256 * kib, Unmerged: true},
			iostat, 200, 255, "", ""},
		{"bytes", Limit{Quality: "bytes", Ways: both}, iostat, 51600 * kib, 51600 * kib, "", ""},
		{"bytes of whole units", Limit{Quality: "bytes", Ways: both[:1], Unit: 16 * kib}, iostat, 1600 * kib,
			2000 * kib, "", ""},
		{"a pair serves a joint limit", Limit{Quality: "ops", Ways: both, Unit: 256 * kib}, pair, 200, 300, "", ""},
		{"a pair does not serve one way", Limit{Quality: "ops", Ways: both[:1]}, pair, nan, nan, "read_ops", ""},
		{"no bytes", Limit{Quality: "bytes", Ways: both}, map[string]float64{"ops": 1}, nan, nan, "read_bytes", ""},
		{"no sizes", Limit{Quality: "ops", Ways: both, Unit: kib}, map[string]float64{"ops": 7}, 7, inf, "",
			"read_bytes"},
		{"no merges", Limit{Quality: "ops", Ways: both, Unmerged: true}, pair, 100, inf, "", "read_merges"},
		{"a pair with merges of each way", Limit{Quality: "ops", Ways: both, Unmerged: true},
			map[string]float64{"ops": 7, "read_merges": 1, "write_merges": 2}, 10, 10, "", ""},
		{"received", Limit{Quality: "bytes", Ways: both[:1], Network: true},
			map[string]float64{"received_bytes": 5}, 5, 5, "", ""},
		{"cores", Limit{Quality: "cpu"}, map[string]float64{"cpu": 1.5}, 1.5, 1.5, "", ""},
		{"no cores", Limit{Quality: "cpu"}, pair, nan, nan, "cpu", ""},
		{"a missing value stays missing", Limit{Quality: "ops", Ways: both, Unit: kib},
			map[string]float64{"ops": 7, "bytes": nan}, nan, nan, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.limit.Load(recorded(tt.rates))
			if got.Absent != tt.absent || got.Lacks != tt.lacks {
				t.Errorf("absent %q, lacks %q, want %q, %q", got.Absent, got.Lacks, tt.absent, tt.lacks)
			}
			if (got.Least == nil) != (tt.absent != "") {
				t.Fatalf("load %v", got)
			}
			if got.Least != nil {
				near(t, "least", got.Least[0], tt.least)
				if got.Most[0] != tt.most {
					near(t, "most", got.Most[0], tt.most)
				}
			}
		})
	}
}

// TestLoadHoldsTheTruth draws operations of random sizes, of which each counts once for each started unit.
func TestLoadHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		unit := float64(int(1)<<rng.IntN(8)) * 4 * kib
		var ops, bytes, count float64
		largest := unit * math.Exp(3*rng.NormFloat64())
		for range 1 + rng.IntN(50) {
			size := math.Ceil(rng.Float64() * largest)
			ops, bytes, count = ops+1, bytes+size, count+math.Ceil(size/unit)
		}
		got := Limit{Quality: "ops", Ways: []string{"read"},
			Unit: unit}.Load(recorded(map[string]float64{"read_ops": ops, "read_bytes": bytes}))
		if count < got.Least[0]*(1-same) || count >= got.Most[0] {
			t.Errorf("%g operations of %g bytes count %g, bounds %g to %g", ops, bytes, count, got.Least[0],
				got.Most[0])
		}
		if largest <= unit {
			near(t, "operations up to the unit", got.Least[0], count)
		}
	}
}
