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
		if saved := (b.Fill - x.Ops*l.Share(c.share())*l.Counts(float64(c.Size))) * seconds / b.Size; saved > 0 {
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
)

// drain is how long to spend the credits, with operations of which size; 0: they are gone
// by the end of the ramp anyway. What else limits the volume makes it last longer. A tenth
// more is for credits that come meanwhile.
func (e expectation) drain(left credits, ramp time.Duration) (lasts time.Duration, with int64) {
	var bursting expectation
	for _, l := range e {
		bursting = append(bursting, l.Burst())
	}
	e.buckets(func(i int, l levels.Level, b levels.Bucket) {
		size := int64(drainOps)
		if l.Quality == levels.Bytes {
			size = drainBytes
		}
		seconds := left[i] * b.BurstTime()
		if x := bursting.at(Cell{Size: size, Reads: 100}); x != nil && b.Size > 0 {
			seconds = left[i] * b.Size / (x.Ops*l.Counts(float64(size)) - b.Fill) // below 0: it is never used up
		}
		d := time.Duration(math.Ceil(seconds+seconds/10)) * time.Second
		if seconds > ramp.Seconds() && !math.IsInf(seconds, 0) && d > lasts {
			lasts, with = d, size
		}
	})
	return lasts, with
}
