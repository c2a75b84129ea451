// Package term is text on a terminal: how wide it is, where it breaks, and
// which characters of texts from outside must not reach it.
package term

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a string safe to show: control characters, invalid bytes, line
// ends and the marks that reorder text are written out (`\x1b`, `\u202e`),
// so that output of a benchmark cannot act on the reader's terminal.
func Clean(s string) string {
	if !strings.ContainsFunc(s, Unsafe) {
		return s
	}
	var out []byte
	for i, r := range s {
		if !Unsafe(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		out = appendOut(out, r, s[i], r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"))
	}
	return string(out)
}

// appendOut writes an unsafe character out, or an invalid byte; first is the
// first of its bytes.
func appendOut(out []byte, r rune, first byte, invalid bool) []byte {
	switch {
	case r == '\n':
		return append(out, `\n`...)
	case r == '\t':
		return append(out, `\t`...)
	case r < 0x80, invalid:
		return fmt.Appendf(out, `\x%02x`, first)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// CleanLines is Clean for a text of several lines: line ends and tabs stay.
func CleanLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = Clean(strings.ReplaceAll(l, "\t", "    "))
	}
	return lines
}

// Unsafe reports what Clean must write out. RuneError stands for an
// invalid byte; a genuine U+FFFD is treated alike, which does no harm.
func Unsafe(r rune) bool {
	if ' ' <= r && r <= '~' {
		return false
	}
	return unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// Width is how many columns of a terminal a string takes.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 { // no marks, no wide letters; control characters are written out before
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) ||
		'\uff01' <= r && r <= '\uff60' || 0x1f300 <= r && r <= 0x1faff {
		return 2
	}
	return 1
}

// Wrap breaks text at spaces, but not between a number and its unit, into lines
// of at most limit columns; a word that is longer is cut. limit < 1 means no
// limit.
func Wrap(text string, limit int) []string {
	if limit < 1 || Width(text) <= limit {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range words(text, limit) {
		if line != "" && Width(line)+1+Width(word) <= limit {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for head := cut(word, limit); len(head) < len(word); head = cut(word, limit) {
			lines = append(lines, head)
			word = word[len(head):]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words are the words of a text, and a number with its unit as one of them where
// that is not too long.
func words(text string, limit int) []string {
	var out []string
	for _, word := range strings.Fields(text) {
		if last := len(out) - 1; last >= 0 && units.MatchString(word) && numbers.MatchString(out[last]) && Width(out[last])+1+Width(word) <= limit {
			out[last] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// A number is followed by its unit, or a sign by its number: "5.4 %", "± 4.9 ms".
var (
	numbers = regexp.MustCompile(`(?:±|[0-9])$`)
	units   = regexp.MustCompile(`^(?:%|[nµm]?s|min|h|[kMGT]?i?B|[kMGTµm]?(?:bit|byte|op|B)/s|[0-9.]+)[],.;:)]*$`)
)

// cut returns the longest beginning of word that fits, at least one rune.
func cut(word string, limit int) string {
	n := 0
	for i, r := range word {
		n += runeWidth(r)
		if n > limit && i > 0 {
			return word[:i]
		}
	}
	return word
}

// Cut shortens text to at most limit columns; what is left out is shown as …
func Cut(text string, limit int) string {
	if Width(text) <= limit {
		return text
	}
	if limit < 2 {
		return "…"[:min(max(limit, 0), 1)*len("…")]
	}
	head := cut(text, limit-1)
	if Width(head) > limit-1 {
		head = ""
	}
	return head + "…"
}

// Style is how a text stands out: the parameters of an ANSI escape sequence.
type Style string

// The styles differ in brightness, too, and the words beside them say the
// same: no meaning is carried by colour alone.
const (
	Plain  Style = ""
	Strong Style = "1"
	Faint  Style = "2"
	Good   Style = "36"
	Bad    Style = "1;33"
	Note   Style = "33"
	High   Style = "1;31"
)

// Paint puts the escape sequences of a style around text.
func Paint(text string, s Style) string {
	if s == Plain || text == "" {
		return text
	}
	return s.sequence() + text + reset
}

const reset = "\x1b[0m"

func (s Style) sequence() string { return "\x1b[" + string(s) + "m" }
