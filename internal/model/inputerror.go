package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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
	kinds := ps.kinds()
	lines := make([]string, 0, min(len(kinds), MaxInputErrors+1))
	for i, alike := range kinds {
		if i == MaxInputErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more", alike[0].File, len(kinds)-i))
			break
		}
		lines = append(lines, alike.text())
	}
	return strings.Join(lines, "\n")
}

// kinds are the problems in their order, those together that say the same of a key
// of the same name.
func (ps InputErrors) kinds() (out []InputErrors) {
	at := make(map[InputError]int)
	for _, p := range ps {
		kind := InputError{File: p.File, Flag: p.Flag, Path: p.Path[strings.LastIndex(p.Path, ".")+1:], Problem: p.Problem, Allowed: p.Allowed}
		i, known := at[kind]
		if !known {
			i, at[kind] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], p)
	}
	return out
}

// text says a few problems that are alike each by itself, where an editor finds
// them, and many once.
func (ps InputErrors) text() string {
	const few, shown = 3, 5
	var lines, others []string
	for i, p := range ps {
		lines = append(lines, p.Error())
		if i > 0 && p.Line > 0 && len(others) < shown && !slices.Contains(others, strconv.Itoa(p.Line)) {
			others = append(others, strconv.Itoa(p.Line))
		}
	}
	if len(ps) <= few {
		return strings.Join(lines, "\n")
	}
	text := fmt.Sprintf("%s (the same %d times more", lines[0], len(ps)-1)
	if len(others) > 0 {
		text += ", first in line " + strings.Join(others, ", ")
	}
	return text + ")"
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
