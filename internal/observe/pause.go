package observe

import (
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// pause is how long a task, or the machine under it, stood still: altogether,
// and at once; in seconds.
type pause struct{ lost, longest float64 }

// A pause is found against the clock: workloads publish their progress, and the
// monitor reads its counters, at fixed times. So a gap of several of these means
// that they did not run. Where they are half a second apart and more, a shorter
// one tells.
const (
	pauseSpacings  = 3
	pauseAtLeast   = 0.5 // seconds beyond the usual spacing
	wideSpacings   = 1.5
	wide           = 0.45 // seconds: spacings from here on are; half a second with its jitter is
	promised       = 1.0  // seconds: no workload publishes, and the monitor reads, less often
	fewestReadings = 5    // to know what is usual
)

// unclocked are the workloads with a progress that no clock has seen: of a
// command it is what that prints, and its jobs may take longer now and then; of a
// load it is counted by the second for which operations were due.
var unclocked = []string{"command", "load"}

// pauseOf looks for gaps in the progress of a task. The monitor stands in for a
// task that publishes none: it tells when the machine stood still.
func pauseOf(r model.Result, kind string) pause {
	var out pause
	known := false
	for _, s := range r.Series {
		if times := worked(s); len(times) >= fewestReadings && !slices.Contains(unclocked, kind) {
			known = true
			if p := gaps(times); p.longest > out.longest {
				out = p
			}
		}
	}
	if known {
		return out
	}
	for _, h := range r.Host {
		if times := seconds(h.Offsets); h.OfHost() && len(times) >= fewestReadings {
			return gaps(times) // all are read at once
		}
	}
	return pause{}
}

// worked are the times of a progress series from its first sign of work on.
func worked(s model.Series) []float64 {
	first := slices.IndexFunc(s.Values, func(v float64) bool { return v > 0 })
	if first < 0 || len(s.Values) != len(s.Offsets) {
		return nil
	}
	return seconds(s.Offsets[first:])
}

func seconds(offsets []int64) []float64 {
	out := make([]float64, len(offsets))
	for i, at := range offsets {
		out[i] = float64(at) / 1e9
	}
	return out
}

// StoodStill is how many seconds lie between the times at which a counter was
// published, beyond the usual, where it paused.
func StoodStill(times []float64) float64 {
	if len(times) < fewestReadings {
		return 0
	}
	return gaps(times).lost
}

// gaps adds up what lies between two times beyond their usual spacing, the
// median, where it is more than so many of these. What stands still in most of
// them does not make that usual.
func gaps(times []float64) pause {
	between := make([]float64, 0, len(times))
	for i := 1; i < len(times); i++ {
		between = append(between, times[i]-times[i-1])
	}
	usual, spacings := min(slices.Sorted(slices.Values(between))[len(between)/2], promised), float64(pauseSpacings)
	if usual >= wide {
		spacings = wideSpacings
	}
	var out pause
	for _, gap := range between {
		if gap > spacings*usual && gap > usual+pauseAtLeast {
			out.lost += gap - usual
			out.longest = max(out.longest, gap)
		}
	}
	return out
}
