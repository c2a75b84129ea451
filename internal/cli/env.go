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
	"cmp"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
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
	// Size is how many columns and rows the terminal of Stdout has now, 0: it does not
	// tell; nil: there is none.
	Size func() (width, height int)
	// Live says that Stderr is a terminal, so that a line can be redrawn, of
	// LiveWidth columns; 0 if it does not tell.
	Live      bool
	LiveWidth int
	// Dumb says that the terminal takes no escape sequences, and ASCII that it
	// shows no other characters.
	Dumb, ASCII bool
	// Nowhere says that Stdout was closed, or leads nowhere as a pipe would not.
	Nowhere bool

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
	e.Nowhere = nowhere(out)
	kind := e.Getenv("TERM")
	e.Dumb = kind == "" || kind == "dumb"
	e.Live = e.Live && !e.Dumb
	e.ASCII = e.asciiOnly()
	e.Width, e.LiveWidth = columns(out), columns(errs)
	if e.Terminal {
		e.Size = func() (width, height int) {
			width, height, _ = tty.GetSize(int(out.Fd())) // 0 if it fails
			return width, height
		}
	}
	if e.Width == 0 {
		e.Width = render.PlainWidth
		if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
			e.Width = n
		}
	}
}

// nowhere reports whether a stream was closed when the program began: Go's runtime
// then opens the null device in its place, to read and write. So do some programs
// that do not want to see what others print; a shell opens it to write.
func nowhere(f *os.File) bool {
	own, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || !os.SameFile(own, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// lost takes what is printed to nowhere, and says so once.
type lost struct {
	errs io.Writer
	once sync.Once
}

func (l *lost) Write(p []byte) (int, error) {
	l.once.Do(func() {
		_, _ = io.WriteString(l.errs, "! standard output is closed or the null device: what is printed there is lost\n") // no other place to report
	})
	return len(p), nil
}

// asciiOnly reports whether the user's locale names a character set other than
// UTF-8. Where it names none, as in containers, terminals mostly know UTF-8.
func (e Env) asciiOnly() bool {
	locale := strings.ToLower(cmp.Or(e.Getenv("LC_ALL"), e.Getenv("LC_CTYPE"), e.Getenv("LANG")))
	_, charset, named := strings.Cut(locale, ".")
	charset, _, _ = strings.Cut(charset, "@")
	return locale == "c" || locale == "posix" || named && charset != "utf-8" && charset != "utf8"
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
	if e.Nowhere {
		e.Stdout = &lost{errs: e.Stderr}
	}
	out, errs := term.NewWriter(e.Stdout), term.NewWriter(e.Stderr).InASCII(e.ASCII)
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
