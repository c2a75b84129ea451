package model

import (
	"fmt"
	"slices"
)

// Doubt is something that speaks against a result, for programs and for people.
type Doubt struct {
	// Code says what it is in a word that does not change: "steal", "overlap".
	Code string `json:"code"`
	// Severity is Warning, which leaves the answer as it is, or Problem, which
	// could carry it: then the verdict is unknown, and gates refuse.
	Severity Severity `json:"severity"`
	// Text says all of it in a sentence without its full stop.
	Text string `json:"text"`
	// Workload, Phase, Trial and Node say where it was worst; zero where it is
	// everywhere, or not known.
	Workload string `json:"workload,omitempty"`
	Phase    Phase  `json:"phase,omitempty"`
	Trial    int    `json:"trial,omitempty"`
	Node     NodeID `json:"node,omitempty"`
	// Steps are the numbers of the steps in which it was, from 0; empty where it is
	// everywhere, or not known.
	Steps []int `json:"steps,omitempty"`
	// Explains is how much of the result it could explain at most, in the
	// result's own unit (points of a CDI); nil: not known.
	Explains *float64 `json:"explains,omitempty"`
}

// Doubts are what speaks against a result, in the order in which it is told,
// each text once.
type Doubts []Doubt

// Warn adds what leaves the answer as it is; the code tells programs what it is.
func (d *Doubts) Warn(code, format string, args ...any) {
	d.Add(Doubt{Code: code, Severity: Warning, Text: fmt.Sprintf(format, args...)})
}

// Problem adds what could carry the answer.
func (d *Doubts) Problem(code, format string, args ...any) {
	d.Add(Doubt{Code: code, Severity: Problem, Text: fmt.Sprintf(format, args...)})
}

// Add adds a doubt, unless its text was told already.
func (d *Doubts) Add(one Doubt) {
	if !slices.ContainsFunc(*d, func(o Doubt) bool { return o.Text == one.Text }) {
		*d = append(*d, one)
	}
}

// Texts are what doubts say, in their order, each once; never nil, because
// contracts have an array.
func Texts(doubts []Doubt) []string {
	out, seen := make([]string, 0, len(doubts)), make(map[string]bool)
	for _, d := range doubts {
		if !seen[d.Text] {
			seen[d.Text] = true
			out = append(out, d.Text)
		}
	}
	return out
}
