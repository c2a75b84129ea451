package term

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// Writer passes text on to a terminal, or to what may end on one, and writes
// out what Clean does; line ends and tabs stay. It is the last guard: texts
// from outside are cleaned where they are laid out, and what was forgotten
// there stops here.
type Writer struct {
	to      io.Writer
	painted bool
	ascii   bool
	mu      sync.Mutex
	rest    []byte // the beginning of a character that the next Write completes
}

// NewWriter returns a writer that passes no escape sequence.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// NewPaintedWriter returns a writer that passes the sequences of Paint, and no
// others. A sequence must be written at once.
func NewPaintedWriter(to io.Writer) *Writer { return &Writer{to: to, painted: true} }

// InASCII makes the writer write as [ASCII] does, if so, and returns it.
func (w *Writer) InASCII(so bool) *Writer {
	w.ascii = so
	return w
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
	}
	whole := len(text) - partial(text)
	if _, err := w.to.Write(w.cleaned(text[:whole])); err != nil {
		return 0, err
	}
	w.rest = bytes.Clone(text[whole:])
	return len(p), nil
}

// Flush writes out the beginning of a character that was never completed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(w.cleaned(w.rest))
	w.rest = nil
	return err
}

// partial is how many bytes at the end of text begin a character.
func partial(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (w *Writer) cleaned(text []byte) []byte {
	if w.ascii {
		text = []byte(ASCII(string(text)))
	}
	if !bytes.ContainsFunc(text, func(r rune) bool { return Unsafe(r) && r != '\n' && r != '\t' }) {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case w.painted && r == '\x1b' && style(text) > 0:
			size = style(text)
			out = append(out, text[:size]...)
		case r == '\n', r == '\t', r == utf8.RuneError && size > 1, !Unsafe(r):
			out = append(out, text[:size]...)
		default:
			out = appendOut(out, r, text[0], r == utf8.RuneError)
		}
		text = text[size:]
	}
	return out
}

// sequences are what Paint writes.
var sequences = func() [][]byte {
	out := [][]byte{[]byte(reset)}
	for _, s := range []Style{Strong, Faint, Good, Bad, Note, High} {
		out = append(out, []byte(s.sequence()))
	}
	return out
}()

// style is how long the sequence of Paint is with which text begins; 0 if there
// is none.
func style(text []byte) int {
	if i := slices.IndexFunc(sequences, func(s []byte) bool { return bytes.HasPrefix(text, s) }); i >= 0 {
		return len(sequences[i])
	}
	return 0
}
