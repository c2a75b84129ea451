package capacity

import (
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/stats"
)

// Bounds beyond which the path to the target counts as changed.
const (
	pathP     = .01 // of a Mann-Whitney test
	pathShift = .20 // of the median
	// fewestRTT are too few to test.
	fewestRTT = 8
)

// pathChange compares round-trip times of a window with those of the baseline:
// how much longer the median is, and whether that is a change.
func pathChange(baseline, now []float64) (shift time.Duration, changed bool) {
	if len(baseline) < fewestRTT || len(now) < fewestRTT {
		return 0, false
	}
	was, is := median(baseline), median(now)
	shift = time.Duration((is - was) * float64(time.Second))
	test, err := stats.MannWhitney(baseline, now)
	return shift, err == nil && test.P < pathP && math.Abs(is-was) > pathShift*was
}

// median is NaN for no values.
func median(xs []float64) float64 {
	m, err := stats.Quantile(xs, .5)
	if err != nil {
		return math.NaN()
	}
	return m
}

func pathText(shift time.Duration) string {
	if shift < 0 {
		return fmt.Sprintf("the path to the target became %v shorter", (-shift).Round(time.Microsecond))
	}
	return fmt.Sprintf("the path to the target became %v longer", shift.Round(time.Microsecond))
}
