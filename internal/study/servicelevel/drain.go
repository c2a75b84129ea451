package servicelevel

import (
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/levels"
)

// credits are what the buckets of a volume hold by their models, as shares of full ones;
// in the order of the expectation's limits, 0 where there is no bucket.
type credits []float64

// buckets walks over the limits that have one.
func (e expectation) buckets(each func(i int, l levels.Level, b levels.Bucket)) {
	i := 0
	for _, of := range e {
		for _, l := range of.Limits {
			if l.Bucket != nil {
				each(i, l, *l.Bucket)
			}
			i++
		}
	}
}

// full are the credits at the begin: what was before the run is not known.
func (e expectation) full() (out credits) {
	for _, of := range e {
		out = append(out, make(credits, len(of.Limits))...)
	}
	e.buckets(func(i int, _ levels.Level, _ levels.Bucket) { out[i] = 1 })
	return out
}

// pass is what the credits are after operations of a cell for so many seconds. A volume
// that is bound by the bucket has none and gets none; one that is bound by something
// else saves what it does not use. What documents leave open is taken for slow.
func (e expectation) pass(left credits, c Cell, seconds float64) {
	x := e.at(c)
	if x == nil {
		return
	}
	e.buckets(func(i int, l levels.Level, b levels.Bucket) {
		share := 1.0
		if len(l.Ways) == 1 {
			share = map[levels.Way]float64{levels.Read: c.share(), levels.Write: 1 - c.share()}[l.Ways[0]]
		}
		if saved := (b.Fill - x.Ops*share*l.Counts(float64(c.Size))) * seconds / b.Size; saved > 0 {
			left[i] = min(1, left[i]+saved)
		}
	})
}

// Sizes of operations that spend credits: small ones for those of operations, large ones
// for those of bytes.
const (
	drainOps   = 16 << 10
	drainBytes = 1 << 20
	drainDepth = 32
	drainMore  = 1.1 // times as long as the model says
)

// drain is how long to spend the credits, with operations of which size; 0: they are gone
// by the end of the ramp anyway.
func (e expectation) drain(left credits, ramp time.Duration) (lasts time.Duration, with int64) {
	e.buckets(func(i int, l levels.Level, b levels.Bucket) {
		seconds := left[i] * b.BurstTime()
		if seconds <= ramp.Seconds() || math.IsInf(seconds, 0) || math.IsNaN(seconds) {
			return
		}
		if d := time.Duration(math.Ceil(drainMore*seconds)) * time.Second; d > lasts {
			lasts, with = d, drainOps
			if l.Quality == levels.Bytes {
				with = drainBytes
			}
		}
	})
	return lasts, with
}
