package capacity

import (
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// PartRecord is one generator's part of a [WindowRecord].
type PartRecord struct {
	Node model.NodeID `json:"node"`
	// After is how long after the first generator of the window it began.
	After    float64 `json:"after_ms"`
	Due      int64   `json:"due"`
	OK       int64   `json:"ok"`
	Achieved float64 `json:"achieved"`
	Waited   int64   `json:"waited"`
	Dropped  int64   `json:"dropped"`
	// Answered is how many latencies its histogram holds.
	Answered  int64    `json:"answered"`
	LagP99    float64  `json:"lag_p99_ms"`
	Busy      float64  `json:"busy"`
	Processor float64  `json:"processor"`
	RTT       *float64 `json:"rtt_ms"`
}

func (p Part) record(scored time.Duration) PartRecord {
	return PartRecord{
		Node: p.Node, After: *milliseconds(p.After), Due: p.Counts.Due, OK: p.Counts.OK,
		Achieved: float64(p.Replies) / max(scored.Seconds(), 1e-9), Waited: p.Counts.Waited, Dropped: p.Counts.Dropped,
		Answered: p.Answered, LagP99: *milliseconds(p.Lag), Busy: p.Busy, Processor: p.Processor,
		RTT: known(1000 * median(roundTrips(p.Handshakes))),
	}
}

// PathRecord is a [Path] for programs.
type PathRecord struct {
	Load  float64 `json:"load"`
	Light float64 `json:"rtt_light_ms"`
	Full  float64 `json:"rtt_ms"`
	// Lost is the share of handshakes that lost a packet.
	Lost float64 `json:"lost"`
	// OutOfOrderLight and OutOfOrder are the shares of TCP segments that came
	// while one sent earlier was missing, under a light load and at that load.
	OutOfOrderLight *float64 `json:"out_of_order_light"`
	OutOfOrder      *float64 `json:"out_of_order"`
	// Received and Sent are payload; 0 where the driver does not know.
	Received float64 `json:"received_bytes_per_second"`
	Sent     float64 `json:"sent_bytes_per_second"`
	// Nodes are the generators whose path it is; none: all.
	Nodes []model.NodeID `json:"generators,omitempty"`
}

// outOfOrder is the share of segments out of order; nil where nobody knows.
func outOfOrder(s load.Segments) *float64 {
	if share, known := s.Share(); known {
		return &share
	}
	return nil
}

func (p *Path) record() *PathRecord {
	if p == nil {
		return nil
	}
	return &PathRecord{
		Load: p.Load, Light: *milliseconds(p.Light), Full: *milliseconds(p.Full), Lost: p.Lost,
		OutOfOrderLight: outOfOrder(p.SegmentsLight), OutOfOrder: outOfOrder(p.Segments),
		Received: p.Received, Sent: p.Sent, Nodes: p.Nodes,
	}
}
