package probe

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// limited is what requests take one of for a time, and wait for: a pool of connections,
// the threads of a connector, a server behind a proxy. NaN: not known. A max of 0 or less is
// no limit.
type limited struct{ used, max, waiting float64 }

// addPool tells of the fullest of several pools.
func (a *answer) addPool(all []limited) { a.addLimited(all, "pool_active", "pool_max", "pool_waiting") }

// addLimited tells of the fullest of several: a request needs one of a certain pool, so
// that a sum over all has room while requests wait for the one that is full.
func (a *answer) addLimited(all []limited, used, most, waiting string) {
	if len(all) == 0 {
		return
	}
	x := slices.MaxFunc(all, func(a, b limited) int { return slices.Compare(a.rank(), b.rank()) })
	for name, v := range map[string]float64{used: x.used, most: x.max, waiting: x.waiting} {
		if !math.IsNaN(v) && (name != most || v > 0) {
			a.add(name, v)
		}
	}
}

// rank is by what the fullest is found, what decides first: that it has a limit, that
// requests wait for it, the share that is used, and how much that is.
func (x limited) rank() []float64 {
	out := []float64{0, 0, 0, x.waiting, x.used}
	if x.max > 0 {
		out[0], out[2] = 1, x.used/x.max
	}
	if x.waiting > 0 {
		out[1] = 1
	}
	return out
}

// numberOf reads a number that is text; NaN: there is none.
func numberOf(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
