package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// maxErrors bounds how many errors one file may report: more help nobody.
const maxErrors = 50

// Error is one thing that is wrong with a file.
type Error struct {
	File string
	// Line and Col count from 1, Col in characters; both are 0 for an error
	// that concerns the file as a whole or a flag.
	Line, Col int
	// Flag is the command-line override that is to blame; empty when the file
	// is.
	Flag string
	// Path is the key in the notation of --set; empty for the file as a whole.
	Path    string
	Problem string // what is wrong
	Allowed string // what is allowed; may be empty

	order int // of flags among themselves
}

// Error gives "file:line:col: path: what is wrong; what is allowed", with the
// flag in the place of the position where a flag is to blame.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Flag != "":
		fmt.Fprintf(&b, "%s: ", e.Flag)
	case e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Col)
	default:
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	b.WriteString(e.Problem)
	if e.Allowed != "" {
		fmt.Fprintf(&b, "; %s", e.Allowed)
	}
	return b.String()
}

// Unwrap makes the error a model.ErrUsage.
func (e *Error) Unwrap() error { return model.ErrUsage }

// Errors is all that is wrong with a file, by position, errors of flags last.
// It is a model.ErrUsage, and errors.As finds the single *Error in it.
type Errors []*Error

// Error gives one line for each error.
func (es Errors) Error() string {
	lines := make([]string, 0, len(es))
	for i, e := range es {
		if i == maxErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, len(es)-i))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single errors.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// pos is where a value or key stands: in the file, or in a flag.
type pos struct {
	line, col int
	flag      string
	order     int // of the flag
}

// where names the position in a sentence.
func (p pos) where() string {
	if p.flag != "" {
		return "in " + p.flag
	}
	return fmt.Sprintf("in line %d", p.line)
}

// problems collects errors on the way through a file.
type problems struct {
	file string
	list Errors
}

// add notes an error at a position.
func (p *problems) add(at pos, path []string, problem, allowed string) {
	problem = strings.TrimPrefix(problem, model.ErrUsage.Error()+": ") // every one is that
	e := &Error{File: p.file, Flag: at.flag, order: at.order, Path: strings.Join(path, "."), Problem: problem, Allowed: allowed}
	if at.flag == "" {
		e.Line, e.Col = at.line, at.col
	}
	p.list = append(p.list, e)
}

// err returns the errors in order, each once: an alias repeats the errors of
// what it stands for. It is nil when there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	seen := make(map[Error]bool, len(p.list))
	var out Errors
	for _, e := range p.list {
		key := *e
		if e.Line > 0 {
			key.Path = ""
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}
