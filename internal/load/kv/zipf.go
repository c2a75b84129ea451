package kv

import (
	"math"
	"math/rand/v2"
)

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
