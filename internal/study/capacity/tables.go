package capacity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/search"
)

// mostQuantiles is how many percentiles a line of the windows' table has, unless
// the SLA has more.
const mostQuantiles = 4

// shownQuantiles are the percentiles of the windows' table: those of the SLA,
// and as many of the usual ones as there is room for.
func shownQuantiles(s load.SLA) []float64 {
	out := withTerms(nil, s)
	for _, q := range []float64{.9, .5, .99} {
		if len(out) < mostQuantiles && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	slices.Sort(out)
	return out
}

// withTerms adds the percentiles of an SLA, ascending.
func withTerms(quantiles []float64, s load.SLA) []float64 {
	out := slices.Clone(quantiles)
	for t := range s.Latencies() {
		out = append(out, t.Quantile)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// windowsTable shows the windows of one search, on pages with their reasons.
func (s Search) windowsTable(reasons bool) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "window", Head: "#", Right: true}, {Key: "phase", Head: "phase"},
		{Key: "load", Head: "load", Right: true}, {Key: "achieved", Head: "achieved", Right: true},
	}}
	if reasons { // which are long: the figures make room for them
		t.Stack = [][]string{{"lag", "receive_lag"}, {"load", "achieved"}}
	}
	quantiles := shownQuantiles(s.Config.SLA)
	for _, q := range quantiles {
		t.Columns = append(t.Columns, doc.Column{Key: load.Percentile(q), Head: load.Percentile(q), Right: true, Tip: "of all operations due; — where fewer than that ended well"})
	}
	t.Columns = append(t.Columns,
		doc.Column{Key: "not_ok", Head: "not ok", Right: true, Tip: "failed, dropped or not finished"},
		doc.Column{Key: "rtt", Head: "RTT", Right: true, Tip: "median TCP handshake beside the load"},
		doc.Column{Key: "lag", Head: "lag p99", Right: true, Tip: "the generators' own delay: how late requests were sent"})
	stamped := slices.ContainsFunc(s.Answer.Windows, func(w Assessment) bool { return p99(w.ReceiveLags) != nil })
	if stamped {
		t.Columns = append(t.Columns, doc.Column{Key: "receive_lag", Head: "read p99", Right: true,
			Tip: "how late generators read answers that the kernel had: no part of the latencies"})
	}
	t.Columns = append(t.Columns, doc.Column{Key: "verdict", Head: "verdict"})
	if reasons {
		t.Columns = append(t.Columns, doc.Column{Key: "why", Head: "why", Wrap: 40})
	}
	for i, w := range s.Answer.Windows {
		r := w.Record()
		row := []doc.Cell{doc.Of(i+1, strconv.Itoa(i+1)), doc.Say(string(w.Phase)), loadCell(&w.Load), loadCell(&r.Achieved)}
		for _, q := range quantiles {
			row = append(row, latencyCell(w.Latency(q)))
		}
		row = append(row, doc.Of(int(r.Due-r.OK), num.Grouped(r.Due-r.OK)), millisCell(r.RTT), millisCell(r.LagP99))
		if stamped {
			row = append(row, millisCell(r.ReceiveLagP99))
		}
		row = append(row, doc.Say(string(w.Verdict)).As(map[Verdict]doc.Tone{Passed: doc.Good, Missed: doc.Bad, Unusable: doc.Note}[w.Verdict]))
		if reasons {
			row = append(row, doc.Say(w.briefReason()))
		}
		t.Add(row...)
	}
	return t
}

func loadCell(v *float64) doc.Cell   { return doc.Optional(v, rate) }
func millisCell(v *float64) doc.Cell { return doc.Optional(v, num.Millis) }

// latencyCell shows a latency; its value is in milliseconds. What fewer
// operations than that reached is beyond everything.
func latencyCell(d time.Duration, known bool) doc.Cell {
	if !known {
		return doc.Of(nil, "—")
	}
	return doc.Of(milliseconds(d), num.Seconds(d.Seconds()))
}

// flatWindows is one line a window, of all searches: a contract, to which columns
// are added at the end. What a search has found stands in each of its lines, as
// its warnings do: so all lines are of one kind, and any one tells the result. A
// search without a window has a line that says why.
func flatWindows(searches []Search) *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms(
		"workload", "target", "trial", "window", "phase", "load", "verdict", "achieved", "due", "ok", "dropped", "unfinished",
		"late", "waited", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "rtt_ms", "lag_p99_ms", "generator_busy",
		"receive_lag_p99_ms", "stamped",
		"warnings", // of the search, in each of its rows
		"statuses",
		"sla", "passed", "failed", "estimate", "estimate_lo", "estimate_hi", "limit", "confirmed", // so is this
	)}
	for _, s := range searches {
		for i, w := range s.Answer.Windows {
			t.Add(slices.Concat(doc.Values(s.Workload, s.Target, s.Trial, i+1), w.flat(), s.flat(statusesText(w.Counts)))...)
		}
		if len(s.Answer.Windows) == 0 {
			none := make([]doc.Cell, len(Assessment{}.flat()))
			t.Add(slices.Concat(doc.Values(s.Workload, s.Target, s.Trial, nil), none, s.flat(""))...)
		}
	}
	return t
}

