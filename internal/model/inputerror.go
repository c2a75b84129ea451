package model

import (
	"errors"
	"fmt"
	"strings"
)

// InputError is one thing that is wrong with what a user wrote: a file, a flag, a
// parameter. It is an ErrUsage. What is not known is left empty: a workload
// knows the key, and the reader of the file adds its place.
type InputError struct {
	File string
	// Line and Col count from 1, Col in characters; both are 0 for a problem of
	// the file as a whole, or of a flag.
	Line, Col int
	// Flag is the command-line flag that is to blame; empty when the file is.
	Flag string
	// Path is the key, in the notation of --set: "workloads.cpu.threads".
	Path    string
	Problem string // what is wrong
	Allowed string // what is allowed, or what to do; may be empty
}

// Error gives "file:line:col: path: what is wrong; what is allowed", with the
// flag in the place of the position where a flag is to blame.
func (p *InputError) Error() string {
	var b strings.Builder
	switch {
	case p.Flag != "":
		fmt.Fprintf(&b, "%s: ", p.Flag)
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Col)
	case p.File != "":
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.Path)
	}
	b.WriteString(p.Problem)
	if p.Allowed != "" {
		fmt.Fprintf(&b, "; %s", p.Allowed)
	}
	return b.String()
}

// Unwrap makes every problem an ErrUsage.
func (p *InputError) Unwrap() error { return ErrUsage }

// MaxInputErrors bounds how many problems one message reports: more do not help.
const MaxInputErrors = 50

// InputErrors are all that is wrong with something, in order. errors.As finds the
// single *InputError in them.
type InputErrors []*InputError

// Error gives one line for each problem.
func (ps InputErrors) Error() string {
	lines := make([]string, 0, min(len(ps), MaxInputErrors+1))
	for i, p := range ps {
		if i == MaxInputErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more", p.File, len(ps)-i))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single problems.
func (ps InputErrors) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// Single returns the errors that are joined in err, each by itself, or err
// alone; nothing for nil. Where none is an *InputError, err stays whole.
func Single(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if _, ok := errors.AsType[*InputError](err); !ok || !errors.As(err, &joined) {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		if one != ErrUsage { //nolint:errorlint // the bare kind says nothing
			all = append(all, Single(one)...)
		}
	}
	return all
}
