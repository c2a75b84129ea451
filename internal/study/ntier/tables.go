package ntier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/prices"
)

// loadsTable is a row for each number of users.
func (f *Finding) loadsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "users", Head: "users", Right: true}, {Key: "trials", Head: "trials", Right: true},
		{Key: "throughput", Head: "throughput [95 %]", Right: true, Interval: true},
		{Key: "response", Head: "response", Right: true}, {Key: "errors", Head: "errors", Right: true},
		{Key: "model", Head: "model", Right: true, Tip: "throughput by the exact model of the queues"},
		{Key: "law", Head: "X(R+Z)/N", Right: true, Tip: "1 by the law of closed loops"}, {Key: "full", Head: "full", Wrap: 30},
	}}
	if len(f.Kept) > 0 {
		t.Columns = append(t.Columns, doc.Column{Key: "sla", Head: "SLA", Tip: "by the interval over trials"})
	}
	const beside = 5 // the errors
	unfinished := slices.ContainsFunc(f.Loads, func(l bottleneck.Load) bool { return l.Unfinished > 0 })
	if unfinished {
		t.Columns = slices.Insert(t.Columns, beside, doc.Column{Key: "unfinished", Head: "unfinished", Right: true, Tip: "operations without an end when the users left, of all trials; they are among the errors"})
	}
	for i, l := range f.Loads {
		scale := num.For("op/s", l.Throughput)
		x := doc.Of(l.Throughput, scale.Value(l.Throughput, 0)).As(doc.Strong)
		if l.CI != nil {
			x = doc.Of(l.Throughput, scale.Value(l.Throughput, 0)+" "+scale.Interval(max(0, l.CI.Lo), l.CI.Hi)).Within(l.CI.Lo, l.CI.Hi).As(doc.Strong)
		}
		full := fullWords(l)
		if l.Refused != "" {
			x, full = x.As(doc.Doubt), "says nothing: "+l.Refused
		}
		cells := []doc.Cell{doc.Int(l.Users), doc.Int(l.Trials), x, doc.Optional(l.Response, num.Seconds), doc.Optional(l.Errors, num.Fraction), doc.Optional(f.modelAt(l.Users), rate),
			doc.Optional(l.Law, func(v float64) string { return fmt.Sprintf("%.3f", v) }), doc.Say(full)}
		if unfinished {
			cells = slices.Insert(cells, beside, doc.Int(l.Unfinished))
		}
		if len(f.Kept) > 0 {
			cells = append(cells, prices.Kept(f.Kept[i].Kept))
		}
		t.Add(cells...)
	}
	return t
}

// modelAt is the model's throughput; nil: it was not solved.
func (f *Finding) modelAt(users int) *float64 {
	if f.Laws != nil {
		for _, p := range f.Laws.Points {
			if p.Users == users {
				return p.Model
			}
		}
	}
	return nil
}

// fullWords list what was full at a load, and what was at times.
func fullWords(l bottleneck.Load) string {
	var parts []string
	for _, u := range l.Usage {
		switch {
		case !l.Counts(u):
		case u.Full:
			parts = append(parts, u.String())
		case u.Partial:
			parts = append(parts, fmt.Sprintf("%s at times (%s)", u.String(), num.Fraction(u.Share)))
		}
	}
	return strings.Join(parts, ", ")
}

// demandsTable is a row for each resource.
func (f *Finding) demandsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "resource", Head: "resource"}, {Key: "below", Head: "demand below\nthe knee [95 %]", Right: true, Interval: true},
		{Key: "beyond", Head: "beyond it [95 %]", Right: true, Interval: true}, {Key: "limit", Head: "allows", Right: true},
	}}
	for _, d := range f.Laws.Demands {
		name, print := d.String(), num.Seconds
		switch {
		case d.Unit == bottleneck.UnitShare:
			name += " (whole tier)"
		case d.Kind.Link():
			print = func(v float64) string { return num.For(d.Unit, v).Value(v, 0) }
		}
		limit := d.Limit()
		t.Add(doc.Say(name), doc.Ranged(d.Below, d.BelowCI, print), doc.Ranged(d.Beyond, d.BeyondCI, print), doc.Of(limit, rate(limit)))
	}
	return t
}

