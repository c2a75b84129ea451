//go:build proof

package proof_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/study/scaleout"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

var (
	scaleoutLabs = flag.Int("scaleout-labs", 20, "labs whose store's link ends growth, and half as many of others")
	scaleoutSeed = flag.Uint64("scaleout-seed", 1, "of the draws")
)

// transcoding is what one lab came to.
type transcoding struct {
	Result program.Transcoded
	Wrong  string // what is not as it should be; empty: nothing
}

// TestScaleout: fleets transcode videos in labs drawn at random. What larger fleets do was
// predicted before they ran, and what ends their growth is named.
func TestScaleout(t *testing.T) {
	of := func(ends scaleout.Bottleneck, labs int) (all []transcoding) {
		for i := range labs {
			t.Run(fmt.Sprintf("%s %d", ends, i), func(t *testing.T) {
				l := program.DrawTranscoding(rand.New(rand.NewPCG(*scaleoutSeed, uint64(i))), ends)
				o := parts.Measure(t, l.File(), func() transcoding { return transcoded(t, l) })
				if all = append(all, o); o.Wrong != "" {
					t.Log(o.Wrong)
				}
			})
		}
		return all
	}
	links := of(program.StoreEnds, *scaleoutLabs)
	processors := of(scaleout.OwnProcessors, *scaleoutLabs/2)
	neither := of(scaleout.None, *scaleoutLabs/2)
	if len(links) < *scaleoutLabs || len(processors)+len(neither) < 2*(*scaleoutLabs/2) {
		return // some are left for the next run
	}
	judgeBands(t, links)
	for kind, all := range map[string][]transcoding{"links": links, "processors": processors, "neither": neither} {
		for i, o := range all {
			if o.Wrong != "" {
				t.Errorf("%s, lab %d: %s", kind, i, o.Wrong)
			}
		}
	}
}

func transcoded(t *testing.T, l program.TranscodingLab) (o transcoding) {
	program.NeedTranscoding(t)
	r, err := program.InstallForLabs(t).Transcode(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Judge(r); err != nil {
		o.Wrong = err.Error()
	}
	o.Result = r
	return o
}

// judgeBands counts fleets that did what was predicted: at the plateau, where one of twenty
// may be outside, and at all sizes. Beside them stands min(N·r, C/d) alone.
func judgeBands(t *testing.T, all []transcoding) {
	t.Helper()
	plateaus, inside, sizes := 0, 0, 0
	fitted, overlap, curves := 0, 0, 0 // plateaus by the curve alone
	var far, bound []float64           // how far from the middle of the band, and from min(N·r, C/d)
	for i, o := range all {
		for _, s := range o.Result.Sizes {
			if s.Nodes == 1 {
				continue
			}
			if sizes++; *s.Inside {
				inside++
			} else {
				t.Logf("lab %d: %d nodes do %.3f, predicted were %.3f to %.3f", i, s.Nodes, s.Rate, *s.Lower, *s.Upper)
			}
			far = append(far, math.Abs(s.Rate/((*s.Lower+*s.Upper)/2)-1))
			bound = append(bound, math.Abs(*s.BoundError))
		}
		large := o.Result.Largest()
		if *large.Inside {
			plateaus++
		}
		if ci := o.Result.PlateauFittedCI; ci != nil {
			if curves++; ci.Overlaps(*large.Lower, *large.Upper) {
				overlap++
			}
			if v := o.Result.PlateauFitted; v != nil && *large.Lower <= *v && *v <= *large.Upper {
				fitted++
			}
		}
	}
	share := func(k, n int) string {
		ci, _ := stats.Wilson(k, n, stats.DefaultLevel)
		return fmt.Sprintf("%d of %d (95 %%: %.0f to %.0f %%)", k, n, 100*ci.Lo, 100*ci.Hi)
	}
	t.Logf("plateaus by the curve alone: %s have an interval that overlaps the band, %s are inside",
		share(overlap, curves), share(fitted, curves))
	t.Logf("largest fleets inside the band: %s; fleets of 2 nodes and more: %s", share(plateaus, len(all)), share(inside, sizes))
	t.Logf("mean error of the band's middle: %.1f %%; of min(N·r, C/d) alone: %.1f %%", 100*stats.Average(far),
		100*stats.Average(bound))
	if plateaus < len(all)*19/20 || overlap < curves*19/20 {
		t.Errorf("of %d labs, %d of the largest fleets are inside the predicted band, and %d of %d plateaus overlap it",
			len(all), plateaus, overlap, curves)
	}
}
