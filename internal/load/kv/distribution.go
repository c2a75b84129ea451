package kv

import (
	"fmt"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/model"
)

// Distribution says which records are popular.
type Distribution string

// The distributions. Records that were inserted during a run are chosen by
// Latest alone; the others choose among those that were loaded, so that the
// same records stay popular.
const (
	// Uniform: all records alike.
	Uniform Distribution = "uniform"
	// Zipfian is what YCSB calls so: popular records scattered by a hash, out
	// of a zipfian distribution over ten billion that is folded onto the
	// records there are; see [scrambled] for what that does to it.
	Zipfian Distribution = "zipfian"
	// Zipf is an exact zipfian distribution over the records, with the same
	// exponent .99; it is more skewed than Zipfian.
	Zipf Distribution = "zipf"
	// Latest is an exact zipfian distribution over the age of records: the
	// newest one is the most popular, and moves with every insert.
	Latest Distribution = "latest"
)

// Check refuses a distribution that there is not, with model.ErrUsage.
func (d Distribution) Check() error {
	switch d {
	case Uniform, Zipfian, Zipf, Latest:
		return nil
	}
	return fmt.Errorf("%w: distribution %q; there are uniform, zipfian, zipf and latest", model.ErrUsage, d)
}

// newChooser draws the places of records among those that a generator knows:
// its own random numbers make it one client's. Of them, loaded were there
// before the run, and known says how many there are by now.
func newChooser(d Distribution, loaded int64, known func() int64, rng *rand.Rand) func() int64 {
	switch d {
	case Zipfian:
		s := newScrambled(loaded)
		return func() int64 { return s.record(rng) }
	case Zipf:
		z := newZipf(loaded)
		return func() int64 { return z.rank(rng) }
	case Latest:
		z := newZipf(loaded)
		return func() int64 {
			z.resize(known())
			return z.n - 1 - z.rank(rng)
		}
	default:
		return func() int64 { return rng.Int64N(loaded) }
	}
}
