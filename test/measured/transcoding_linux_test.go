package measured_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// TestTranscoding: a fleet transcodes videos over a store's link drawn at random. What it does
// was predicted, and the link is named. `make scaleout-proof` measures more.
func TestTranscoding(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedTranscoding(t)
	l := program.DrawTranscoding(drawn(t), program.StoreEnds)
	// Half a minute: short videos, so that short steps have enough jobs, and few steps. The band
	// may be wide.
	l.Store, l.CPU, l.Sizes = 13+(l.Store-16)/6, .25, []int{1, 4}
	l.Video = program.Video{Seconds: .25, Quality: 5, In: 203, Out: 385}
	l.Duration, l.Singles, l.Trials, l.HalfWidth = 4*time.Second, 2, 1, 50
	program.Calmly(t, func() error {
		r, err := program.InstallForLabs(t).Transcode(l)
		switch {
		case err != nil:
			return err
		case r.Bottleneck != l.Ends:
			return fmt.Errorf("the bottleneck is %q, want %q", r.Bottleneck, l.Ends)
		case !*r.Largest().Inside:
			return fmt.Errorf("%d nodes do %.3f jobs/s, predicted were %.3f to %.3f", r.Largest().Nodes, r.Largest().Rate,
				*r.Largest().Lower, *r.Largest().Upper)
		}
		return nil
	})
}
