package ntier

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/prices"
	"github.com/scalebench/scalebench/internal/stats"
)

// loadsTable is a row for each number of users.
func (f *Finding) loadsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Number("users", "users"), doc.Number("trials", "trials"), doc.Interval("throughput", "throughput [95 %]"),
		doc.Number("response", "response"), doc.Number("errors", "errors"),
		doc.Number("unfinished", "unfinished",
			"operations without an end when the users left, of all trials; they are among the errors"),
		doc.Number("model", "model", "throughput by the exact model of the queues"),
		doc.Number("law", "X(R+Z)/N", "1 by the law of closed loops"), {Key: "full", Head: "full", Wrap: 30},
		doc.Label("sla", "SLA", "by the interval over trials"),
	}}
	unfinished := 0
	for _, l := range f.Loads {
		x := doc.Of(l.Throughput, rate(l.Throughput)).As(doc.Strong)
		if l.CI != nil {
			x.Lines[0] += " " + num.For("op/s", l.Throughput).Interval(max(0, l.CI.Lo), l.CI.Hi)
			x = x.Within(l.CI.Lo, l.CI.Hi)
		}
		full := fullWords(l)
		if l.Refused != "" {
			x, full = x.As(doc.Doubt), "says nothing: "+l.Refused
		}
		unfinished += l.Unfinished
		kept, _ := f.keeps(l.Users)
		t.Add(doc.Int(l.Users), doc.Int(l.Trials), x, doc.Optional(l.Response, num.Seconds),
			doc.Optional(l.Errors, num.Fraction),
			doc.Int(l.Unfinished), doc.Optional(f.modelAt(l.Users), rate),
			doc.Optional(l.Law, func(v float64) string { return fmt.Sprintf("%.3f", v) }), doc.Say(full), prices.Kept(kept))
	}
	t.Drop(func(key string) bool {
		return key == "unfinished" && unfinished == 0 || key == "sla" && len(f.Kept) == 0
	})
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
			parts = append(parts, fmt.Sprintf("%s at times (%s)", u, num.Fraction(u.Share)))
		}
	}
	return strings.Join(parts, ", ")
}

// demandsTable is a row for each resource.
func (f *Finding) demandsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("resource", "resource"), doc.Interval("below", "demand below\nthe knee [95 %]"),
		doc.Interval("beyond", "beyond it [95 %]"), doc.Number("limit", "allows"),
	}}
	for _, d := range f.Laws.Demands {
		name, print := d.String(), num.Seconds
		switch {
		case d.Unit == bottleneck.UnitShare:
			name += " (whole tier)"
		case d.Kind.Link():
			print = func(v float64) string { return num.For(d.Unit, v).Value(v, 0) }
		}
		t.Add(doc.Say(name), doc.Ranged(d.Below, d.BelowCI, print), doc.Ranged(d.Beyond, d.BeyondCI, print),
			doc.Of(d.Limit(), rate(d.Limit())))
	}
	return t
}

// interactionsTable is a row for each interaction at the load that decided.
func (f *Finding) interactionsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("interaction", "interaction"), doc.Number("rate", "rate"), doc.Number("share", "share"),
		doc.Number("mean", "mean", "response time"),
		doc.Number("served", "mean of the\nfirst tier", "response time that the first tier tells itself"),
		doc.Number("p95", "p95"), doc.Number("errors", "errors"),
	}}
	served := false
	for _, x := range f.Interactions {
		served = served || x.Served != nil
		t.Add(doc.Say(x.Interaction), doc.Of(x.Rate, rate(x.Rate)), doc.Of(x.Share, num.Fraction(x.Share)),
			doc.Optional(x.Mean, num.Seconds),
			doc.Optional(x.Served, num.Seconds), doc.Optional(x.P95, num.Seconds), doc.Of(x.Errors, num.Fraction(x.Errors)))
	}
	t.Drop(func(key string) bool { return key == "served" && !served })
	return t
}

// mostSuspects is how many signals are listed.
const mostSuspects = 10

func (f *Finding) suspectsTable() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("tier", "tier"), doc.Label("signal", "signal"), doc.Number("rho", "ρ"),
		doc.Number("q", "q", "p of Spearman's correlation with what is lost, corrected after Benjamini and Hochberg"),
		doc.Number("first", "at the first load"), doc.Number("last", "at the last"),
	}}
	for _, s := range f.Suspects[:min(mostSuspects, len(f.Suspects))] {
		scale := func(v float64) string { return num.For(s.Unit, v).Value(v, 0) }
		t.Add(doc.Say(s.Tier), doc.Say(s.Signal), doc.Of(s.Rho, fmt.Sprintf("%.2f", s.Rho)), doc.Of(s.Q, fmt.Sprintf("%.2g", s.Q)),
			doc.Optional(s.First, scale), doc.Optional(s.Last, scale))
	}
	return t
}

// data is the table for programs: a row for each configuration, load and resource.
func (r *Result) data() *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms("configuration", "users", "trials", "throughput", "throughput_lo",
		"throughput_hi",
		"response", "think", "errors", "worst_errors", "unfinished", "law", "worst_law", "model", "refused",
		"verdict", "pattern", "bottlenecks", "proof", "uncounted", "knee", "knee_lo", "knee_hi",
		"tier", "resource", "node", "utilisation", "full_share", "text", "warnings")}
	t.Columns = append(t.Columns, doc.ForPrograms(prices.Columns()...)...)
	none := math.NaN() // which is no value
	for i := range r.Configurations {
		f := &r.Configurations[i]
		knee := cmp.Or(f.Knee, &bottleneck.Knee{Users: none, AtMost: true, AtLeast: true})
		lo, hi := knee.Ends()
		proof := cmp.Or(f.Proof, &bottleneck.Proof{}).Outcome
		tail := append([]any{f.Text, strings.Join(r.about(f), "; ")}, r.costValues(f)...)
		loads := f.Loads
		if len(loads) == 0 { // all trials failed, which must be seen
			loads = []bottleneck.Load{{Throughput: none}}
		}
		for _, l := range loads {
			ci := cmp.Or(l.CI, &stats.Interval{Lo: none, Hi: none})
			usage := l.Usage
			if len(usage) == 0 {
				usage = []bottleneck.Usage{{Mean: none, Share: none}}
			}
			for _, u := range usage {
				row := []any{f.Configuration, l.Users, l.Trials, l.Throughput, ci.Lo, ci.Hi, l.Response, l.Think, l.Errors,
					l.WorstErrors.Optional(),
					l.Unfinished, l.Law, l.WorstLaw.Optional(), f.modelAt(l.Users), l.Refused, f.Verdict, f.Pattern,
					strings.Join(f.names(""), "; "),
					proof, f.ExcludedFromRanking, knee.Users, lo, hi, u.Tier, u.Kind, u.Node, u.Mean, u.Share}
				t.Add(doc.Values(append(row, tail...)...)...)
			}
		}
	}
	return t
}

// costValues are the cells of what a configuration costs.
func (r *Result) costValues(f *Finding) []any {
	for _, c := range r.CostByMix {
		if c.Mix == f.Mix {
			return c.Values(f.Configuration)
		}
	}
	return r.Cost.Values(f.Configuration)
}

// about are the warnings about a configuration, and those about all.
func (r *Result) about(f *Finding) (out []string) {
	for _, w := range r.warned {
		if w.of == "" || w.of == f.Configuration {
			out = append(out, w.text)
		}
	}
	return out
}