// interactionsTable is a row for each interaction at the load that decided.
func (f *Finding) interactionsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "interaction", Head: "interaction"}, {Key: "rate", Head: "rate", Right: true}, {Key: "share", Head: "share", Right: true},
		{Key: "mean", Head: "mean", Right: true, Tip: "response time"}, {Key: "p95", Head: "p95", Right: true}, {Key: "errors", Head: "errors", Right: true},
	}}
	told := slices.ContainsFunc(f.Interactions, func(x Interaction) bool { return x.Served != nil })
	if told {
		t.Columns = slices.Insert(t.Columns, 4, doc.Column{Key: "served", Head: "mean of the\nfirst tier", Right: true, Tip: "response time that the first tier tells itself"})
	}
	for _, x := range f.Interactions {
		cells := []doc.Cell{doc.Say(x.Interaction), doc.Of(x.Rate, rate(x.Rate)), doc.Of(x.Share, num.Fraction(x.Share)),
			doc.Optional(x.Mean, num.Seconds), doc.Optional(x.P95, num.Seconds), doc.Of(x.Errors, num.Fraction(x.Errors))}
		if told {
			cells = slices.Insert(cells, 4, doc.Optional(x.Served, num.Seconds))
		}
		t.Add(cells...)
	}
	return t
}

// mostSuspects is how many signals are listed.
const mostSuspects = 10

func (f *Finding) suspectsTable() *doc.Table {
	const tip = "p of Spearman's correlation with what is lost, corrected after Benjamini and Hochberg"
	t := &doc.Table{Columns: []doc.Column{
		{Key: "tier", Head: "tier"}, {Key: "signal", Head: "signal"}, {Key: "rho", Head: "ρ", Right: true}, {Key: "q", Head: "q", Right: true, Tip: tip},
		{Key: "first", Head: "at the first load", Right: true}, {Key: "last", Head: "at the last", Right: true},
	}}
	for _, s := range f.Suspects[:min(mostSuspects, len(f.Suspects))] {
		scale := func(v float64) string { return num.For(s.Unit, v).Value(v, 0) }
		t.Add(doc.Say(s.Tier), doc.Say(s.Signal), doc.Of(s.Rho, fmt.Sprintf("%.2f", s.Rho)), doc.Of(s.Q, fmt.Sprintf("%.2g", s.Q)),
			doc.Optional(s.First, scale), doc.Optional(s.Last, scale))
	}
	return t
}

// about are the warnings about a configuration, and those about all.
func (r *Result) about(f *Finding) (out []string) {
	for _, w := range r.Warnings {
		name, text, _ := strings.Cut(w, ": ")
		switch {
		case name == f.Configuration:
			out = append(out, text)
		case !slices.ContainsFunc(r.Configurations, func(other Finding) bool { return other.Configuration == name }):
			out = append(out, w)
		}
	}
	return out
}

// data is the table for programs: a row for each configuration, load and resource.
func (r *Result) data() *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms("configuration", "users", "trials", "throughput", "throughput_lo", "throughput_hi", "response", "think", "errors", "worst_errors", "unfinished", "law", "worst_law", "model",
		"refused", "verdict", "pattern", "bottlenecks", "proof", "uncounted", "knee", "knee_lo", "knee_hi", "tier", "resource", "node", "utilisation", "full_share", "text", "warnings")}
	t.Columns = append(t.Columns, doc.ForPrograms(prices.Columns()...)...)
	for i := range r.Configurations {
		f := &r.Configurations[i]
		var knee, lo, hi *float64
		if k := f.Knee; k != nil {
			knee = &k.Users
			lo, hi = k.Ends()
		}
		proof := ""
		if f.Proof != nil {
			proof = string(f.Proof.Outcome)
		}
		loads := f.Loads
		if len(loads) == 0 { // all trials failed, which must be told
			loads = []bottleneck.Load{{Throughput: math.NaN()}}
		}
		for _, l := range loads {
			var from, to *float64
			if l.CI != nil {
				from, to = &l.CI.Lo, &l.CI.Hi
			}
			head := []any{f.Configuration, l.Users, l.Trials, l.Throughput, from, to, l.Response, l.Think,
				l.Errors, l.WorstErrors.Optional(), l.Unfinished, l.Law, l.WorstLaw.Optional(), f.modelAt(l.Users), l.Refused,
				string(f.Verdict), string(f.Pattern), strings.Join(f.names(""), "; "), proof, f.ExcludedFromRanking, knee, lo, hi}
			tail := append([]any{f.Text, strings.Join(r.about(f), "; ")}, r.Cost.Values(f.Configuration)...)
			if len(l.Usage) == 0 {
				t.Add(doc.Values(append(append(head, "", "", "", nil, nil), tail...)...)...)
			}
			for _, u := range l.Usage {
				row := append([]any{}, head...)
				row = append(row, u.Tier, string(u.Kind), string(u.Node), u.Mean, u.Share)
				t.Add(doc.Values(append(row, tail...)...)...)
			}
		}
	}
	return t
}
