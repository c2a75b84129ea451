package stats

import (
	"math"
	"testing"
)

// TestErlangLoss: whole numbers of lines agree with Erlang's recursion, where it
// does not say that digits are lost.
func TestErlangLoss(t *testing.T) {
	for offered, tolerance := range map[float64]float64{.01: 1e-9, 1: 1e-9, 9.5: 1e-9, 100: 1e-9, 600: 1e-9,
		5000: 1e-8} {
		want := 1.0
		for lines := range int(3*offered) + 20 {
			if lines > 0 {
				want = offered * want / (float64(lines) + offered*want)
			}
			got := erlangLoss(float64(lines), offered)
			if math.IsNaN(got) && float64(lines) < offered-30*math.Sqrt(offered) {
				continue
			}
			if !(math.Abs(got-want) <= tolerance) {
				t.Errorf("erlangLoss(%d, %v) = %v, want %v", lines, offered, got, want)
				break
			}
		}
	}
}

// TestCornersTurn: every corner grows, stays below its two lines, and comes to both.
func TestCornersTurn(t *testing.T) {
	for _, c := range cornerShapes {
		for _, knee := range []float64{1, 2.5, 12, 300, 4e4, 1e6} {
			before := 0.0
			for _, share := range []float64{.01, .3, .8, .95, 1, 1.1, 2, 20, 1e4} {
				got := c.served(share*knee, knee)
				if !(got >= before*(1-1e-9)) || got > min(share, 1)*knee*1.005 {
					t.Errorf("%+v: %v of the knee %v serves %v after %v", c, share, knee, got, before)
				}
				before = got
			}
			if !(before > .99*knee) {
				t.Errorf("%+v: the limit of the knee %v is %v", c, knee, before)
			}
		}
	}
}
