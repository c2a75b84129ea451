// Package levels is what may be expected of a rented service: models of expected
// service levels.
//
//  1. A model is a small YAML file ([Parse], [Builtin], [Find]): the limits of a
//     service, as documents promise or trials measured them (section 3.1 of the paper
//     that [Distribution.Pressure] names).
//  2. With the inputs of one service, such as its GiB, [Model.Levels] computes its
//     [Levels]: for each limit the rate that may be expected, and its bucket.
//  3. [Levels.At] gives what they allow for operations of one size. [Levels.Burst] is the
//     same service with full buckets.
//  4. [Fit] makes a model of measured values, and [WriteModel] a file of a model.
//  5. [Show] and [List] are models as documents.
package levels

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// Quality is what a limit counts.
type Quality string

// Operations a second, bytes a second, and cores. Metric is any other measured metric,
// which the name of the limit says.
const (
	Ops    Quality = "ops"
	Bytes  Quality = "bytes"
	CPU    Quality = "cpu"
	Metric Quality = "metric"
)

// Way is a direction: of a network, read is received and write is sent.
type Way string

// The two directions.
const (
	Read  Way = "read"
	Write Way = "write"
)

// Service is what a model describes.
type Service string

// Services.
const (
	Volume    Service = "volume"
	Network   Service = "network"
	Processor Service = "cpu"
)

// Scope is what shares the limits: a service alone, or all such services of a node.
type Scope string

// Scopes.
const (
	OfVolume Scope = "volume"
	OfNode   Scope = "node"
)

// Kept is a promise: at least the share Of of a level, for this Share of the time.
type Kept struct {
	Share float64 `json:"share" jsonschema:"required,exclusiveMinimum=0,maximum=1"`
	Of    float64 `json:"of" jsonschema:"required,exclusiveMinimum=0,maximum=1"`
}

// Levels are what may be expected of one service.
type Levels struct {
	Model  string // its name
	Limits []Level
	Cells  []Cell // measured levels, by size and mix of operations
}

// Level is one limit.
type Level struct {
	Quality Quality `json:"of"`
	Ways    []Way   `json:"ways"`            // both: they share the limit
	Label   string  `json:"label,omitempty"` // tells it from other limits of the same quality and ways
	// Unit, in bytes: an operation counts once for each started unit; of a limit of
	// bytes, it counts for whole units. 0: it counts as it is.
	Unit float64 `json:"unit,omitempty"`
	// Unmerged: operations count before the kernel merges them, as on a lab's volumes.
	Unmerged bool `json:"unmerged,omitempty"`
	// Scope is node in a model of volumes, if all volumes of the node share this limit.
	Scope Scope `json:"scope,omitempty"`
	// Rate is what may be expected, a second; with a bucket, the rate while it is empty.
	Rate   Distribution `json:"rate"`
	Bucket *Bucket      `json:"bucket,omitempty"`
	// Inputs of the model on which the rate depends.
	Inputs []string `json:"inputs,omitempty"`
}

// Name is the quality, with its way if it has one and its label: "ops", "bytes.write".
func (l Level) Name() string {
	parts := []string{string(l.Quality)}
	if len(l.Ways) == 1 {
		parts = append(parts, string(l.Ways[0]))
	}
	if l.Label != "" {
		parts = append(parts, l.Label)
	}
	return strings.Join(parts, ".")
}

// Counts is for how much one operation of size bytes counts: no(d) = ⌈d/nd⌉ operations
// (section 4.1 of the paper), or bytes.
func (l Level) Counts(size float64) float64 {
	started := 1.0
	if l.Unit > 0 {
		started = math.Ceil(size / l.Unit)
	}
	switch {
	case l.Quality != Bytes:
		return started
	case l.Unit > 0:
		return started * l.Unit
	}
	return size
}

// Share is that of the operations which the limit counts, if so many, a share, are reads.
func (l Level) Share(reads float64) float64 {
	switch {
	case len(l.Ways) != 1:
		return 1
	case l.Ways[0] == Read:
		return reads
	}
	return 1 - reads
}

// Bucket holds credits, which are in what the limit counts. It gains Fill a second, and
// loses what is used. While there are credits, the rate is Burst. What documents leave
// open is NaN, and null in JSON.
type Bucket struct {
	Size, Burst, Fill float64
	Start             float64 // share of Size in a new service
	// Lasts is the time, in s, for which documents say that a full bucket lasts; 0: it
	// follows from Size.
	Lasts float64
}

// BurstTime is how long a full bucket lasts at the burst rate, in s.
func (b Bucket) BurstTime() float64 {
	if b.Lasts > 0 {
		return b.Lasts
	}
	return b.Size / (b.Burst - b.Fill)
}

// RefillTime is how long an unused, empty bucket takes to be full, in s.
func (b Bucket) RefillTime() float64 { return b.Size / b.Fill }

// MarshalJSON implements json.Marshaler.
func (b Bucket) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]*float64{"size": num.IfFinite(b.Size), "burst": num.IfFinite(b.Burst),
		"fill":  num.IfFinite(b.Fill),
		"start": num.IfFinite(b.Start), "burst_s": num.IfFinite(b.BurstTime()), "refill_s": num.IfFinite(b.RefillTime())})
}

