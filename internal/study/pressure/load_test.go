package pressure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/telemetry"
)

const kib = 1024

// period is the rates period one.
type period map[telemetry.Measure]float64

// recorded is a source with these rates.
func recorded(service string, rates period) *telemetry.Recording {
	all := columns{}
	for m, x := range rates {
		all[m] = []float64{x}
	}
	r := recordedOf("", service, 1, all)
	return &r
}

func TestLoad(t *testing.T) {
	iostat := period{"read_ops": 100, "write_ops": 50, "read_bytes": 400 * kib,
		"write_bytes": 51200 * kib,
		"read_merges": 10, "write_merges": 5}
	pair := period{"ops": 100, "bytes": 51200 * kib}
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name          string
		limit         levels.Level
		rates         period
		least, most   float64
		absent, lacks telemetry.Measure
	}{
		{"operations as they are", levels.Level{Quality: levels.Ops, Ways: both}, iostat, 150, 150, "", ""},
		{"reads alone", levels.Level{Quality: levels.Ops, Ways: both[:1]}, iostat, 100, 100, "", ""},
		{"each way splits by itself", levels.Level{Quality: levels.Ops, Ways: both, Unit: 256 * kib}, iostat,
			100 + 200, 100 + 400./256 + 50 + 200, "", ""},
		{"before merging", levels.Level{Quality: levels.Ops, Ways: both, Unmerged: true}, iostat, 165, 165, "", ""},
		{"before merging, and split", levels.Level{Quality: levels.Ops, Ways: both[1:], Unit: 256 * kib, Unmerged: true},
			iostat, 200, 255, "", ""},
		{"bytes", levels.Level{Quality: levels.Bytes, Ways: both}, iostat, 51600 * kib, 51600 * kib, "", ""},
		{"bytes of whole units", levels.Level{Quality: levels.Bytes, Ways: both[:1], Unit: 16 * kib}, iostat, 1600 * kib,
			2000 * kib, "", ""},
		{"a pair serves a joint limit", levels.Level{Quality: levels.Ops, Ways: both, Unit: 256 * kib}, pair, 200,
			300, "", ""},
		{"a pair does not serve one way", levels.Level{Quality: levels.Ops, Ways: both[:1]}, pair, nan, nan, "read_ops", ""},
		{"no bytes", levels.Level{Quality: levels.Bytes, Ways: both}, period{"ops": 1}, nan, nan, "read_bytes", ""},
		{"no sizes", levels.Level{Quality: levels.Ops, Ways: both, Unit: kib}, period{"ops": 7}, 7, inf,
			"", "read_bytes"},
		{"no merges", levels.Level{Quality: levels.Ops, Ways: both, Unmerged: true}, pair, 100, inf, "", "read_merges"},
		{"a pair with merges of each way", levels.Level{Quality: levels.Ops, Ways: both, Unmerged: true},
			period{"ops": 7, "read_merges": 1, "write_merges": 2}, 10, 10, "", ""},
		{"received", levels.Level{Quality: levels.Bytes, Ways: both[:1], Label: telemetry.Network},
			period{"received_bytes": 5}, 5, 5, "", ""},
		{"cores", levels.Level{Quality: levels.CPU}, period{"cpu": 1.5}, 1.5, 1.5, "", ""},
		{"no cores", levels.Level{Quality: levels.CPU}, pair, nan, nan, "cpu", ""},
		{"a missing value stays missing", levels.Level{Quality: levels.Ops, Ways: both, Unit: kib},
			period{"ops": 7, "bytes": nan}, nan, nan, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := loadOn(tt.limit, recorded(tt.limit.Label, tt.rates))
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
		got := loadOn(levels.Level{Quality: levels.Ops, Ways: both[:1], Unit: unit},
			recorded("", period{"read_ops": ops, "read_bytes": bytes}))
		if count < got.Least[0]*(1-same) || count >= got.Most[0] {
			t.Errorf("%g operations of %g bytes count %g, bounds %g to %g", ops, bytes, count, got.Least[0],
				got.Most[0])
		}
		if largest <= unit {
			near(t, "operations up to the unit", got.Least[0], count)
		}
	}
}
