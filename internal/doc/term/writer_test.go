package term

import (
	"strings"
	"testing"
)

// hostile has everything that must not reach a terminal, and text around it.
const hostile = "a\x1b]0;owned\x07\x1b[2J\x1b[33mb\r\x00\u009b2J\u202e\xff\xef\xe2\x82c\n\td\u20ac\ufffd"

const harmless = `a\x1b]0;owned\x07\x1b[2J\x1b[33mb\x0d\x00\u009b2J\u202e\xff\xef\xe2\x82c` + "\n\td€\ufffd"

// What passes is the same however the text is cut into pieces.
func TestWriter(t *testing.T) {
	for size := 1; size <= len(hostile); size++ {
		var b strings.Builder
		w := NewWriter(&b)
		for rest := hostile; rest != ""; {
			n := min(size, len(rest))
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("Write = %d, %v, want %d", got, err, n)
			}
			rest = rest[n:]
		}
		if b.String() != harmless {
			t.Fatalf("in pieces of %d: %q, want %q", size, b.String(), harmless)
		}
	}
}

func TestWriterFlushesAnUnfinishedCharacter(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b)
	if _, err := w.Write([]byte("a\xe2\x82")); err != nil || b.String() != "a" {
		t.Fatalf("wrote %q, %v, want a", b.String(), err)
	}
	for range 2 {
		if err := w.Flush(); err != nil || b.String() != `a\xe2\x82` {
			t.Fatalf("flushed %q, %v", b.String(), err)
		}
	}
}

// A painted writer passes what Paint makes, and no other sequence.
func TestPaintedWriter(t *testing.T) {
	var b strings.Builder
	w := NewPaintedWriter(&b)
	var want strings.Builder
	for _, s := range []Style{Strong, Faint, Good, Bad, Note} {
		want.WriteString(Paint("x", s))
	}
	if _, err := w.Write([]byte(want.String() + "\x1b[8mhidden\x1b[2Jx\x1b[")); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != want.String()+`\x1b[8mhidden\x1b[2Jx\x1b[` {
		t.Errorf("wrote %q", got)
	}
}
