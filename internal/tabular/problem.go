package tabular

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MostProblems is how many problems of a file are kept and reported in full;
// more are counted.
const MostProblems = 50

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	// Line and Col count from 1, Col in characters; both are 0 for a problem
	// of the file as a whole.
	Line, Col int
	Text      string // what is wrong
	Allowed   string // what is allowed; may be empty
}

// Error gives "file:line:col: what is wrong; what is allowed".
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	b.WriteString(": " + p.Text)
	if p.Allowed != "" {
		b.WriteString("; " + p.Allowed)
	}
	return b.String()
}

// Problems is all that is wrong with a file, by position.
type Problems struct {
	List []*Problem
	More int // how many there are beside those in List
}

// add keeps a problem, or counts it.
func (ps *Problems) add(p *Problem) {
	if len(ps.List) == MostProblems {
		ps.More++
		return
	}
	ps.List = append(ps.List, p)
}

// sort puts the problems in the order of their positions.
func (ps *Problems) sort() {
	slices.SortStableFunc(ps.List, func(a, b *Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) })
}

// Error lists the problems, one a line.
func (ps *Problems) Error() string {
	lines := make([]string, 0, len(ps.List)+1)
	for _, p := range ps.List {
		lines = append(lines, p.Error())
	}
	if ps.More > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", ps.List[0].File, ps.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As see each problem.
func (ps *Problems) Unwrap() []error {
	out := make([]error, len(ps.List))
	for i, p := range ps.List {
		out[i] = p
	}
	return out
}
