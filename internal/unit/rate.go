package unit

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rate is an amount per second that is text in files: "125MB/s", "1Gbit/s",
// "500op/s". Value is in Base per second; a rate is never negative.
type Rate struct {
	Value float64
	Base  Base
}

// Base is what a rate counts.
type Base string

// The things that are counted. A byte is eight bits; operations and requests
// do not convert into either.
const (
	Bytes      Base = "B"
	Bits       Base = "bit"
	Operations Base = "op"
)

// RatePattern is the form of a rate as an ECMA 262 regular expression, for
// JSON Schema. It is exactly what ParseRate accepts, range apart.
const RatePattern = `^[0-9]+(\.[0-9]+)? ?((B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)|(bit|kbit|Mbit|Gbit|Tbit)|(op|kop|Mop|Gop))/s$`

// RateAllowed says in words what ParseRate accepts.
const RateAllowed = `a number with a unit B/s, kB/s, MB/s, GB/s (powers of 1000), KiB/s, MiB/s, GiB/s (powers of 1024), bit/s, kbit/s, Mbit/s, Gbit/s or op/s, such as "125MB/s", "1Gbit/s" or "500op/s"`

var rateRE = regexp.MustCompile(RatePattern)

// decimalPrefixes are the SI prefixes in use, ascending by powers of 1000.
var decimalPrefixes = []string{"", "k", "M", "G", "T", "P", "E"}

// maxRate is beyond every machine: 10^18 a second.
const maxRate = 1e18

// ParseRate reads a rate. The error says what is allowed.
func ParseRate(s string) (Rate, error) {
	if err := checkLength(s); err != nil {
		return Rate{}, err
	}
	if !rateRE.MatchString(s) {
		return Rate{}, fmt.Errorf("%q is not a rate: use %s", s, RateAllowed)
	}
	number, name := splitUnit(strings.TrimSuffix(s, "/s"))
	base, factor := rateUnit(name)
	// Multiplied exactly and rounded once, so that 1.1MB/s is 1100000.
	exact, _ := new(big.Rat).SetString(number) // the pattern guarantees a decimal number
	value, _ := exact.Mul(exact, new(big.Rat).SetInt64(factor)).Float64()
	if value >= maxRate {
		return Rate{}, fmt.Errorf("%q is too large: a rate must be less than 10^18 a second", s)
	}
	return Rate{Value: value, Base: base}, nil
}

// rateUnit takes "Mbit" apart into its base and the factor of its prefix.
func rateUnit(name string) (Base, int64) {
	if u := sizeUnitNamed(name); u.bytes != 0 {
		return Bytes, u.bytes
	}
	for _, base := range []Base{Bits, Operations} {
		if prefix, ok := strings.CutSuffix(name, string(base)); ok {
			return base, int64(math.Pow10(3 * slices.Index(decimalPrefixes, prefix)))
		}
	}
	return "", 0
}

// BytesPerSecond converts a rate of bytes or bits. It fails for operations,
// because their size is unknown.
func (r Rate) BytesPerSecond() (float64, error) {
	switch r.Base {
	case Bytes:
		return r.Value, nil
	case Bits:
		return r.Value / 8, nil
	}
	return 0, fmt.Errorf("%s is not a rate of bytes or bits", r)
}

// String prints the rate exactly, with the largest decimal prefix that leaves
// a number of at least 1: "1.25GB/s". ParseRate reads it back.
func (r Rate) String() string {
	limit := slices.Index(decimalPrefixes, "T")
	if r.Base == Operations {
		limit = slices.Index(decimalPrefixes, "G")
	}
	// Division by a power of ten is undone exactly only if the result parses
	// back to the same value; a prefix that loses a bit is not used.
	best := strconv.FormatFloat(r.Value, 'f', -1, 64) + string(r.Base) + "/s"
	for power := 1; power <= limit; power++ {
		scaled := r.Value / math.Pow10(3*power)
		if scaled < 1 {
			break
		}
		text := strconv.FormatFloat(scaled, 'f', -1, 64) + decimalPrefixes[power] + string(r.Base) + "/s"
		if back, err := ParseRate(text); err == nil && back == r {
			best = text
		}
	}
	return best
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) {
	if r.Base == "" { // the zero value: no rate given
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) error {
	v, err := ParseRate(string(text))
	if err != nil {
		return err
	}
	*r = v
	return nil
}
