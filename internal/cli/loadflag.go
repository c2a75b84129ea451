package cli

import (
	"errors"
	"math"
	"strconv"

	"github.com/scalebench/scalebench/internal/unit"
)

// loadFlag is the value of a flag that is a load, in operations per second:
// 2000, or 2kop/s. The zero value was not given.
type loadFlag struct {
	rate  float64
	given bool
}

// String implements pflag.Value. It is the rate as experiment files have it.
func (f *loadFlag) String() string {
	if !f.given {
		return ""
	}
	return strconv.FormatFloat(f.rate, 'f', -1, 64) + string(unit.Operations) + "/s"
}

// Type implements pflag.Value; help prints it.
func (f *loadFlag) Type() string { return "RATE" }

// Set implements pflag.Value.
func (f *loadFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if r, rateErr := unit.ParseRate(text); rateErr == nil && r.Base == unit.Operations {
		v, err = r.Value, nil
	}
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return errors.New("want operations per second above 0, such as 2000 or 2kop/s")
	}
	f.rate, f.given = v, true
	return nil
}
