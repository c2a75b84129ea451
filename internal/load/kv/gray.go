package kv

import (
	"math"
	"math/rand/v2"
)

// gray draws ranks as YCSB does (ZipfianGenerator), by the method of Gray,
// Sundaresan, Englert, Baclawski, Weinberger: Quickly Generating Billion-Record
// Synthetic Databases, SIGMOD 1994. It is an approximation: the first two ranks
// have their exact shares, and those of the others are proportional to the
// integral of x^-theta from i-1 to i, where i^-theta would be exact. So rank 3
// is drawn too often by a fifth, and far ranks too seldom by two to four percent;
// of all draws, one or two in a hundred are of another rank than they should be.
// It is here for comparability alone; what needs no comparing uses [zipf].
type gray struct {
	items            float64
	zeta, eta, alpha float64
}

// newGray is for so many items; zeta is ζ(items, theta).
func newGray(items int64, zeta float64) gray {
	n := float64(items)
	zeta2 := 1 + math.Pow(.5, theta)
	return gray{
		items: n, zeta: zeta, alpha: 1 / (1 - theta),
		eta: (1 - math.Pow(2/n, 1-theta)) / (1 - zeta2/zeta),
	}
}

// rank maps u, uniform in [0, 1), to a rank counted from 0.
func (g gray) rank(u float64) int64 {
	uz := u * g.zeta
	switch {
	case uz < 1:
		return 0
	case uz < 1+math.Pow(.5, theta):
		return 1
	}
	return int64(g.items * math.Pow(g.eta*u-g.eta+1, g.alpha))
}

// What YCSB's ScrambledZipfianGenerator is made with, whatever the number of
// records: ζ was computed once for 10^10 items, and the generator has one more.
const (
	scrambledItems = 10_000_000_000 + 1
	scrambledZeta  = 26.46902820178302
)

// scrambled draws records as YCSB's "zipfian" does (ScrambledZipfianGenerator):
// a rank out of 10^10 by Gray's method, whose hash modulo the number of records
// is the record. So popular records are scattered, and stay popular whatever
// their number is. The distribution is not a zipfian one over the records: a
// third of the draws is from ranks beyond ten million, and is spread evenly; the
// most popular record has at least 3.8 % of the draws, and of a million
// records little more, where an exact distribution would give it 6.5 %.
type scrambled struct {
	records uint64
	ranks   gray
}

func newScrambled(records int64) scrambled {
	return scrambled{records: uint64(records), ranks: newGray(scrambledItems, scrambledZeta)}
}

// recordAt maps u, uniform in [0, 1), to a record.
func (s scrambled) recordAt(u float64) int64 { return int64(fnv(s.ranks.rank(u)) % s.records) }

func (s scrambled) record(rng *rand.Rand) int64 { return s.recordAt(rng.Float64()) }
