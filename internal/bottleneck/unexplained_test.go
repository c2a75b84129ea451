package bottleneck

import (
	"math"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// TestUnexplained: how much of the peak what is named leaves open.
func TestUnexplained(t *testing.T) {
	part := func(most float64) func(float64) float64 { return func(share float64) float64 { return most * share } }
	held := func(share float64) func(*Trial) {
		return func(t *Trial) {
			t.Services[0].Signals[SignalPeriods] = slices.Repeat([]float64{10}, 20)
			t.Services[0].Signals[SignalHeld] = slices.Repeat([]float64{10 * share}, 20)
		}
	}
	// used lets the idle processor stand for a resource that is so full at most.
	used := func(signal, limit string, most float64, more map[string]float64) func(*Trial) {
		return func(t *Trial) {
			signals := t.Services[0].Signals
			share := signals[SignalCPU][0] / .3
			signals[signal], signals[limit] = slices.Repeat([]float64{most * share * 1e6}, 20),
				slices.Repeat([]float64{1e6}, 20)
			for name, v := range more {
				signals[name] = slices.Repeat([]float64{v}, 20)
			}
		}
	}
	link := func(most float64) func(*Trial) { return used(SignalSent, SignalLink, most, nil) }
	pool := func(most float64, more map[string]float64) func(*Trial) {
		return used(SignalPool, SignalPoolMax, most, more)
	}
	for name, c := range map[string]struct {
		s    System
		want float64 // 0: the peak is explained
	}{
		"full":                          {system(busy, nil), 0},
		"within what repeats":           {system(part(.992), nil), 0},
		"98 % busy":                     {system(part(.98), nil), .0204},
		"95.5 % busy":                   {system(part(.955), nil), .0471},
		"98 % busy, held back":          {system(part(.98), held(1)), 0},
		"97 % busy, held back at times": {system(part(.97), held(.5)), .0309},
		"a full link":                   {system(idle, link(.999)), 0},
		"a link used to 93 %":           {system(idle, link(.93)), .0753},
		"a pool used to 96 %":           {system(idle, pool(.96, nil)), .0417},
		"a pool used to 96 %, with some who wait": {system(idle, pool(.96, map[string]float64{SignalPoolWaiting: 3})),
			0},
	} {
		a := Analyze(c.s)
		got := value(a.Unexplained)
		right := a.Unexplained == nil
		if c.want > 0 {
			right = math.Abs(got-c.want) < .002 // not of NaN
		}
		if a.Verdict != Named || contains(a.Doubts, doubtUnexplained) != (c.want > 0) || !right {
			t.Errorf("%s: %s %v, left %v, doubts %+v; want %v", name, a.Verdict, a.Bottlenecks, got, a.Doubts, c.want)
		}
		for _, d := range a.Doubts {
			if d.Code == doubtUnexplained && (d.Explains == nil || math.Abs(*d.Explains/(80.32*c.want)-1) > .1) {
				t.Errorf("%s: it explains %v op/s, want %v of 80", name, value(d.Explains), c.want)
			}
		}
	}
}

// TestProofSettlesUnexplained: what a proof confirms or refutes leaves nothing open.
func TestProofSettlesUnexplained(t *testing.T) {
	for outcome, want := range map[Outcome]bool{Confirmed: false, Refuted: false, Unclear: true, NotMade: true} {
		a := Analyze(system(func(share float64) float64 { return .98 * share }, nil))
		raised := []Raise{{Resource: Resource{Tier: "db", Kind: CPU}, Factor: Quarter}}
		a.ApplyProof(&Proof{Outcome: outcome, Raised: raised, CI: &stats.Interval{Lo: 1.2, Hi: 1.3}})
		if got := contains(a.Doubts, doubtUnexplained); got != want || (a.Unexplained != nil) != want {
			t.Errorf("%s: doubts %+v, left %v; want it doubted: %v", outcome, a.Doubts, value(a.Unexplained), want)
		}
	}
}