// Value is a rate and its share of the cases.
type Value struct {
	Rate  float64 `json:"rate"`
	Share float64 `json:"share"`
}

// Distribution is what may be expected, ascending; the shares sum to 1. One value is a
// constant.
type Distribution []Value

// Pressure is the service level pressure of an observed rate: SLP(o) = Σ f·o/s, equation
// 1 of J. Kuhlenkamp, K. Rudolph and D. Bermbach, "AISLE: Assessment of Provisioned
// Service Levels in Public IaaS-Based Database Systems", ICSOC 2015. It may exceed 1.
func (d Distribution) Pressure(o float64) (slp float64) {
	for _, v := range d {
		slp += v.Share * o / v.Rate
	}
	return slp
}

// Reached is the share of the cases in which the service can deliver no more than o.
func (d Distribution) Reached(o float64) (share float64) {
	for _, v := range d {
		if v.Rate <= o {
			share += v.Share
		}
	}
	return share
}

// Level is the rate whose pressure is 1: the harmonic mean.
func (d Distribution) Level() float64 {
	if len(d) == 1 {
		return d[0].Rate
	}
	return 1 / d.Pressure(1)
}

// distribution sorts values and joins those of the same rate.
func distribution(values []Value) (out Distribution) {
	slices.SortFunc(values, func(a, b Value) int { return cmp.Compare(a.Rate, b.Rate) })
	for _, v := range values {
		if n := len(out); n > 0 && out[n-1].Rate == v.Rate {
			out[n-1].Share += v.Share
		} else {
			out = append(out, v)
		}
	}
	return out
}

// Expected is what levels allow of one size and mix of operations, a second.
type Expected struct {
	Ops, Bytes float64 // +Inf: no limit counts such operations; NaN: not known
	Limits     []int   // indices of those that are reached first; none of measured cells
}

// At is what the levels allow of operations of size bytes, of which so many, a share,
// are reads. Buckets are empty. With measured cells it comes from these alone.
func (l Levels) At(size, reads float64) Expected {
	out := Expected{Ops: math.Inf(1)}
	if len(l.Cells) > 0 {
		out.Ops = math.NaN()
		if d, inside := l.Measured(size, reads); inside {
			out.Ops = d.Level()
		}
	}
	for i, rate := range l.rates(size, reads) {
		switch {
		case len(l.Cells) > 0 || math.IsInf(rate, 1) || rate > out.Ops*(1+Same):
		case rate < out.Ops*(1-Same):
			out.Ops, out.Limits = rate, []int{i}
		default:
			out.Limits = append(out.Limits, i)
		}
	}
	out.Bytes = out.Ops * size
	return out
}

// Same is the relative difference below which two rates are the same.
const Same = 1e-9

// rates are the operations a second that each limit allows; +Inf: it counts none.
func (l Levels) rates(size, reads float64) []float64 {
	out := make([]float64, len(l.Limits))
	for i, lim := range l.Limits {
		out[i] = math.Inf(1)
		if share := lim.Share(reads); share > 0 && (lim.Quality == Ops || lim.Quality == Bytes) {
			out[i] = lim.Rate.Level() / (share * lim.Counts(size))
		}
	}
	return out
}

// largest is the size, in bytes, up to which [Levels.Turn] looks.
const largest = 64 << 20

// Turn is the smallest size, in bytes, of operations that are held back by a limit of
// bytes; 0: any size is; NaN: none up to 64 MiB is. If larger operations are split, those
// just above a multiple of the unit may be held back by a limit of operations again.
func (l Levels) Turn(reads float64) float64 {
	ends := []float64{largest}
	for _, lim := range l.Limits {
		for k := 1.0; lim.Unit > 0 && k*lim.Unit < largest; k++ {
			ends = append(ends, k*lim.Unit)
		}
	}
	slices.Sort(ends)
	begin := 0.0
	for _, end := range slices.Compact(ends) {
		// Operations above begin and up to end count alike; bytes count as they are, but
		// for limits of bytes with a unit.
		ops, units, perByte := math.Inf(1), math.Inf(1), math.Inf(1)
		for i, rate := range l.rates(end, reads) {
			switch lim := l.Limits[i]; {
			case lim.Quality == Ops:
				ops = min(ops, rate)
			case lim.Unit > 0:
				units = min(units, rate)
			default:
				perByte = min(perByte, rate*end)
			}
		}
		switch turn := perByte / ops; {
		case units <= ops && !math.IsInf(units, 1):
			return begin
		case turn <= end*(1+Same):
			return min(max(turn, begin), end)
		}
		begin = end
	}
	return math.NaN()
}

// Burst are the levels while all buckets have credits.
func (l Levels) Burst() Levels {
	l.Limits = slices.Clone(l.Limits)
	for i, lim := range l.Limits {
		if lim.Bucket != nil {
			l.Limits[i].Rate, l.Limits[i].Bucket = Distribution{{lim.Bucket.Burst, 1}}, nil
		}
	}
	return l
}

// Directional reports whether reads and writes have limits of their own.
func (l Levels) Directional() bool {
	return slices.ContainsFunc(l.Limits, func(lim Level) bool { return len(lim.Ways) == 1 })
}
