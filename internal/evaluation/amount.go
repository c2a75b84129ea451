package evaluation

import (
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/unit"
)

// ByteRate is the unit of every rate of bytes once it is normalised, the one
// in which workloads count.
const ByteRate = observe.ByteRate

// Core is the unit of processor time per second: of cores in use.
const Core = observe.Core

// NormalUnit converts rates of bytes and bits to byte/s and leaves every other
// unit as it is, except the plural of cores: value · factor is in the returned
// unit. Two amounts can be compared if their normal units are equal.
func NormalUnit(name string) (normal string, factor float64) {
	name = strings.TrimSpace(name)
	switch name {
	case "byte/s", "bytes/s":
		return ByteRate, 1
	case "cores":
		return Core, 1
	}
	for prefix, factor := range map[string]float64{"": 1, "k": 1e3, "M": 1e6} {
		if flow, ok := strings.CutPrefix(name, prefix); ok && (flow == observe.PacketRate || flow == "packets/s") {
			return observe.PacketRate, factor
		}
	}
	rate, err := unit.ParseRate("1" + name)
	if err != nil {
		return name, 1
	}
	if b, err := rate.BytesPerSecond(); err == nil {
		return ByteRate, b
	}
	return observe.CallRate, rate.Value
}

// AmountText prints a capacity for people: bits per second for networks, as their
// links are sold, bytes per second for everything else that moves bytes.
func AmountText(value float64, unitName, resource string) string {
	normal, factor := NormalUnit(unitName)
	switch {
	case normal == ByteRate && Category(resource) == "network":
		return num.Human(8*factor*value, "bit/s")
	case normal == ByteRate:
		return num.Human(factor*value, "B/s")
	}
	return num.Human(value, unitName)
}

// Category is what can be bought of a resource: "network" of
// "network.receive".
func Category(resource string) string {
	first, _, _ := strings.Cut(resource, ".")
	return first
}

// payload says what a rate leaves out: the headers of packets, which the limit
// of a link does count.
var payload = map[string]string{"network": " of payload", "objectstore": " of payload"}

// SplitAmount takes "a.b=5.3 MB" apart; problem says what is wrong with it.
func SplitAmount(text string) (resource string, value float64, unitName, problem string) {
	resource, rest, ok := strings.Cut(text, "=")
	resource, rest = strings.TrimSpace(resource), strings.TrimSpace(rest)
	if !ok || resource == "" {
		return "", 0, "", "RESOURCE= is missing before the amount"
	}
	end := strings.IndexFunc(rest, notOfNumber)
	if end < 0 {
		return "", 0, "", "the amount has no unit"
	}
	unitName = strings.TrimSpace(rest[end:])
	value, err := strconv.ParseFloat(rest[:end], 64)
	switch {
	case err != nil:
		problem = strconv.Quote(rest[:end]) + " is not a number"
	case strings.ContainsFunc(unitName, func(r rune) bool { return r <= ' ' || r == '=' || r == ',' }) || unitName == "":
		problem = strconv.Quote(unitName) + " is not a unit"
	}
	return resource, value, unitName, problem
}

func notOfNumber(r rune) bool { return (r < '0' || r > '9') && r != '.' }
