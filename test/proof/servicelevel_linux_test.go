//go:build proof

package proof_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/servicelevel"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// TestServiceLevelsOfVolumes: with limits drawn at random, cells at depth 16 are what
// arithmetic says.
func TestServiceLevelsOfVolumes(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			parts.Begin(t)
			program.NeedLab(t)
			v := program.DrawVolume(rand.New(rand.NewPCG(seed, 0)), 3)
			program.Calmly(t, func() error {
				cells, err := install(t).MeasureVolume(v.File(2, "1s", "6s", ", depth: 16"))
				if err != nil {
					return err
				}
				return v.Judge(t, cells)
			})
		})
	}
}

// TestServiceLevelsRaised: where the depth is raised until that is of no use, no cell of a lab
// is lower or higher than its model, and those of one direction hold.
func TestServiceLevelsRaised(t *testing.T) {
	parts.Begin(t)
	program.NeedLab(t)
	v := program.DrawVolume(rand.New(rand.NewPCG(100, 0)), 2)
	program.Calmly(t, func() error {
		cells, err := install(t).MeasureVolume(v.File(5, "1s", "6s", ""))
		if err != nil {
			return err
		}
		for _, c := range cells {
			alone := c.Reads == 0 || c.Reads == 100
			if !c.Saturated || c.Verdict != servicelevel.Holds && (alone || c.Verdict != servicelevel.Unclear) {
				return fmt.Errorf("%d bytes, %d %% reads: %s at depth %d, saturated %v: %+v", c.Size, c.Reads, c.Verdict,
					c.Depth, c.Saturated, c.Compared)
			}
		}
		return v.Judge(t, cells)
	})
}

// TestServiceLevelsAtDepthOne: one operation in flight cannot reach such limits. Nothing is
// concluded about them, and the cells say that it may be the latency.
func TestServiceLevelsAtDepthOne(t *testing.T) {
	parts.Begin(t)
	program.NeedLab(t)
	v := program.LabVolume{IOPS: 500_000, KiB: 8 << 20, Sizes: []int{4}, Reads: []int{100, 50}}
	w := install(t)
	cells, err := w.MeasureVolume(v.File(3, "1s", "5s", ", depth: 1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		if c.Verdict != servicelevel.Unknown {
			t.Errorf("%d bytes, %d %% reads: %.1f of %.1f, %s", c.Size, c.Reads, c.Ops.Mean, c.Expected.Ops, c.Verdict)
		}
	}
	if text := w.Run("servicelevel", "measured", "latest"); !strings.Contains(text, "the latency may bind") {
		t.Errorf("no warning names the latency:\n%s", text)
	}
}
