// Package telemetry is what monitoring recorded of services.
package telemetry

import (
	"encoding/json"
	"math"

	"github.com/scalebench/scalebench/internal/caveat"
)

// Measure is what a recording has of each period: a second, where nothing else is said.
type Measure string

// Measures.
const (
	ReadOps           Measure = "read_ops"
	WriteOps          Measure = "write_ops"
	Ops               Measure = "ops"
	ReadBytes         Measure = "read_bytes"
	WriteBytes        Measure = "write_bytes"
	Bytes             Measure = "bytes"
	ReadMerges        Measure = "read_merges"
	WriteMerges       Measure = "write_merges"
	ConsumedOps       Measure = "consumed_ops"        // the provider's normalised operations
	Credits           Measure = "credits"             // share of a full bucket
	ExceededOps       Measure = "exceeded_ops"        // share of the period throttled
	ExceededBytes     Measure = "exceeded_bytes"      // share of the period throttled
	NodeExceededOps   Measure = "node_exceeded_ops"   // share of the period throttled
	NodeExceededBytes Measure = "node_exceeded_bytes" // share of the period throttled
	ReceivedBytes     Measure = "received_bytes"
	SentBytes         Measure = "sent_bytes"
	CPU               Measure = "cpu"  // cores busy
	Idle              Measure = "idle" // share of the period without any operation
)

// Recording is one service of one node, from one source.
type Recording struct {
	Source, Node, Service string
	// Begin and End are Unix seconds of each period: ascending, not overlapping.
	Begin, End []float64
	// Rates are each as long as Begin; NaN: not known.
	Rates   map[Measure]Numbers
	Remarks []Remark
}

// Remark is what was left out or repaired.
type Remark struct {
	Code        caveat.Code
	Of          string
	Count, Line int
	At          float64
}

// Numbers are values of which NaN is null in JSON.
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
