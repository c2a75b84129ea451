package analysis

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Amount is what a person says of a resource: "network.receive=25MB/s".
type Amount struct {
	Resource string
	Value    float64 // above zero
	Unit     string  // normal
}

// amountAllowed says in words what ParseAmount accepts.
const amountAllowed = `RESOURCE=AMOUNT with a unit, such as network.receive=25MB/s, disk.write=300op/s, cpu=2core or WORKLOAD/METRIC=12events/s`

// jobAllowed says the same of ParseJobAmount.
const jobAllowed = `RESOURCE=AMOUNT with a unit, such as objectstore.get=5.3MB, disk.write=40op or cpu=0.5s (of one core)`

// ParseAmount reads an amount per second. The error is a model.ErrUsage that
// says what is allowed.
func ParseAmount(text string) (Amount, error) {
	resource, value, name, err := splitAmount(text)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %q: %w; want %s", model.ErrUsage, text, err, amountAllowed)
	}
	if !strings.HasSuffix(name, "/s") && isByteOrOp(name) {
		return Amount{}, fmt.Errorf("%w: %q is no amount per second; want %s", model.ErrUsage, text, amountAllowed)
	}
	return newAmount(resource, value, name, text)
}

// ParseJobAmount reads an amount per job and returns it per second, for one job
// per second: times the rate it is what a node takes.
func ParseJobAmount(text string) (Amount, error) {
	resource, value, name, err := splitAmount(text)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: %q: %w; want %s", model.ErrUsage, text, err, jobAllowed)
	}
	if strings.HasSuffix(name, "/s") {
		return Amount{}, fmt.Errorf("%w: %q is an amount per second, not per job; want %s", model.ErrUsage, text, jobAllowed)
	}
	if name == "s" { // processor time per job, at one job per second
		return newAmount(resource, value, unitCore, text)
	}
	return newAmount(resource, value, name+"/s", text)
}

// newAmount brings an amount to its normal unit. K and M, KB and MB/S mean
// different things to different people and are refused, as everywhere.
func newAmount(resource string, value float64, name, text string) (Amount, error) {
	if perSecond, ok := strings.CutSuffix(name, "/s"); ok && ambiguous(perSecond) {
		_, err := unit.ParseRate(strconv.FormatFloat(value, 'f', -1, 64) + name)
		return Amount{}, fmt.Errorf("%w: %q: %w", model.ErrUsage, text, err)
	}
	normal, factor := planUnit(name)
	a := Amount{resource, value * factor, normal}
	if !isCapacity(a.Value) {
		return Amount{}, fmt.Errorf("%w: %q: want an amount above 0", model.ErrUsage, text)
	}
	return a, nil
}

// ambiguous reports a unit that looks like one of bytes, bits or operations
// and is none.
func ambiguous(name string) bool {
	if _, err := unit.ParseRate("1" + name + "/s"); err == nil {
		return false
	}
	switch strings.ToLower(strings.TrimLeft(strings.ToLower(name), "kmgtpi")) {
	case "", "b", "bit", "bits", "bps", "op", "ops":
		return true
	}
	return false
}

// isByteOrOp reports a unit of something that flows: "MB", "op".
func isByteOrOp(name string) bool {
	normal, _ := normalUnit(name + "/s")
	return normal == byteRate || normal == "op/s"
}

// splitAmount takes "a.b=5.3 MB" apart.
func splitAmount(text string) (resource string, value float64, unitName string, err error) {
	resource, rest, ok := strings.Cut(text, "=")
	resource, rest = strings.TrimSpace(resource), strings.TrimSpace(rest)
	if !ok || resource == "" {
		return "", 0, "", fmt.Errorf("there is no RESOURCE= before the amount")
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		return "", 0, "", fmt.Errorf("the amount has no unit")
	}
	unitName = strings.TrimSpace(rest[end:])
	if value, err = strconv.ParseFloat(rest[:end], 64); err != nil {
		return "", 0, "", fmt.Errorf("%q is no number", rest[:end])
	}
	if strings.ContainsFunc(unitName, func(r rune) bool { return r <= ' ' || r == '=' || r == ',' }) || unitName == "" {
		return "", 0, "", fmt.Errorf("%q is no unit", unitName)
	}
	return resource, value, unitName, nil
}

// planUnit is normalUnit for plans, where cores are counted too.
func planUnit(name string) (normal string, factor float64) {
	if name == "cores" {
		return unitCore, 1
	}
	return normalUnit(name)
}

// ParseBareAmount reads "RESOURCE=NUMBER", as a file needs whose numbers have
// no unit; ok is false for every other text.
func ParseBareAmount(text string) (a Amount, ok bool) {
	resource, number, _ := strings.Cut(text, "=")
	number = strings.TrimSpace(number)
	if strings.ContainsFunc(number, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) {
		return Amount{}, false
	}
	v, err := strconv.ParseFloat(number, 64)
	a = Amount{Resource: strings.TrimSpace(resource), Value: v}
	return a, err == nil && isCapacity(v) && a.Resource != ""
}
