package scaleout

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/scalability"
)

// shown is a throughput for people.
func (r *Result) shown(v float64) string { return r.scale.Value(v, 0) }

// number is a throughput without its unit.
func (r *Result) number(v float64) string { return r.scale.Number(v, 0) }

func bytesPerSecond(v float64) string { return num.Human(v, "B/s") }

// paths are the shared resources for people.
var paths = map[Bottleneck]string{
	model.ResourceObjectPut: "the store's incoming path", model.ResourceObjectGet: "the store's outgoing path",
	model.ResourceNetworkReceive: "the network to the nodes", model.ResourceNetworkSend: "the network from the nodes",
}

// words say what the bottleneck is.
func (b Bottleneck) words() string {
	switch b {
	case OwnProcessors:
		return "the nodes' own processors"
	case Machine:
		return "the machine that the nodes share"
	case Queue:
		return "the queue"
	case None:
		return "none yet"
	case Unknown:
		return "unknown"
	}
	return paths[b]
}

func (b Bottleneck) tag() doc.Tag {
	tone := doc.Bad
	switch b {
	case OwnProcessors:
		tone = doc.Note
	case None:
		tone = doc.Good
	case Unknown:
		tone = doc.Doubt
	}
	return doc.Tag{Word: "bottleneck: " + b.words(), Tone: tone}
}

// sentence is the answer for a manager.
func (r *Result) sentence() string {
	if len(r.Sizes) == 0 {
		return "No fleet was measured completely."
	}
	large := r.largest()
	text := fmt.Sprintf("%s %s", num.Do(large.Nodes, "node"), r.shown(large.Rate))
	switch fewer := r.enough(); {
	case fewer.Nodes == large.Nodes || r.Bottleneck == OwnProcessors:
	case large.Rate < declined*fewer.Rate:
		text += fmt.Sprintf(", and %s %s", num.Do(fewer.Nodes, "node"), r.shown(fewer.Rate))
	default:
		text += fmt.Sprintf(", and %d would do as well", fewer.Nodes)
	}
	text += r.ending() + "."
	if large.Lower != nil {
		text += fmt.Sprintf(" Predicted before: %s to %s.", r.number(*large.Lower), r.number(*large.Upper))
	}
	return text
}

// ending says why growth ends, or that it does not.
func (r *Result) ending() string {
	switch b := r.Bottleneck; b {
	case OwnProcessors:
		if r.machineBusy() {
			return ": growth did not end, but the machine that the nodes share is nearly saturated"
		}
		return ": more nodes do more, because their own processors are the bottleneck"
	case None:
		return ": growth was not seen to end"
	case Unknown:
		return r.curveWords()
	default:
		return ": " + r.bound() + " is the bottleneck"
	}
}

// bound is the bottleneck with its capacity: of several that which is nearest to its end.
func (r *Result) bound() string {
	var at *Use
	for i, u := range r.Uses {
		if Bottleneck(u.Resource) == r.Bottleneck && u.Use != nil && (at == nil || *u.Use > *at.Use) {
			at = &r.Uses[i]
		}
	}
	switch {
	case at == nil:
		return r.Bottleneck.words()
	case at.Unit == observe.CallRate:
		return "the store's rate of requests (" + at.quantity().amount(at.Capacity.Value) + ")"
	}
	return r.Bottleneck.words() + " (" + at.quantity().amount(at.Capacity.Value) + ")"
}

// curveWords say what the curve alone shows.
func (r *Result) curveWords() string {
	large := r.largest().Nodes
	switch {
	case r.curves == nil:
		return ""
	case r.Kind == scalability.Linear:
		return ": growth was not seen to end"
	case r.Kind == scalability.Unclear && r.bounded():
		return strings.TrimSuffix(fmt.Sprintf(": growth ends between %s and %s %s", r.number(*r.PlateauCI[0]),
			r.number(*r.PlateauCI[1]), r.scale.Unit), " ")
	case r.Kind == scalability.Unclear:
		return ": the data do not show what kind of growth it is"
	case r.Peak != nil && *r.Peak < float64(large):
		return fmt.Sprintf(": throughput falls beyond %s", num.Count(int(*r.Peak+.5), "node"))
	case r.Plateau != nil:
		return fmt.Sprintf(": growth ends at %s", r.shown(*r.Plateau))
	}
	return ""
}

