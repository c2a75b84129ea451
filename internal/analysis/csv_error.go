package analysis

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// maxCSVErrors bounds how many errors one file may report.
const maxCSVErrors = 50

// CSVError is one thing that is wrong with a CSV file.
type CSVError struct {
	File string
	// Line and Col count from 1, Col in characters; both are 0 for an error
	// that concerns the file as a whole.
	Line, Col int
	Problem   string // what is wrong
	Allowed   string // what is allowed; may be empty
}

// Error gives "file:line:col: what is wrong; what is allowed".
func (e *CSVError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	b.WriteString(": " + e.Problem)
	if e.Allowed != "" {
		b.WriteString("; " + e.Allowed)
	}
	return b.String()
}

// compare orders errors by position.
func (e *CSVError) compare(other *CSVError) int {
	return cmp.Or(cmp.Compare(e.Line, other.Line), cmp.Compare(e.Col, other.Col))
}

// Unwrap makes the error a model.ErrUsage.
func (e *CSVError) Unwrap() error { return model.ErrUsage }

// CSVErrors is all that is wrong with a file, one a line, by position.
type CSVErrors []*CSVError

// Error lists the errors, the first 50 in full.
func (es CSVErrors) Error() string {
	lines := make([]string, 0, len(es))
	for i, e := range es {
		if i == maxCSVErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, len(es)-i))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As see each error.
func (es CSVErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
