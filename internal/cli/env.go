// Package cli is what a person types: commands, configuration, wiring. It is
// the only package that knows all the others, and it wires them by explicit
// constructors.
//
// The way of one command: [Main] builds the command tree; a command reads its
// flags into a small struct and calls a function that takes a context and that
// struct; the function gets a service (connect.go) and prints with package
// report. Errors are mapped to exit codes in one place (exit.go).
package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	tty "golang.org/x/term"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// Env is the process as commands see it: tests replace it.
type Env struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	// Self is how to start this program again.
	Self string
	// Width is how many columns tables and sentences on Stdout may take, 0: no
	// limit. Terminal says that Stdout is a terminal.
	Width    int
	Terminal bool
	// Live says that Stderr is a terminal, so that a line can be redrawn, of
	// LiveWidth columns; 0 if it does not tell.
	Live      bool
	LiveWidth int

	// rawOut and rawErr are the streams as they came, for what other programs
	// print and for what redraws a line; see guarded.
	rawOut, rawErr io.Writer
}

// OSEnv is the environment of this process.
func OSEnv() (Env, error) {
	self, err := os.Executable()
	if err != nil {
		return Env{}, err
	}
	e := Env{Args: os.Args[1:], Environ: os.Environ(), Self: self}
	e.connect(os.Stdin, os.Stdout, os.Stderr)
	return e, nil
}

// connect sets the standard streams, and what they are.
func (e *Env) connect(in, out, errs *os.File) {
	e.Stdin, e.Stdout, e.Stderr = in, out, errs
	e.Terminal, e.Live = tty.IsTerminal(int(out.Fd())), tty.IsTerminal(int(errs.Fd()))
	e.Width, e.LiveWidth = columns(out), columns(errs)
	if e.Width == 0 {
		e.Width = render.PlainWidth
		if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
			e.Width = n
		}
	}
}

// columns is how wide a terminal is; 0 if f is none, or does not tell.
func columns(f *os.File) int {
	w, _, err := tty.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}

// guarded returns the environment with a guard before each output, so that
// nothing from outside steers a terminal, whatever command prints it. What
// flush has to say comes last.
func (e Env) guarded() (guarded Env, flush func()) {
	out, errs := term.NewWriter(e.Stdout), term.NewWriter(e.Stderr)
	e.rawOut, e.rawErr = e.Stdout, e.Stderr
	e.Stdout, e.Stderr = out, errs
	return e, func() { _, _ = out.Flush(), errs.Flush() } // no other place to report
}

// Getenv returns the value of an environment variable, empty if unset.
func (e Env) Getenv(name string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}
