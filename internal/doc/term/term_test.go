package term

import (
	"strings"
	"testing"
	"unicode"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain, Grüße, 日本": "plain, Grüße, 日本",
		"\x1b[2J":          `\x1b[2J`,
		"a\nb\tc\rd":       `a\nb\tc\x0dd`,
		"\u202egnp.exe":    `\u202egnp.exe`,
		"bad \xff byte":    `bad \xff byte`,
		"\u0085 next line": `\u0085 next line`,
		"\u2028 \ufeff":    `\u2028 \ufeff`,
		"zero\x00":         `zero\x00`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "é": 1, "e\u0301": 1, "日本": 4, "±": 1, "…": 1} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain\x1b[31m\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("Clean(%q) = %q, has %U", s, got, r)
			}
		}
		if again := Clean(got); again != got {
			t.Fatalf("Clean(Clean(%q)) = %q, want %q", s, again, got)
		}
	})
}

// A number keeps its unit, as far as there is room.
func TestWrapKeepsUnits(t *testing.T) {
	const text = "by 0 %, 12.5 MB/s (± 4.89 ms) or 3 nodes"
	for limit, want := range map[int]string{
		5:  "by|0 %,|12.5|MB/s|(±|4.89|ms)|or 3|nodes",
		12: "by 0 %,|12.5 MB/s|(± 4.89 ms)|or 3 nodes",
		20: "by 0 %, 12.5 MB/s|(± 4.89 ms) or 3|nodes",
	} {
		if got := strings.Join(Wrap(text, limit), "|"); got != want {
			t.Errorf("Wrap at %d = %s, want %s", limit, got, want)
		}
	}
}

// Wrapped text has the same words and no line beyond the limit.
func FuzzWrap(f *testing.F) {
	f.Add("some words to be wrapped, averyveryverylongone too", 12)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s, limit = Clean(s), 2+abs(limit%80)
		lines := Wrap(s, limit)
		for _, l := range lines {
			if Width(l) > limit {
				t.Fatalf("Wrap(%q, %d) has line %q of %d columns", s, limit, l, Width(l))
			}
		}
		got, want := strip(strings.Join(lines, "")), strip(s)
		if got != want {
			t.Fatalf("Wrap(%q, %d) = %q: text lost", s, limit, lines)
		}
	})
}

func strip(s string) string { return strings.Join(strings.Fields(s), "") }

func abs(n int) int { return max(n, -n) }

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"日本語", 4, "日…"}, {"日本", 2, "…"}, {"ab", 1, "…"}, {"ab", 0, ""}} {
		if got := Cut(c.in, c.limit); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestPaint(t *testing.T) {
	if got := Paint("bad", Bad); got != "\x1b[1;33mbad\x1b[0m" {
		t.Errorf("Paint = %q", got)
	}
	if got := Paint("plain", Plain) + Paint("", Bad); got != "plain" {
		t.Errorf("without style or text, Paint = %q, want no escape sequences", got)
	}
}

// TestWrapLong: a word without an end is cut in one pass; in many, it would take hours.
func TestWrapLong(t *testing.T) {
	lines := Wrap("see "+strings.Repeat("m", 64<<20), 80)
	if n := len(lines); n != 2+64<<20/80 || lines[0] != "see" {
		t.Errorf("%d lines, the first %q", n, lines[0])
	}
}
