package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func sample() *Table {
	t := &Table{Columns: []Column{
		{Key: "node", Head: "node"}, {Key: "rate", Head: "rate\nop/s", Align: Right}, {Key: "note", Head: "note"},
	}}
	t.Add(Text("n1"), Of(1.25, "1.25", "[1 .. 2]"), Text("all well"))
	t.AddMore(Of(nil, "  more"), Of(nil), Of(nil))
	t.Add(Text("node-två"), Of(12.5, "12.5", "[9 .. 14]"), Text("slow").As(Bad))
	return t
}

func TestWriteText(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"one line", 0, `
NODE           RATE OP/S  NOTE
n1         1.25 [1 .. 2]  all well
  more
node-två  12.5 [9 .. 14]  slow
`},
		{"stacked", 30, `
NODE           RATE  NOTE
               OP/S
n1             1.25  all well
           [1 .. 2]
  more

node-två       12.5  slow
          [9 .. 14]
`},
		{"records", 20, `
node       n1
rate op/s  1.25 [1 .. 2]
note       all well
node         more

node       node-två
rate op/s  12.5 [9 .. 14]
note       slow
`},
	} {
		var b strings.Builder
		if err := sample().WriteText(&b, TextOptions{Width: c.width}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), b.String()); diff != "" {
			t.Errorf("%s: WriteText differs (-want +got):\n%s", c.name, diff)
		}
	}
}

// Colours must not move anything: without them the text is the same.
func TestColorsDoNotCount(t *testing.T) {
	for _, width := range []int{0, 30, 20} {
		var plain, painted strings.Builder
		for b, color := range map[*strings.Builder]bool{&plain: false, &painted: true} {
			if err := sample().WriteText(b, TextOptions{Width: width, Color: color}); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(painted.String(), "\x1b[") {
			t.Errorf("width %d: no colours", width)
		}
		if diff := cmp.Diff(plain.String(), uncolor(painted.String())); diff != "" {
			t.Errorf("width %d: colours change the text (-plain +painted):\n%s", width, diff)
		}
	}
}

// uncolor removes the colours, and the spaces that they kept at line ends.
func uncolor(s string) string {
	for _, code := range []string{"0", "1", "2", "36", "1;33", "33"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}

func TestWriteMachine(t *testing.T) {
	tab := &Table{Columns: []Column{{Key: "s"}, {Key: "v"}, {Key: "at"}}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	tab.Add(Of("=1+2"), Of(1.0/3), Of(at))
	tab.Add(Of("a,\"b\"\nc"), Of((*float64)(nil)), Of(time.Time{}))
	tab.Add(Of("-1.5"), Of(nil), Of(true))
	var b bytes.Buffer
	if err := tab.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"s", "v", "at"}, {"'=1+2", "0.3333333333333333", "2026-01-02T03:04:05.0000006Z"},
		{"a,\"b\"\nc", "", ""}, {"-1.5", "", "true"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("WriteCSV differs (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := tab.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back []map[string]any
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	wantJSON := []map[string]any{
		{"s": "=1+2", "v": 1.0 / 3, "at": "2026-01-02T03:04:05.0000006Z"},
		{"s": "a,\"b\"\nc", "v": nil, "at": nil}, {"s": "-1.5", "v": nil, "at": true},
	}
	if diff := cmp.Diff(wantJSON, back); diff != "" {
		t.Errorf("WriteJSON differs (-want +got):\n%s", diff)
	}
}

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