// bounded reports whether the fleet is known to have come near a plateau.
func (r *Result) bounded() bool {
	ci := r.PlateauCI
	return ci != nil && ci[0] != nil && ci[1] != nil && r.largest().Rate > poorEfficiency**ci[1]
}

// more is what else a reader needs for a decision.
func (r *Result) more() (out []string) {
	if r.Plateau != nil && r.Knee != nil && r.Bottleneck != None && r.Bottleneck != OwnProcessors {
		out = append(out, fmt.Sprintf("Plateau: %s %s. Knee: %s nodes %s. Curve: %s.", r.shown(*r.Plateau),
			r.ends(r.PlateauCI), num.Digits(*r.Knee, 3), endsText(r.KneeCI, digits), r.Kind))
	}
	if t := r.Target; t != nil {
		out = append(out, r.targetWords(t))
	}
	return out
}

// ends are those of an interval of throughputs for people.
func (r *Result) ends(ci *Ends) string { return endsText(ci, r.number) }

func digits(v float64) string { return num.Digits(v, 3) }

func endsText(ci *Ends, print func(float64) string) string {
	if ci == nil {
		return ""
	}
	side := func(v *float64) string { return num.Optional(v, print) }
	switch {
	case ci[0] == nil && ci[1] == nil:
		return ""
	case ci[1] == nil:
		return "[" + side(ci[0]) + " or more]"
	}
	return "[" + side(ci[0]) + " .. " + side(ci[1]) + "]"
}

// targetWords say what the target takes.
func (r *Result) targetWords(t *Target) string {
	cost := ""
	if t.Hourly != nil {
		cost = fmt.Sprintf(", %s %s an hour", num.Digits(*t.Hourly, 3), r.Currency)
	}
	var raise []string
	for _, n := range t.Limits {
		if n.lacks() {
			name := n.Resource
			if name == string(Machine) {
				name = Machine.words()
			}
			raise = append(raise, fmt.Sprintf("%s to at least %s", name, n.quantity().amount(n.Needed)))
		}
	}
	wanted := r.shown(t.Rate)
	switch {
	case len(raise) > 0 && t.Nodes == nil:
		return fmt.Sprintf("No number of nodes does %s. Raise %s; then it takes at least %s%s.", wanted,
			strings.Join(raise, " and "), nodesText(t.Raised), cost)
	case t.Nodes != nil:
		text := strings.TrimSpace(nodesText(t.Nodes) + " " + endsText(t.NodesCI, digits))
		text = fmt.Sprintf("%s takes %s%s.", wanted, text, cost)
		if n := t.Reached; n != nil && float64(*n) > *t.Nodes {
			text += fmt.Sprintf(" That lies between sizes that were measured: %s did it.", num.Count(*n, "node"))
		}
		return text
	case t.Raised != nil:
		text := "No number of nodes does " + wanted
		if ci := t.NodesCI; ci != nil && ci[0] != nil { // a curve that is plausible reaches it
			text = fmt.Sprintf("The data do not show whether any number of nodes does %s. Fewer than %s do not", wanted,
				nodesText(ci[0]))
		}
		return fmt.Sprintf("%s. Once %s is raised, it takes at least %s%s.", text, r.raised(), nodesText(t.Raised), cost)
	}
	return "How many nodes do " + wanted + " is not known: no fleet did it, and no curve was fitted."
}

func nodesText(n *float64) string {
	return num.Optional(n, func(v float64) string { return num.Count(int(v), "node") })
}

// raised is what a target needs more of.
func (r *Result) raised() string {
	if r.Bottleneck == Unknown || r.Bottleneck == None {
		return "the bottleneck"
	}
	return r.Bottleneck.words()
}
