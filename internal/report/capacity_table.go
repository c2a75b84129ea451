package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/unit"
)

// mostQuantiles is how many percentiles a line of the windows' table has, unless
// the SLA has more.
const mostQuantiles = 4

// shownQuantiles are the percentiles of the windows' table: those of the SLA,
// and as many as have room of those that everybody looks at.
func shownQuantiles(s capacity.SLA) []float64 {
	out := withTerms(nil, s)
	for _, q := range []float64{.9, .5, .99} {
		same := func(x float64) bool { return sameQuantile(x, q) }
		if len(out) < mostQuantiles && !slices.ContainsFunc(out, same) {
			out = append(out, q)
		}
	}
	slices.Sort(out)
	return out
}

// withTerms adds the percentiles of an SLA, ascending. One that is there
// already becomes exactly that of the SLA, by which windows were judged.
func withTerms(quantiles []float64, s capacity.SLA) []float64 {
	out := slices.Clone(quantiles)
	for t := range s.Latencies() {
		k := slices.IndexFunc(out, func(q float64) bool { return sameQuantile(q, t.Quantile) })
		if k < 0 {
			out = append(out, t.Quantile)
			continue
		}
		out[k] = t.Quantile
	}
	slices.Sort(out)
	return out
}

// sameQuantile compares quantiles but for rounding: 99.9/100 is not .999.
func sameQuantile(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// windowsTable shows the windows of one search; verdict makes the last cell.
func windowsTable(x capacity.Found, verdict func(capacity.Judged) table.Cell) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Key: "window", Head: "#", Align: table.Right}, {Key: "phase", Head: "phase"},
		{Key: "load", Head: "load", Align: table.Right}, {Key: "achieved", Head: "achieved", Align: table.Right},
	}}
	quantiles := shownQuantiles(x.Config.SLA)
	for _, q := range quantiles {
		t.Columns = append(t.Columns, table.Column{Key: percentile(q), Head: percentile(q), Align: table.Right, Tip: "of all operations due; — where fewer than that ended well"})
	}
	t.Columns = append(t.Columns,
		table.Column{Key: "not_ok", Head: "not ok", Align: table.Right, Tip: "failed, dropped or not finished"},
		table.Column{Key: "rtt", Head: "RTT", Align: table.Right, Tip: "median TCP handshake beside the load"},
		table.Column{Key: "lag", Head: "lag p99", Align: table.Right, Tip: "the generators' own delay"},
		table.Column{Key: "verdict", Head: "verdict"})
	for i, w := range x.Result.Windows {
		t.Add(append(windowRow(i, w, quantiles), verdict(w))...)
	}
	return t
}

func windowRow(i int, w capacity.Judged, quantiles []float64) []table.Cell {
	// A record of this window alone has its rates and the lag.
	r := w.Record()
	row := []table.Cell{
		table.Of(i+1, fmt.Sprint(i+1)), table.Text(string(w.Phase)),
		rateCell(w.Load), rateCell(r.Achieved),
	}
	for _, q := range quantiles {
		d, known := w.Latency(q)
		row = append(row, quantileCell(d, known))
	}
	return append(row, table.Of(r.Due-r.OK, grouped(r.Due-r.OK)), millisCell(r.RTT), millisCell(r.LagP99))
}

func rateCell(v float64) table.Cell { return table.Of(finite(v), unit.Human(v, "op/s")) }

// quantileCell shows a latency; its value is in milliseconds. What fewer
// operations than that reached is beyond everything.
func quantileCell(d time.Duration, known bool) table.Cell {
	if !known {
		return table.Of(nil, "—")
	}
	return table.Of(millis(d), num.Seconds(d.Seconds()))
}

// millisCell shows milliseconds that may not be known.
func millisCell(ms *float64) table.Cell {
	if ms == nil || !num.Finite(*ms) {
		return table.Of(nil, num.Missing)
	}
	return table.Of(*ms, num.Millis(*ms))
}

// reasonWidth is where the reasons of a verdict are broken, in characters.
const reasonWidth = 30

// verdictAlone is the verdict of a window.
func verdictAlone(w capacity.Judged) table.Cell {
	style := map[capacity.Verdict]table.Style{
		capacity.Passed: table.Good, capacity.Missed: table.Bad, capacity.Unusable: table.Note,
	}[w.Verdict]
	return table.Of(string(w.Verdict), table.Clean(string(w.Verdict))).As(style)
}

// verdictWithReasons has the reasons below the verdict.
func verdictWithReasons(w capacity.Judged) table.Cell {
	c := verdictAlone(w)
	if reasons := briefReason(w); reasons != "" {
		c.Lines = append(c.Lines, table.Wrap(reasons, reasonWidth)...)
	}
	return c
}

// flatWindowColumns are the columns of the windows for programs; a contract.
var flatWindowColumns = []string{
	"workload", "target", "trial", "window", "phase", "load", "verdict", "achieved", "due", "ok", "dropped", "unfinished",
	"late", "waited", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "rtt_ms", "lag_p99_ms", "generator_busy",
}

// windowsFlat is one line a window, of all searches.
func windowsFlat(found []capacity.Found) *table.Table {
	t := &table.Table{}
	for _, key := range flatWindowColumns {
		t.Columns = append(t.Columns, table.Column{Key: key, Head: key})
	}
	for _, x := range found {
		rec := x.Record()
		for i, r := range rec.Windows {
			t.Add(flatWindow(rec, i, r)...)
		}
	}
	return t
}

func flatWindow(rec capacity.Record, i int, r capacity.WindowRecord) []table.Cell {
	row := []table.Cell{
		table.Text(rec.Workload), table.Text(rec.Target), table.Of(rec.Trial), table.Of(i + 1), table.Text(string(r.Phase)),
		table.Of(finite(r.Load)), table.Text(string(r.Verdict)), table.Of(finite(r.Achieved)), table.Of(r.Due), table.Of(r.OK),
		table.Of(r.Dropped), table.Of(r.Unfinished), table.Of(r.Late), table.Of(r.Waited),
	}
	for _, p := range []*float64{r.Latency["p50"], r.Latency["p90"], r.Latency["p95"], r.Latency["p99"], r.Latency["p99.9"], r.RTT, r.LagP99} {
		row = append(row, table.Of(p))
	}
	return append(row, table.Of(finite(r.Busy)))
}
