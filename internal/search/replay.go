package search

import (
	"fmt"
	"math"
)

// Replay brings a new search to where another one was after these trials, so
// that a search that was stopped can go on. The error is ErrOptions if the
// search would have tried other loads, as one with other options does; the
// search is then of no use.
func Replay(s Search, trials []Trial) error {
	for i, t := range trials {
		load, phase, ok := s.Next()
		switch {
		case !ok:
			return fmt.Errorf("%w: the search ends after %s, but there are %d; use the options of the measurement",
				ErrOptions, windows(i), len(trials))
		case phase != t.Phase || !(math.Abs(load-t.Load) <= tiny*load):
			return fmt.Errorf("%w: window %d was at load %g (%s), but the search would try %g (%s); use the options of the measurement",
				ErrOptions, i+1, t.Load, t.Phase, load, phase)
		}
		s.Observe(t.Passed)
	}
	return nil
}
