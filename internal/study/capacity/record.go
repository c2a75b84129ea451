package capacity

import (
	"strconv"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/stats"
)

// Percentiles that are shown of every window.
var Percentiles = []float64{.5, .9, .95, .99, .999}

// Record is a search as it is written for programs: rates are in operations
// per second, latencies in milliseconds; null where there is none.
type Record struct {
	Workload  string           `json:"workload"`
	Target    string           `json:"target"`
	Trial     int              `json:"trial"`
	SLA       string           `json:"sla"`
	Algorithm search.Algorithm `json:"algorithm"`
	Answer
	Windows []WindowRecord `json:"windows"`
	// Statuses are the answers that were not expected, by their status, in the
	// windows that missed the SLA by errors.
	Statuses map[string]int64 `json:"statuses,omitempty"`
	// Doubts are what speaks against the result; Warnings their texts.
	Doubts   []model.Doubt `json:"doubts"`
	Warnings []string      `json:"warnings"`
}

// WindowRecord is one window of a [Record].
type WindowRecord struct {
	Load       float64      `json:"load"`
	Phase      search.Phase `json:"phase"`
	Verdict    Verdict      `json:"verdict"`
	Misses     []string     `json:"misses,omitempty"`
	Generators []string     `json:"generators,omitempty"`
	Start      time.Time    `json:"start,omitzero"`
	Scored     float64      `json:"scored_s"`
	// RecordsLost: it was missed because records were gone. RecordsLoaded is how many
	// were not there before the window, and were loaded.
	RecordsLost   bool  `json:"records_lost,omitempty"`
	RecordsLoaded int64 `json:"records_loaded,omitempty"`
	// Stall is for how long nothing was answered; OnReserve: a longer window
	// missed this load.
	Stall     float64 `json:"stall_s,omitempty"`
	OnReserve bool    `json:"on_reserve,omitempty"`
	Achieved  float64 `json:"achieved"`
	Due       int64   `json:"due"`
	OK        int64   `json:"ok"`
	// Answered is how many latencies the histogram of all generators holds.
	Answered int64            `json:"answered"`
	Errors   map[string]int64 `json:"errors,omitempty"`
	// Statuses are the answers that were not expected by their status, where
	// the protocol has them: as many of the errors "status".
	Statuses   map[string]int64 `json:"statuses,omitempty"`
	Dropped    int64            `json:"dropped"`
	Unfinished int64            `json:"unfinished"`
	Late       int64            `json:"late"`
	Waited     int64            `json:"waited"`
	// Repeated is how many were sent again over a new connection, because the
	// server had closed the one before without an answer.
	Repeated int64 `json:"repeated,omitempty"`
	// Addresses are those of the target where a host has several.
	Addresses []load.AddressUse `json:"addresses,omitempty"`
	// Connections are those to a data store.
	Connections *load.ConnectionUse `json:"connections,omitempty"`
	// Latency is by percentile, of all that was due; null where fewer ended
	// well.
	Latency map[string]*float64 `json:"latency_ms"`
	LagP99  *float64            `json:"lag_p99_ms"`
	// ReceiveLagP99 is how late 1 in 100 answers was read, which is no part of
	// their latencies; null where the kernel has stamped none. Stamped is how
	// many it has: the other latencies end when answers were read.
	ReceiveLagP99 *float64 `json:"receive_lag_p99_ms"`
	Stamped       int64    `json:"stamped"`
	// RTT is the median TCP handshake beside the load.
	RTT *float64 `json:"rtt_ms"`
	// Lost is how many TCP handshakes beside the load lost a packet.
	Lost int `json:"rtt_lost,omitempty"`
	// OutOfOrder is the share of TCP segments that came while one sent earlier
	// was missing.
	OutOfOrder *float64 `json:"out_of_order"`
	// PathChanged: round trips were not those of the baseline; PathChange says
	// how.
	PathChanged bool    `json:"path_changed,omitempty"`
	PathChange  string  `json:"path_change,omitempty"`
	Busy        float64 `json:"generator_busy"`
	// StartSkew is how long after the first generator the last one began.
	StartSkew float64 `json:"start_skew_ms"`
	// Parts are what each generator did, in the order of their names.
	Parts []PartRecord `json:"parts,omitempty"`
}

