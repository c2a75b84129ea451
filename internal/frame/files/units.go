package files

import (
	"math/big"

	"github.com/scalebench/scalebench/internal/unit"
)

// ratio is a factor as a fraction of whole numbers, so that a value is rounded
// once where it is converted by a power of ten.
type ratio struct{ num, den float64 }

func (r ratio) times(v float64) float64 { return v * r.num / r.den }

// convert is by what a value is multiplied that changes its unit; ok: they are
// units of the same.
func convert(from, to string) (r ratio, ok bool) {
	if from == to {
		return ratio{1, 1}, true
	}
	a, kindA := size(from)
	b, kindB := size(to)
	if kindA == "" || kindA != kindB {
		return ratio{1, 1}, false
	}
	exact := new(big.Rat).Quo(a, b)
	n, _ := new(big.Float).SetInt(exact.Num()).Float64()
	d, _ := new(big.Float).SetInt(exact.Denom()).Float64()
	return ratio{n, d}, true
}

// size is how much one of a unit is, and of what; "" where that is not known.
func size(name string) (*big.Rat, string) {
	if d, err := unit.ParseDuration("1" + name); err == nil {
		return new(big.Rat).SetInt64(int64(d)), "time"
	}
	if s, err := unit.ParseSize("1" + name); err == nil {
		return new(big.Rat).SetInt64(int64(s)), "size"
	}
	if r, err := unit.ParseRate("1" + name); err == nil {
		value, _ := new(big.Float).SetFloat64(r.Value).Rat(nil)
		return value, string(r.Base)
	}
	return nil, ""
}
