package figure

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/report/svg"
)

// TestTargetLabel: wherever the target is, its label stays within a narrow
// plot.
func TestTargetLabel(t *testing.T) {
	for _, target := range []string{"200 jobs/s", "1064.2 jobs/s", strings.Repeat("9", 40) + " jobs/s"} {
		for share := 0.0; share <= 1; share += 0.01 {
			text, anchor := Plan{Nodes: 40, Target: target}.targetLabel(share)
			width := letterWidth * float64(len(text)) / narrowPlot
			left := map[svg.Anchor]float64{svg.Start: share, svg.Middle: share - width/2, svg.End: share - width}[anchor]
			if left < -1e-9 || left+width > 1+1e-9 {
				t.Errorf("at %.2f %q, %s: from %.2f to %.2f of the plot, want within 0 and 1", share, text, anchor, left, left+width)
			}
		}
	}
}
