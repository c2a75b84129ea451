package analysis

import (
	"time"

	"github.com/scalebench/scalebench/internal/stats"
)

// level is the confidence level of every interval.
const level = 0.95

// Limits beyond which a finding carries a warning.
const (
	fewNodes        = 6    // fewer nodes than this make a wide, fragile interval
	goodOverlap     = 0.9  // share of the time in which all nodes were active
	wideInterval    = 10.0 // CDI points either side that "none" leaves open
	groupGap        = 0.05 // least relative distance of two groups worth a word
	sampleDeviation = 0.1  // between the reported value and the counter
	wholeDeviation  = 2.0  // CDI points between the two ways of scoring
	trialsLevel     = 0.99 // F test: do repetitions differ more than nodes?
	clockNoise      = time.Millisecond
)

// Options are the parameters of an analysis. The zero value is sensible.
type Options struct {
	// Seed of the bootstrap; 0 means the run's own seed.
	Seed uint64
	// Resamples of the bootstrap; 0 means stats.DefaultResamples.
	Resamples int
	// MinOverlap is the least overlap of a parallel step, 0 to 1, at which
	// there is a verdict; 0 means 0.5.
	MinOverlap float64
	// MaxGap is how far from the edges of the common window the next point of
	// a progress series may be; 0 means 2 s, twice what workloads promise.
	MaxGap time.Duration
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	if o.Resamples == 0 {
		o.Resamples = stats.DefaultResamples
	}
	if o.MinOverlap == 0 {
		o.MinOverlap = 0.5
	}
	if o.MaxGap == 0 {
		o.MaxGap = 2 * time.Second
	}
	return o
}