// Record returns what was found for programs.
func (s Search) Record() Record {
	out := Record{
		Workload: s.Workload, Target: s.Target, Trial: s.Trial, SLA: s.Config.SLA.String(), Algorithm: s.Config.Algorithm,
		Answer: s.Answer, Windows: []WindowRecord{},
		Doubts: append([]model.Doubt{}, s.Answer.Doubts...), Warnings: s.Answer.Warnings(),
	}
	for _, w := range s.Answer.Windows {
		out.Windows = append(out.Windows, w.Record())
	}
	_, failed := s.Answer.failed()
	out.Statuses = statuses(failed)
	return out
}

// statuses are counts of answers by their status; nil without any.
func statuses(c load.Counts) map[string]int64 {
	var out map[string]int64
	for _, s := range c.Statuses.Counted() {
		if out == nil {
			out = make(map[string]int64)
		}
		out[strconv.Itoa(s.Status)] = s.Count
	}
	return out
}

// Record returns what is known of the window for programs.
func (j Assessment) Record() WindowRecord {
	out := WindowRecord{
		Load: j.Load, Phase: j.Phase, Verdict: j.Verdict, Misses: texts(j.Misses), Generators: texts(j.Problems), Start: j.Start,
		Scored: j.Scored.Seconds(), RecordsLost: j.RecordsLost != nil, RecordsLoaded: j.RecordsLoaded, Stall: j.Stall.Seconds(), OnReserve: j.OnReserve, Achieved: j.Achieved(), Due: j.Counts.Due, OK: j.Counts.OK,
		Dropped: j.Counts.Dropped, Unfinished: j.Counts.Unfinished, Late: j.Counts.Late, Waited: j.Counts.Waited,
		Latency: make(map[string]*float64), RTT: num.IfFinite(1000 * stats.Median(j.RTT)),
		Lost: j.Lost, OutOfOrder: outOfOrder(j.Segments),
		PathChanged: j.PathChange != nil, Busy: j.Busy, StartSkew: *milliseconds(j.StartSkew()),
	}
	if j.PathChange != nil {
		out.PathChange = j.PathChange.String()
	}
	if j.Latencies != nil {
		out.Answered = j.Latencies.TotalCount()
	}
	for _, p := range j.Generators {
		out.Parts = append(out.Parts, partRecord(p, j.Scored))
	}
	for _, q := range Percentiles {
		out.Latency[load.Percentile(q)] = nil
		if d, ok := j.Latency(q); ok {
			out.Latency[load.Percentile(q)] = milliseconds(d)
		}
	}
	out.Repeated, out.Addresses = j.Counts.Repeated, j.Addresses
	if u := connectionUse(j.Window); u.Asked > 0 {
		out.Connections = &u.ConnectionUse
	}
	out.LagP99, out.ReceiveLagP99 = p99(j.Lags), p99(j.ReceiveLags)
	if j.ReceiveLags != nil {
		out.Stamped = j.ReceiveLags.TotalCount()
	}
	for k, n := range j.Counts.Errors {
		if n > 0 {
			if out.Errors == nil {
				out.Errors = make(map[string]int64)
			}
			out.Errors[load.Kind(k).String()] = n
		}
	}
	out.Statuses = statuses(j.Counts)
	return out
}

// p99 is in milliseconds; nil without values.
func p99(h *hdr.Histogram) *float64 {
	if h == nil || h.TotalCount() == 0 {
		return nil
	}
	return milliseconds(load.AtPercentile(h, 99))
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

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
	Answered int64   `json:"answered"`
	LagP99   float64 `json:"lag_p99_ms"`
	// ReceiveLagP99 is 0 where the kernel has stamped no answer.
	ReceiveLagP99 float64  `json:"receive_lag_p99_ms"`
	Busy          float64  `json:"busy"`
	Processor     float64  `json:"processor"`
	RTT           *float64 `json:"rtt_ms"`
}

func partRecord(p load.Generator, scored time.Duration) PartRecord {
	return PartRecord{
		Node: p.Node, After: *milliseconds(p.After), Due: p.Counts.Due, OK: p.Counts.OK,
		Achieved: float64(p.Replies) / max(scored.Seconds(), 1e-9), Waited: p.Counts.Waited, Dropped: p.Counts.Dropped,
		Answered: p.Answered, LagP99: *milliseconds(p.Lag), ReceiveLagP99: *milliseconds(p.ReceiveLag), Busy: p.Busy, Processor: p.Processor,
		RTT: num.IfFinite(1000 * stats.Median(load.RoundTrips(p.Handshakes))),
	}
}

// outOfOrder is the share of segments out of order; nil where nobody knows.
func outOfOrder(s load.Segments) *float64 {
	if share, known := s.Share(); known {
		return &share
	}
	return nil
}