// flat is what was measured in a window, for programs.
func (j Assessment) flat() []doc.Cell {
	r := j.Record()
	return doc.Values(
		r.Phase, r.Load, r.Verdict, r.Achieved, r.Due, r.OK, r.Dropped, r.Unfinished,
		r.Late, r.Waited, r.Latency["p50"], r.Latency["p90"], r.Latency["p95"], r.Latency["p99"], r.Latency["p99.9"], r.RTT, r.LagP99, r.Busy,
		r.ReceiveLagP99, r.Stamped,
	)
}

// flat is what a search has found, for programs, with the statuses of one of its
// windows.
func (s Search) flat(statuses string) []doc.Cell {
	a := s.Answer
	var lo, hi *float64
	if a.CI != nil {
		lo, hi = &a.CI[0], &a.CI[1]
	}
	return doc.Values(strings.Join(a.Warnings(), "; "), statuses, s.Config.SLA.String(), a.Passed, a.Failed, a.Estimate, lo, hi, a.Limit, a.Confirmed)
}

// statusesText lists the statuses that were not expected: "429:312 503:4".
func statusesText(c load.Counts) string {
	var parts []string
	for _, s := range c.Statuses.Counted() {
		parts = append(parts, fmt.Sprintf("%d:%d", s.Status, s.Count))
	}
	return strings.Join(parts, " ")
}

// trialsTable has a line for each search.
func trialsTable(all []group) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "workload", For: doc.Programs}, {Key: "target", Head: "target"}, {Key: "trial", Head: "trial", Right: true},
		{Key: "passed", Head: "passed", Right: true}, {Key: "failed", Head: "failed", Right: true},
		{Key: "estimate", Head: "estimate\n[95 %]", Right: true, Interval: true}, {Key: "limit", Head: "at its limit"},
		{Key: "confirmed", For: doc.Programs}, {Key: "windows", Head: "windows", Right: true},
	}, Stack: [][]string{{"passed", "failed"}}}
	for _, g := range all {
		for _, s := range g.trials {
			a := s.Answer
			estimate := loadCell(a.Estimate)
			if a.Estimate != nil {
				estimate = estimate.As(doc.Strong)
				if a.CI != nil {
					estimate = estimate.Within(a.CI[0], a.CI[1])
					estimate.Lines = append(estimate.Lines, rangeText(*a.CI, " .. "))
				}
			}
			t.Add(doc.Of(g.workload), doc.Say(g.target), doc.Int(s.Trial), loadCell(a.Passed), loadCell(a.Failed),
				estimate, a.limitCell(), doc.Of(a.Confirmed), doc.Int(len(a.Windows)))
		}
	}
	return t
}

// limitCell names what was at its limit, and marks what is no capacity of the
// target.
func (a Answer) limitCell() doc.Cell {
	text := limits[a.Limit].cell
	if a.Failure != "" {
		text = "nothing measured"
	}
	c := doc.Of(string(a.Limit), text)
	if a.Limit == LimitTarget && a.Confirmed {
		return c
	}
	if a.Limit == LimitTarget {
		c.Lines = append(c.Lines, "not confirmed")
	}
	return c.As(doc.Note)
}

// hiddenReasons lists why windows were not passed where that is neither their
// latency nor their errors, which the table shows. Those that differ in their
// figures only are told once: "4 to 6, 9: … were in use for 92.7 % to 100 %".
func (s Search) hiddenReasons() (lines []string) {
	type told struct {
		windows []int
		reasons [][]reason // of each of them
	}
	var kinds []*told
	for i, w := range s.Answer.Windows {
		hidden := w.Verdict == Unusable || w.Verdict == Missed && s.Config.Algorithm == search.Paper && w.Phase == search.Ramp
		reasons := w.reasons()
		if len(reasons) == 0 || !hidden {
			continue
		}
		k := slices.IndexFunc(kinds, func(t *told) bool { return slices.EqualFunc(t.reasons[0], reasons, reason.like) })
		if k < 0 {
			k, kinds = len(kinds), append(kinds, &told{})
		}
		kinds[k].windows, kinds[k].reasons = append(kinds[k].windows, i+1), append(kinds[k].reasons, reasons)
	}
	for _, t := range kinds {
		var said []string
		for n := range t.reasons[0] {
			var same []reason
			for _, all := range t.reasons {
				same = append(same, all[n])
			}
			said = append(said, merged(same).String())
		}
		lines = append(lines, num.Ranges(t.windows)+": "+strings.Join(said, "; "))
	}
	return lines
}
