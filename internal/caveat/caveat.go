// Package caveat is what speaks against a result, as data.
//
//  1. A package that knows of reasons to doubt has a table of definitions
//     ([Define], [Table]): for each a code, the type of its arguments, and the
//     text made of them.
//  2. While it computes, it adds a [Caveat]: code, severity, subject, arguments.
//     Decisions read these.
//  3. When the answer is complete, [Table.Fill] makes the text, once.
//
// A [Text] is for people: documents and JSON show it. A test on types refuses
// to compare, search, cut or convert one anywhere else (test/texts).
package caveat

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// Code says what it is in a word that does not change, for programs.
type Code string

// Text is a caveat in words: a sentence without its full stop. [Table.Fill] makes
// it.
type Text string

// Sentence is a sentence of a result that is no caveat, such as what a ranking says
// of a resource: it is made once, from numbers that stand beside it.
func Sentence(text string) Text { return Text(text) }

// Verbatim is text in arguments that was not made for it: a name in the input, an
// error of a program or of a computation, a reason that an agent gave. All other
// strings in arguments are enumerations or ids.
type Verbatim string

// Cause are arguments that say why something is not known: of what, and what a
// computation or an observation said.
type Cause struct {
	Of  Verbatim `json:"of,omitempty"`
	Why Verbatim `json:"why"`
}

// Because is a [Cause].
func Because(of, why string) Cause { return Cause{Verbatim(of), Verbatim(why)} }

// Subject is what a caveat is about. A field that is zero means all, or that it
// is not known.
type Subject struct {
	Run      model.RunID `json:"run,omitempty"` // of several, or one of other runs
	Workload string      `json:"workload,omitempty"`
	// Part is a part of the result by its own name: a metric, a tier.
	Part  string       `json:"part,omitempty"`
	Phase model.Phase  `json:"phase,omitempty"`
	Trial int          `json:"trial,omitempty"` // from 1
	Node  model.NodeID `json:"node,omitempty"`
	Steps []int        `json:"steps,omitempty"` // numbers of steps, from 0
}

// Caveat is one reason to doubt a result.
type Caveat struct {
	Code Code `json:"code"`
	// Severity is model.Info, model.Warning, which leaves the answer as it is, or
	// model.Problem, which could carry it: then the verdict is unknown.
	Severity model.Severity `json:"severity"`
	Text     Text           `json:"text"` // empty until Table.Fill
	Subject
	// Args are what the text is made of, of the type that the definition names. Numbers
	// are finite: JSON has no others.
	Args any `json:"args,omitempty"`
	// Explains is how much of the result it can explain at most, in the result's
	// own unit (points of a CDI); nil: not known.
	Explains *float64 `json:"explains,omitempty"`
}

// Same reports whether both say the same: the same thing with the same numbers
// and of the same weight, whatever part of the result they stand at.
func (c Caveat) Same(other Caveat) bool {
	return c.Code == other.Code && c.Severity == other.Severity && reflect.DeepEqual(c.Args, other.Args)
}

// SameDisturbance reports whether a caveat at a place is a disturbance of nodes: a
// study may know more of it than the platform. A workload has one of each kind.
func (c Caveat) SameDisturbance(d Caveat, place Subject) bool {
	if d.Workload == "" {
		return c.Same(d) && c.Node == d.Node && c.Run == d.Run
	}
	return c.Code == d.Code && c.Run == d.Run && cmp.Or(c.Workload, place.Workload) == d.Workload &&
		c.Phase == d.Phase && c.Trial == d.Trial && c.Node == d.Node
}

// List is the caveats of one result, in the order in which they were found.
type List []Caveat

// Add appends caveats, each unless one in the list says the same about the same
// subject.
func (l *List) Add(all ...Caveat) {
	for _, c := range all {
		if !slices.ContainsFunc(*l, func(have Caveat) bool {
			return c.Same(have) && reflect.DeepEqual(c.Subject, have.Subject)
		}) {
			*l = append(*l, c)
		}
	}
}

// Problem reports whether one of them leaves no verdict.
func (l List) Problem() bool {
	return slices.ContainsFunc(l, func(c Caveat) bool { return c.Severity == model.Problem })
}

// Ordered has problems first, and is never nil: contracts have an array.
func (l List) Ordered() List {
	weight := func(c Caveat) int {
		if c.Severity == model.Problem {
			return 0
		}
		return 1
	}
	out := append(List{}, l...)
	slices.SortStableFunc(out, func(a, b Caveat) int { return weight(a) - weight(b) })
	return out
}

// Texts are those of caveats that [Table.Fill] has filled, each once; never nil.
func (l List) Texts() []Text {
	out, seen := make([]Text, 0, len(l)), make(map[Text]bool)
	for _, c := range l {
		if !seen[c.Text] {
			seen[c.Text] = true
			out = append(out, c.Text)
		}
	}
	return out
}
