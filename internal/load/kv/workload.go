package kv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Workload is a mix of operations on records, of unequal popularity.
type Workload struct {
	Name string
	// How often each operation is done, relative to the others.
	Read, Update, Insert, ReadModifyWrite float64
	Distribution                          Distribution
}

// operation is one of the four kinds.
type operation int

// The operations, in the order in which they are shown.
const (
	// opRead reads all fields of a record, and verifies them.
	opRead operation = iota
	// opUpdate replaces one field of a record.
	opUpdate
	// opInsert writes a new record.
	opInsert
	// The fourth reads a record and then replaces one of its fields.
)

var operationNames = [...]string{"read", "update", "insert", "read-modify-write"}

// Presets returns the workloads that have a name:
//
//   - w1, w2, w3, w3b: Table I of the paper on black-box throughput; its
//     zipfian distribution is YCSB's (section IV). A write is an update, for
//     only updates choose their record from a distribution. The table calls
//     the last two both "W3".
//   - a, b, c, d, f: the core workloads of YCSB (workloads/workloada and
//     following, version 0.17). Workload e scans ranges, which not every
//     store here can do.
func Presets() []Workload {
	return []Workload{
		{Name: "w1", Update: 100, Distribution: Uniform},                  // write only: devices that keep sending data
		{Name: "w2", Read: 100, Distribution: Zipfian},                    // read only: a cache of user profiles
		{Name: "w3", Read: 95, Update: 5, Distribution: Zipfian},          // read mostly: photo tagging
		{Name: "w3b", Read: 50, Update: 50, Distribution: Zipfian},        // half reads, half writes: recent actions in a session
		{Name: "a", Read: 50, Update: 50, Distribution: Zipfian},          // YCSB A, update heavy: recent actions in a session
		{Name: "b", Read: 95, Update: 5, Distribution: Zipfian},           // YCSB B, read mostly: photo tagging
		{Name: "c", Read: 100, Distribution: Zipfian},                     // YCSB C, read only: a cache of user profiles
		{Name: "d", Read: 95, Insert: 5, Distribution: Latest},            // YCSB D, read latest: status updates
		{Name: "f", Read: 50, ReadModifyWrite: 50, Distribution: Zipfian}, // YCSB F, read-modify-write: records that users read and change
	}
}

// Preset returns the workload of that name, in capitals or not. The error is
// model.ErrUsage and lists the names.
func Preset(name string) (Workload, error) {
	var names []string
	for _, w := range Presets() {
		if strings.EqualFold(w.Name, name) {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("%w: unknown workload %q; use one of %s", model.ErrUsage, name, strings.Join(names, ", "))
}

// mix lists the operations that are ever done.
func (w Workload) mix() (ops []operation, weights []load.Weight) {
	for i, weight := range []float64{w.Read, w.Update, w.Insert, w.ReadModifyWrite} {
		if weight > 0 {
			ops = append(ops, operation(i))
			weights = append(weights, load.Weight{Name: operationNames[i], Weight: weight})
		}
	}
	return ops, weights
}

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
	if !slices.Contains([]Distribution{Uniform, Zipfian, Zipf, Latest}, d) {
		return fmt.Errorf("%w: distribution %q must be uniform, zipfian, zipf or latest", model.ErrUsage, d)
	}
	return nil
}

// newChooser draws the places of records among those that a generator knows:
// its own random numbers make it one client's. Of them, loaded were there
// before the run, and known says how many there are by now.
func newChooser(d Distribution, loaded int64, known func() int64, rng *rand.Rand) func() int64 {
	switch d {
	case Zipfian:
		s := newScrambled(loaded)
		return func() int64 { return s.recordAt(rng.Float64()) }
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

// theta is the exponent of all distributions here, YCSB's constant
// (ZipfianGenerator.ZIPFIAN_CONSTANT): rank i, counted from 1, has a share of
// 1 / (i^theta ζ(n, theta)), where ζ(n, theta) sums 1/i^theta for i up to n.
const theta = 0.99

// zipf draws ranks with exactly these shares, by rejection-inversion (Hörmann
// and Derflinger: Rejection-inversion to generate variates from monotone
// discrete distributions, ACM TOMACS 6(3), 1996): a point below the hat
// x^-theta is drawn by inverting its integral, and kept if it lies in the bar
// of the rank next to it. Nine in ten are kept.
//
// Nothing depends on n but the end of the integral, so that n may grow from one
// draw to the next at no cost; Gray's method, which YCSB uses, has to add up ζ
// for that, and is an approximation (see [gray]).
type zipf struct {
	n        int64
	from, to float64 // the integral of the hat, over all ranks
	always   float64 // so close to its rank a point always lies in the bar
}

func newZipf(n int64) *zipf {
	z := &zipf{from: hatIntegral(1.5) - 1, always: 2 - hatInverse(hatIntegral(2.5)-hat(2))}
	z.resize(n)
	return z
}

// resize changes the number of ranks, n ≥ 1.
func (z *zipf) resize(n int64) {
	if n != z.n {
		z.n, z.to = n, hatIntegral(float64(n)+.5)
	}
}

// rank draws a rank, counted from 0.
func (z *zipf) rank(rng *rand.Rand) int64 {
	for {
		u := z.to + rng.Float64()*(z.from-z.to) // in (from, to]
		x := hatInverse(u)
		k := min(max(int64(x+.5), 1), z.n)
		if float64(k)-x <= z.always || u >= hatIntegral(float64(k)+.5)-hat(float64(k)) {
			return k - 1
		}
	}
}

// hat is x^-theta.
func hat(x float64) float64 { return math.Exp(-theta * math.Log(x)) }

// hatIntegral is (x^(1-theta) - 1) / (1-theta), in a form that loses no digits
// although 1-theta is small.
func hatIntegral(x float64) float64 { return math.Expm1((1-theta)*math.Log(x)) / (1 - theta) }

// hatInverse is the inverse of hatIntegral.
func hatInverse(y float64) float64 { return math.Exp(math.Log1p((1-theta)*y) / (1 - theta)) }

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
// a rank out of 10^10 by Gray's method; the rank's hash modulo the number of
// records is the record. So popular records are scattered, and stay popular whatever
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

// fnv is YCSB's hash of a number (Utils.fnvhash64): FNV-1a over its eight
// bytes, least significant first, and of that the absolute value as a signed
// number, so that 63 bits are left.
func fnv(number int64) uint64 {
	const offset, prime = 0xcbf29ce484222325, 1099511628211 // of the 64-bit hash
	hash := uint64(offset)
	for range 8 {
		hash = (hash ^ uint64(number)&0xff) * prime
		number >>= 8
	}
	if int64(hash) < 0 {
		hash = -hash
	}
	return hash
}
