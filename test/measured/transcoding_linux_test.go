package measured_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/skip"
)

// TestTranscoding: a fleet transcodes videos over a store's link drawn at random. What it does
// was predicted, and the link is named. `make scaleout-proof` measures more.
func TestTranscoding(t *testing.T) {
	skip.UnlessLong(t) // make test-long has the time; make scaleout-proof measures more
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedTranscoding(t)
	l := program.DrawTranscoding(drawn(t), program.StoreEnds)
	// Few steps and short ones: the band may be wide.
	l.Store, l.Sizes, l.Duration = 16+(l.Store-16)/3, []int{1, 6}, 5*time.Second
	l.Singles, l.Trials, l.HalfWidth = 2, 1, 50
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
