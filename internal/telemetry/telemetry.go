// Package telemetry is what monitoring recorded of services: volumes, networks, processors.
//
//  1. [Read] finds out what a file is by its content: what iostat printed, as JSON or text
//     (iostat.go, iostattext.go), recorded /proc/diskstats (diskstats.go), counters of an EBS volume
//     (ebs.go), or CSV (csv.go).
//  2. Times become Unix seconds (stamps.go), and stamps become periods (periods.go). Counters
//     become rates ([FromCounters]).
//  3. Each service of each node becomes a [Recording]. What was left out or repaired is in its
//     remarks, of which [Recording.Caveats] makes caveats.
//
// Packages below this one ask services of monitoring for recordings.
package telemetry

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
)

// Measure is what a recording has of each period: a mean rate a second, where nothing else is
// said.
type Measure string

// Measures. Operations are counted after the kernel merged them; merges are those that went
// into another one.
const (
	ReadOps           Measure = "read_ops"
	WriteOps          Measure = "write_ops"
	Ops               Measure = "ops" // of both ways
	ReadBytes         Measure = "read_bytes"
	WriteBytes        Measure = "write_bytes"
	Bytes             Measure = "bytes" // of both ways
	ReadMerges        Measure = "read_merges"
	WriteMerges       Measure = "write_merges"
	ConsumedOps       Measure = "consumed_ops"        // the provider's normalised operations
	Credits           Measure = "credits"             // share of a full bucket, 0 to 1
	ExceededOps       Measure = "exceeded_ops"        // share of the period that the volume's limit throttled
	ExceededBytes     Measure = "exceeded_bytes"      // the same of bytes
	NodeExceededOps   Measure = "node_exceeded_ops"   // share of the period that the node's limit throttled
	NodeExceededBytes Measure = "node_exceeded_bytes" // the same of bytes
	Idle              Measure = "idle"                // share of the period without any operation
	ReceivedBytes     Measure = "received_bytes"      // of a network
	SentBytes         Measure = "sent_bytes"          // of a network
	CPU               Measure = "cpu"                 // cores busy
)

// measures are all of them, and the first of them shares.
var measures = []Measure{Credits, ExceededOps, ExceededBytes, NodeExceededOps, NodeExceededBytes, Idle,
	ReadOps, WriteOps, Ops, ReadBytes, WriteBytes, Bytes, ReadMerges, WriteMerges, ConsumedOps, ReceivedBytes, SentBytes,
	CPU}

const shares = 6

// Recording is one service of one node, from one source.
type Recording struct {
	Source string `json:"source"` // the file, or the monitoring that was asked
	Node   string `json:"node,omitempty"`
	// Service is the volume's name, "network" or "cpu".
	Service string `json:"service"`
	// Stacked: it lies on other volumes of the node that are recorded, too, and so does not
	// count in the sum of all.
	Stacked bool `json:"stacked,omitempty"`
	// Begin and End are Unix seconds of each period: ascending, not overlapping. Between
	// periods may be gaps.
	Begin []float64 `json:"begin"`
	End   []float64 `json:"end"`
	// Rates are each as long as Begin. A measure that the source lacks is absent.
	Rates   map[Measure]Numbers `json:"rates"`
	Remarks []Remark            `json:"remarks,omitempty"`
}

// Remark is something that was left out, repaired or assumed.
type Remark struct {
	Code  caveat.Code `json:"code"`
	Of    string      `json:"of,omitempty"`    // what it is about, in the words of the input: a column
	Count int         `json:"count,omitempty"` // how often
	Line  int         `json:"line,omitempty"`  // of the file, the first one; 0: not known
	At    float64     `json:"at,omitempty"`    // Unix s, the first one; 0: not known
}

// Numbers are values of which NaN, not known, is null in JSON.
type Numbers []float64

// MarshalJSON writes NaN as null.
func (n Numbers) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(n))
	for i := range n {
		if !math.IsNaN(n[i]) {
			out[i] = &n[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var in []*float64
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*n = make(Numbers, len(in))
	for i, v := range in {
		if (*n)[i] = math.NaN(); v != nil {
			(*n)[i] = *v
		}
	}
	return nil
}

// add appends a period. Measures that it lacks are NaN.
func (r *Recording) add(begin, end float64, of map[Measure]float64) {
	for m := range of {
		if _, ok := r.Rates[m]; !ok {
			if r.Rates == nil {
				r.Rates = make(map[Measure]Numbers)
			}
			r.Rates[m] = slices.Repeat(Numbers{math.NaN()}, len(r.Begin))
		}
	}
	r.Begin, r.End = append(r.Begin, begin), append(r.End, end)
	for m, values := range r.Rates {
		v, ok := of[m]
		if !ok {
			v = math.NaN()
		}
		r.Rates[m] = append(values, v)
	}
}

// rows are the periods by their places in r, and no others.
func (r *Recording) rows(places []int) {
	pick := func(from []float64) []float64 {
		out := make([]float64, len(places))
		for i, p := range places {
			out[i] = from[p]
		}
		return out
	}
	r.Begin, r.End = pick(r.Begin), pick(r.End)
	for m, values := range r.Rates {
		r.Rates[m] = pick(values)
	}
}

// row is all measures of a period.
func (r *Recording) row(i int) map[Measure]float64 {
	of := make(map[Measure]float64, len(r.Rates))
	for m, values := range r.Rates {
		of[m] = values[i]
	}
	return of
}

// remark adds one, to that of the same kind if there is one. One of nothing is none.
func (r *Recording) remark(x Remark) {
	if x.Count == 0 {
		return
	}
	for i := range r.Remarks {
		if have := &r.Remarks[i]; have.Code == x.Code && have.Of == x.Of {
			have.Count += x.Count
			return
		}
	}
	r.Remarks = append(r.Remarks, x)
}

// known reports whether any measure of a period is.
func known(of map[Measure]float64) bool {
	for _, v := range of {
		if !math.IsNaN(v) {
			return true
		}
	}
	return false
}
