package files

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// durations is the first column that has durations instead of numbers, or, with clocks, may
// have: 12:30:01 is rather a time of day, and 00:01:22 is not. -1: none has.
func (p *plan) durations(clocks bool) int {
	return slices.IndexFunc(p.columns, func(c column) bool {
		long, _ := duration(c.text)
		return long && c.kind == kindText && c.seen[kindNumber] == 0 && p.free(p.find(c.name)) &&
			(clocks || c.clocks == 0 || strings.HasPrefix(c.text, "00:"))
	})
}

// noValues is why no column has the measured values: the cell that is no number in the
// column that has the most of them, or that there are none.
func (p *plan) noValues() error {
	all := num.List(p.names(func(int) bool { return true }))
	out := p.wrong("no column has the measured values: none has numbers in its first rows", "the columns are "+all+
		"; choose one with --value")
	if i := p.durations(true); i >= 0 {
		c := &p.columns[i]
		out.Line, out.Col = c.textLine, c.textCol
		what := "durations"
		if c.clocks > 0 {
			what += " or times of day"
		}
		out.Problem = fmt.Sprintf("column %s has %s such as %q where numbers are expected", c.name, what, c.text)
		_, out.Allowed = duration(c.text)
		return out
	}
	if len(p.nested.keys) > 0 {
		out.Problem = "no column has the measured values: lists and objects are not read, which these keys hold: " +
			num.List(p.nested.keys)
		out.Allowed = p.nested.allowed(p.name)
		return out
	}
	most := 0
	for i := range p.columns {
		c := &p.columns[i]
		if n := c.numbers() + c.seen[kindQuantity]; n > most && c.text != "" && p.free(i) {
			most = n
			out.Line, out.Col = c.textLine, c.textCol
			out.Problem = fmt.Sprintf("no column has nothing but numbers: in column %s %s in the first rows, "+
				"and %q is none", c.name, num.Count(n, "number"), c.text)
			out.Allowed = "mend such cells, or leave them empty where nothing was measured; --value chooses a column"
		}
	}
	if most == 0 {
		p.withoutNumbers(out)
	}
	return out
}

// withoutNumbers says why no column has any number that may be a measured value.
func (p *plan) withoutNumbers(out *model.InputError) {
	names := slices.IndexFunc(p.columns, func(c column) bool { return c.kind.numeric() && c.tellsApart() })
	c, like := &p.columns[0], p.likeNumbers()
	switch {
	case len(p.columns) == 1 && spaces.MatchString(c.name) && spaces.MatchString(c.text):
		out.Problem, out.Allowed = "there is one column, and its cells seem to be separated by spaces",
			"separate them by commas, semicolons or tabs"
	case like >= 0:
		c = &p.columns[like]
		out.Line, out.Col = c.textLine, c.textCol
		out.Problem += fmt.Sprintf("; column %s has %q", c.name, c.text)
		out.Allowed = "use numbers, without anything before or behind but a unit; " + out.Allowed
	case names >= 0:
		out.Problem = fmt.Sprintf("no column has the measured values: the numbers of column %s are taken for names, "+
			"which tell rows apart", p.columns[names].name)
	}
}

// likeNumbers is the column in which cells are almost numbers, such as ¥1 and 1 (ok): one
// that is named as values are, or else the first; -1: there is none.
func (p *plan) likeNumbers() int {
	first := -1
	for i := range p.columns {
		switch c := &p.columns[i]; {
		case !p.free(i) || c.kind != kindText || c.text == "" || c.tellsApart() || c.ofSlashes():
		case c.named(valueNames):
			return i
		case first < 0 && !c.named(timeNames) && almostNumber.MatchString(c.text):
			first = i
		}
	}
	return first
}

// almostNumber is a number behind signs that are no part of it.
var almostNumber = regexp.MustCompile(`^[^\pL\d]*\d`)

// spaces are words with spaces between them.
var spaces = regexp.MustCompile(`\S\s+\S`)
