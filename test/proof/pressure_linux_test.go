//go:build proof

package proof_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestPressureOfVolumes: 30 volumes with limits drawn at random. Under loads of set rates,
// pressures are what arithmetic says. When a saturated volume is raised as advised, its
// throughput grows by at most what was said, and by 80 % of that at least.
func TestPressureOfVolumes(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			parts.Begin(t)
			program.NeedLab(t)
			rng := rand.New(rand.NewPCG(seed, 27))
			v := program.DrawVolume(rng, 1)
			p := program.Install(t).Press(v)
			defer p.Down()
			kib, ways := []int{4, 128}[rng.IntN(2)], 1+rng.IntN(3)
			l := v.DrawLoad(rng, kib, ways&1 > 0, ways&2 > 0)
			program.Calmly(t, func() error { return p.JudgeLoad(l, 10) })
			program.Calmly(t, p.JudgeChange)
			// Sizes of which one limit binds clearly: another raise is of use.
			turn := float64(v.KiB) / float64(v.IOPS)
			small, large := max(4, int(turn*(.2+.5*rng.Float64()))&^3), min(256, int(turn*(1.5+2*rng.Float64()))&^3)
			raised := program.FioLoad{KiB: []int{small, large}[rng.IntN(2)], Reads: []int{100, 75, 50, 25, 0}[rng.IntN(5)]}
			if raised.Reads == 50 { // both ways would bind
				raised.Reads = 60
			}
			program.Calmly(t, func() error {
				for _, way := range []string{"read", "write"} {
					for name, is := range map[string]float64{"ops." + way: float64(v.IOPS), "bytes." + way: float64(v.KiB) * 1024} {
						if err := p.Limit(name, is); err != nil {
							return err
						}
					}
				}
				return p.JudgeRaise(raised, 10)
			})
		})
	}
}
