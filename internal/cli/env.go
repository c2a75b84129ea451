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
	"strings"

	"golang.org/x/term"
)

// Env is the process as commands see it: tests replace it.
type Env struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	// Self is how to start this program again.
	Self string
	// Width is the terminal's width in columns, 0 if Stdout is not a terminal.
	// Live says that Stderr is a terminal, so that a line can be redrawn.
	Width int
	Live  bool
}

// OSEnv is the environment of this process.
func OSEnv() (Env, error) {
	self, err := os.Executable()
	if err != nil {
		return Env{}, err
	}
	e := Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Self: self,
		Live: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		e.Width = w
	}
	return e, nil
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
