package capacity

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// reason says why a window was not passed: words about somebody, with figures.
type reason struct {
	// words is a format with a %s for who, if that is not empty, and one for each
	// figure. What follows a semicolon is more than a brief form says.
	words, who string
	figures    []figure
	// nodes are the generators that are to blame; none where it was all of them.
	nodes []model.NodeID
	// errors: it is about the share of errors; machine: about a generator's
	// machine, which the target may share.
	errors, machine bool
	// short is what of the SLA was not kept, as a figure has room for it; empty
	// for other reasons.
	short string
}

// figure is a value with its text.
type figure struct {
	value float64
	text  string
}

func share(x float64) figure         { return figure{x, num.Share(x)} }
func count(n int) figure             { return figure{float64(n), strconv.Itoa(n)} }
func took(d time.Duration) figure    { return figure{d.Seconds(), num.Brief(d)} }
func exactly(d time.Duration) figure { return figure{d.Seconds(), num.Exact(d)} }

// because is a reason that names no generator.
func because(words string, figures ...figure) *reason {
	return &reason{words: words, figures: figures}
}

// missed are the reasons for which a window breaks an SLA.
func missed(s load.SLA, w load.Window) (out []reason) {
	for _, miss := range s.Judge(w) {
		one := reason{words: "%s", who: miss.Text, short: "load not answered in time"}
		if t := miss.Term; t != nil && t.OnErrors() {
			one.errors, one.short = true, "errors "+num.Fraction(w.Share(w.Counts.Due-w.Counts.OK))
		} else if t != nil {
			one.short = load.Percentile(t.Quantile) + " not reached"
			if d, known := w.Latency(t.Quantile); known {
				one.short = load.Percentile(t.Quantile) + " " + num.Seconds(d.Seconds())
			}
		}
		out = append(out, one)
	}
	return out
}

func (r reason) String() string {
	var args []any
	if r.who != "" {
		args = append(args, r.who)
	}
	for _, f := range r.figures {
		args = append(args, f.text)
	}
	return fmt.Sprintf(r.words, args...)
}

// like reports whether two reasons differ in their figures only.
func (r reason) like(other reason) bool {
	return r.words == other.words && r.who == other.who && len(r.figures) == len(other.figures)
}

// merged is the reason of several that are like each other: of each figure the
// smallest and the largest.
func merged(all []reason) reason {
	out := all[0]
	out.figures = slices.Clone(out.figures)
	for i := range out.figures {
		byValue := func(a, b reason) int { return cmp.Compare(a.figures[i].value, b.figures[i].value) }
		lo, hi := slices.MinFunc(all, byValue).figures[i], slices.MaxFunc(all, byValue).figures[i]
		if lo.text != hi.text {
			out.figures[i].text = lo.text + " to " + hi.text
		}
	}
	return out
}

// texts are reasons for programs; nil without any.
func texts(all []reason) (out []string) {
	for _, r := range all {
		out = append(out, r.String())
	}
	return out
}

// reasons are why a window was not passed, the one that decided it.
func (j Assessment) reasons() []reason {
	switch {
	case j.RecordsLost != nil:
		return []reason{*j.RecordsLost}
	case len(j.Problems) > 0:
		return j.Problems[:1]
	case j.Backlog != nil:
		return []reason{*j.Backlog}
	case j.PathChange != nil && j.Verdict == Unusable:
		return []reason{*j.PathChange}
	}
	return j.Misses
}

// reason says why a window was not passed.
func (j Assessment) reason() string { return strings.Join(texts(j.reasons()), "; ") }

// briefReason is reason without what a problem means and what to do about it, which need
// be told only once.
func (j Assessment) briefReason() string {
	text := j.reason()
	if len(j.Problems) > 0 || j.RecordsLost != nil || j.Backlog != nil {
		text, _, _ = strings.Cut(text, ";")
	}
	return text
}
