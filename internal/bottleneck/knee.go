package bottleneck

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Knee is where the throughput stops growing with the users.
type Knee struct {
	Users float64        `json:"users"`
	CI    stats.Interval `json:"ci"`
	// AtMost: the throughput grew no more from the first load on, so that the knee
	// is there or below. AtLeast: the interval has no upper end among the loads.
	AtMost  bool `json:"at_most,omitempty"`
	AtLeast bool `json:"at_least,omitempty"`
	// Before and After are how much throughput a user adds below and beyond it.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Fall   *Fall   `json:"fall,omitempty"`
}

// Fall is how far the throughput is below its peak at the last load. CI is null
// where no load has several trials: then it is not known whether it is chance. A fall
// to nothing has no scatter, so no interval.
type Fall struct {
	Peak int             `json:"peak"` // users
	Last int             `json:"last"`
	Lost float64         `json:"lost"` // share of the peak
	CI   *stats.Interval `json:"ci"`
	Sure bool            `json:"sure"` // the whole interval is above 0
}

// findKnee fits a broken stick to the throughput of all trials. There is a knee if
// the bend is no chance, and matters: beyond it a user adds less than half of what
// one added before, and at the last load a tenth of the straight line is lost. nil:
// there is none. The error is stats.ErrTooFew where the loads do not tell.
func findKnee(loads []Load) (*Knee, error) {
	var x, y []float64
	top := 0.0
	for _, l := range loads {
		for _, v := range l.Throughputs {
			x, y = append(x, float64(l.Users)), append(y, v)
			top = max(top, v)
		}
	}
	s, err := stats.FitStick(x, y, level, Repeatability*top)
	if err != nil {
		return nil, err
	}
	last := loads[len(loads)-1]
	lost := 1 - last.Throughput/(s.Before*float64(last.Users))
	if s.P > 1-level || s.After > smallBend*s.Before || lost < materialLoss {
		return nil, nil //nolint:nilnil // no knee is an answer
	}
	return &Knee{Users: s.Knee, CI: s.CI, Before: s.Before, After: s.After, AtMost: s.CI.Lo <= float64(loads[0].Users),
		AtLeast: s.CI.Hi > .05*float64(loads[len(loads)-2].Users)+.95*float64(last.Users), Fall: findFall(loads)}, nil
}

// findFall holds the last load against the peak; nil: it is the peak. The variance
// of the logarithm is that within loads, of all of them together; the interval is
// corrected for the number of loads among which the peak was chosen (Bonferroni).
func findFall(loads []Load) *Fall {
	peak, last := 0, len(loads)-1
	var squares, free float64
	for i, l := range loads {
		if l.Throughput > loads[peak].Throughput {
			peak = i
		}
		if !(l.Throughput > 0) { // which tells nothing of the scatter of others
			continue
		}
		for _, v := range l.Throughputs {
			d := v/l.Throughput - 1
			squares += d * d
		}
		free += float64(len(l.Throughputs) - 1)
	}
	if peak == last {
		return nil
	}
	f := &Fall{Peak: loads[peak].Users, Last: loads[last].Users, Lost: 1 - loads[last].Throughput/loads[peak].Throughput}
	f.Sure = f.Lost == 1 // of nothing there is no scatter
	t, err := stats.TQuantile(1-(1-level)/2/float64(last), free)
	if f.Sure || free < 1 || err != nil || !(squares > 0) {
		return f
	}
	half := t * math.Sqrt(squares/free*(1/float64(len(loads[peak].Throughputs))+1/float64(len(loads[last].Throughputs))))
	lo, hi := 1-math.Exp(math.Log(1-f.Lost)+half), 1-math.Exp(math.Log(1-f.Lost)-half)
	f.CI, f.Sure = &stats.Interval{Lo: lo, Hi: hi}, lo > 0
	return f
}

