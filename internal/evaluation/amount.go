package evaluation

import (
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/unit"
)

// ByteRate is the unit of every rate of bytes once it is normalised, the one
// in which workloads count.
const ByteRate = "byte/s"

// Core is the unit of processor time per second: of cores in use.
const Core = "core"

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
	rate, err := unit.ParseRate("1" + name)
	if err != nil {
		return name, 1
	}
	if b, err := rate.BytesPerSecond(); err == nil {
		return ByteRate, b
	}
	return "op/s", rate.Value
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