// bends is where the utilisation of a resource bends; ok is false where that cannot
// be told.
func bends(loads []Load, r Resource) (at stats.Stick, ok bool) {
	var x, y []float64
	for _, l := range loads {
		for _, t := range l.seconds {
			if u := meanOf(t[r].use); !math.IsNaN(u) {
				x, y = append(x, float64(l.Users)), append(y, u)
			}
		}
	}
	s, err := stats.FitStick(x, y, level, Repeatability)
	return s, err == nil
}

// valid are the loads that count: those that were not refused, up to the first that
// was. What comes after one that the generator bound is bound, too.
func valid(loads []Load) (ok []Load, refused *Load) {
	i := slices.IndexFunc(loads, func(l Load) bool { return l.Refused != "" })
	if i < 0 {
		return loads, nil
	}
	return loads[:i], &loads[i]
}

// Counted are the loads that count, for who sums up over them.
func Counted(loads []Load) []Load {
	ok, _ := valid(loads)
	return ok
}

// beyondKnee are the loads above the knee's interval, or, if there are none, above
// the knee.
func beyondKnee(k *Knee, loads []Load) []Load {
	for _, from := range []float64{k.CI.Hi, k.Users} {
		i := slices.IndexFunc(loads, func(l Load) bool { return float64(l.Users) > from })
		if i >= 0 {
			return loads[i:]
		}
	}
	return nil
}

// atKnee keeps the resources that can have made the knee: they were busy where it
// ends, and their utilisation bends where the throughput does. A resource that is full
// only far beyond it is a consequence.
func (a *analysis) atKnee(of []Resource) []Resource {
	return slices.DeleteFunc(of, func(r Resource) bool {
		first := firstThatKnows(a.beyond, r)
		return first.usage(r).Mean < minUtilisationAtKnee || !a.bendsAtKnee(first, r)
	})
}

// bendsAtKnee reports whether the utilisation of a resource bends where the throughput
// does, as closely as the loads tell, or bent before and has been full since: then the
// throughput grew on because an operation took less and less of it.
func (a *analysis) bendsAtKnee(first Load, r Resource) bool {
	around := a.Knee.CI
	for _, l := range a.counted {
		if users := float64(l.Users); users <= a.Knee.CI.Lo {
			around.Lo = users
		}
	}
	around.Hi = max(around.Hi, float64(first.Users))
	at, ok := bends(a.counted, r)
	if !ok || a.Knee.AtMost || at.P >= 1-level || at.After >= smallBend*at.Before {
		return true
	}
	return at.CI.Lo <= around.Hi && (around.Lo <= at.CI.Hi || first.usage(r).Full)
}

// Words say from which number of users on: "from about 105 users on [86 .. 116]".
func (k Knee) Words() string {
	switch {
	case k.AtMost && !k.AtLeast:
		return fmt.Sprintf("from %.0f users on, or from fewer", k.CI.Hi)
	case k.AtLeast && !k.AtMost:
		return fmt.Sprintf("from about %.0f users on [%.0f or more]", k.Users, k.CI.Lo)
	}
	return fmt.Sprintf("from about %.0f users on [%s]", k.Users, k.Range())
}

// String is the knee with its interval: "105 [86 .. 116]".
func (k Knee) String() string { return fmt.Sprintf("%.0f [%s]", k.Users, k.Range()) }

// Range is the interval. One that begins at the first load, or ends at the last, is
// open there.
func (k Knee) Range() string {
	lo, hi := fmt.Sprintf("%.0f", k.CI.Lo), fmt.Sprintf("%.0f", k.CI.Hi)
	switch {
	case k.AtMost && k.AtLeast:
		lo, hi = lo+" or fewer", hi+" or more"
	case k.AtMost:
		lo += " or fewer"
	case k.AtLeast:
		return "≥ " + lo
	}
	return lo + " .. " + hi
}

// Ends are those of the interval; nil where it is open.
func (k Knee) Ends() (lo, hi *float64) {
	if !k.AtMost {
		lo = &k.CI.Lo
	}
	if !k.AtLeast {
		hi = &k.CI.Hi
	}
	return lo, hi
}
