package render

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/term"
)

func sample() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "node", Head: "node"}, {Key: "rate", Head: "rate\nop/s", Right: true}, {Key: "note", Head: "note"},
	}}
	t.Add(doc.Say("n1"), doc.Of(1.25, "1.25", "[1 .. 2]"), doc.Say("all well"))
	t.AddMore(doc.Of(nil, "  more"), doc.Of(nil), doc.Of(nil))
	t.Add(doc.Say("node-två"), doc.Of(12.5, "12.5", "[9 .. 14]"), doc.Say("slow").As(doc.Bad))
	return t
}

func tableText(t *testing.T, table *doc.Table, o TextOptions) string {
	t.Helper()
	var b strings.Builder
	d := &doc.Document{Sections: []doc.Section{{Blocks: []doc.Block{{Table: table}}}}}
	if err := Text(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableLayouts(t *testing.T) {
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
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), tableText(t, sample(), TextOptions{Width: c.width})); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", c.name, diff)
		}
	}
}

// Colours must not move anything: without them the text is the same.
func TestColorsDoNotCount(t *testing.T) {
	for _, width := range []int{0, 30, 20} {
		plain := tableText(t, sample(), TextOptions{Width: width})
		painted := tableText(t, sample(), TextOptions{Width: width, Color: true})
		if !strings.Contains(painted, "\x1b[") {
			t.Errorf("width %d: no colours", width)
		}
		if diff := cmp.Diff(plain, uncolor(painted)); diff != "" {
			t.Errorf("width %d: colours change the text (-plain +painted):\n%s", width, diff)
		}
	}
}

// uncolor removes the colours, and the spaces that they kept at line ends.
func uncolor(s string) string {
	for _, code := range []string{"0", "1", "2", "36", "1;33", "33", "1;31"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}

// layered is a table that can give way in every manner: lines, groups, a long
// text, columns of two levels.
func layered() *doc.Table {
	t := &doc.Table{
		Columns: []doc.Column{
			{Key: "w", Head: "workload"}, {Key: "m", Head: "metric"}, {Key: "v", Head: "value\n[95 %]", Right: true},
			{Key: "secret", For: doc.Programs}, {Key: "lag", Head: "lag"}, {Key: "rtt", Head: "rtt"}, {Key: "text", Head: "text", Wrap: 12},
		},
		Stack: [][]string{{"w", "m"}},
	}
	t.Add(doc.Say("cpu"), doc.Say("int_ops"), doc.Of(1.5, "1.5", "[1, 2]"), doc.Of(9), doc.Say("3 ms"), doc.Say("7 ms"), doc.Say("said a few words too many"))
	t.AddMore(doc.Of(nil), doc.Of(nil, "more"), doc.Of(nil, "1.6"))
	t.Add(doc.Say("disk"), doc.Say("write"), doc.Of(2.5, "2.5"), doc.Of(9), doc.Say("4 ms"), doc.Say("8 ms"), doc.Say("ok"))
	return t
}

// What all rows have in common stands below them where there is no room for it;
// what no row has is left out.
func TestTableWithoutRoomForWhatIsAlike(t *testing.T) {
	table := &doc.Table{Columns: []doc.Column{{Key: "node", Head: "node"}, {Key: "os", Head: "OS"}, {Key: "none", Head: "none"}, {Key: "state", Head: "state"}}}
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		table.Add(doc.Say(node), doc.Say("Debian GNU/Linux 12 (bookworm)"), doc.Of(nil), doc.Say("well"))
	}
	for _, c := range []struct {
		width int
		want  string
	}{
		{100, "NODE  OS                              NONE  STATE\nn1    Debian GNU/Linux 12 (bookworm)        well\n"},
		{45, "NODE  OS                              STATE\nn1    Debian GNU/Linux 12 (bookworm)  well\n"},
		{30, "NODE\nn1\nn2\nn3\nn4\nalike in every row: OS Debian\nGNU/Linux 12 (bookworm), state\nwell\n"},
	} {
		if got := tableText(t, table, TextOptions{Width: c.width}); !strings.HasPrefix(got, c.want) {
			t.Errorf("at %d columns:\n%s\nwant it to begin with\n%s", c.width, got, c.want)
		}
	}
	table.Rows[1].Cells[3] = doc.Say("lost")
	if got := tableText(t, table, TextOptions{Width: 30}); !strings.HasPrefix(got, "NODE  STATE\nn1    well\nn2    lost\n") {
		t.Errorf("with a node that is lost:\n%s", got)
	}
}

func TestTableGivesWay(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"one line", 0, `
WORKLOAD  METRIC   VALUE [95 %]  LAG   RTT   TEXT
cpu       int_ops    1.5 [1, 2]  3 ms  7 ms  said a few words too many
          more              1.6
disk      write             2.5  4 ms  8 ms  ok
`},
		{"long texts broken, as late as there is room", 63, `
WORKLOAD  METRIC   VALUE [95 %]  LAG   RTT   TEXT
cpu       int_ops    1.5 [1, 2]  3 ms  7 ms  said a few words
                                             too many
          more              1.6
disk      write             2.5  4 ms  8 ms  ok
`},
		{"lines below each other", 51, `
WORKLOAD  METRIC    VALUE  LAG   RTT   TEXT
                   [95 %]
cpu       int_ops     1.5  3 ms  7 ms  said a few
                   [1, 2]              words too
                                       many
          more        1.6
disk      write       2.5  4 ms  8 ms  ok
`},
		{"columns stacked", 42, `
WORKLOAD   VALUE  LAG   RTT   TEXT
METRIC    [95 %]
cpu          1.5  3 ms  7 ms  said a few
int_ops   [1, 2]              words too
                              many
more         1.6

disk         2.5  4 ms  8 ms  ok
write
`},
		{"rows of two lines", 37, `
WORKLOAD  METRIC   VALUE [95 %]  LAG
          RTT      TEXT
cpu       int_ops  1.5 [1, 2]    3 ms
          7 ms     said a few
                   words too
                   many
          more     1.6
disk      write    2.5           4 ms
          8 ms     ok
`},
		{"records have everything", 27, `
workload      cpu
metric        int_ops
value [95 %]  1.5 [1, 2]
lag           3 ms
rtt           7 ms
text          said a few
              words too many
metric        more
value [95 %]  1.6

workload      disk
metric        write
value [95 %]  2.5
lag           4 ms
rtt           8 ms
text          ok
`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), tableText(t, layered(), TextOptions{Width: c.width})); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", c.name, diff)
		}
	}
}

// A table without names has no line of heads, and one without rows nothing.
func TestTableWithoutHeads(t *testing.T) {
	table := &doc.Table{Columns: []doc.Column{{Key: "a"}, {Key: "b"}}}
	if got := tableText(t, table, TextOptions{}); got != "" {
		t.Errorf("without rows: %q", got)
	}
	table.Add(doc.Say("x"), doc.Say("y"))
	if got := tableText(t, table, TextOptions{}); got != "x  y\n" {
		t.Errorf("without heads: %q", got)
	}
}

// No line is wider than the terminal, whatever its width, and colours change
// nothing.
func TestTextKeepsTheWidth(t *testing.T) {
	for width := 40; width <= 160; width++ {
		var plain, painted strings.Builder
		if err := Text(&plain, gallery(), TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		if err := Text(&painted, gallery(), TextOptions{Width: width, Color: true}); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(plain.String(), "\n") {
			if term.Width(l) > width && !strings.HasPrefix(l, "  | ") { // the lines of a file are its own
				t.Errorf("at %d columns a line has %d: %s", width, term.Width(l), l)
			}
		}
		if diff := cmp.Diff(plain.String(), trimmed(uncolor(painted.String()))); diff != "" {
			t.Errorf("at %d columns colours change the text (-plain +painted):\n%s", width, diff)
		}
	}
}

// trimmed has no spaces at line ends, which colours keep.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// Texts from outside are text in Markdown, too: nothing of them is markup, and
// rows keep their columns.
func TestMarkdownEscapes(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, poisoned()); err != nil {
		t.Fatal(err)
	}
	fence, pipes := "", 0
	for _, l := range strings.Split(b.String(), "\n") {
		switch {
		case strings.HasPrefix(l, "```") && fence == "":
			fence = l
			continue
		case fence != "" && l == fence:
			fence = ""
			continue
		case fence != "":
			continue
		}
		bare := escaped.ReplaceAllString(l, "")
		for _, own := range []string{"**", "<details>", "</details>", "<summary>", "</summary>"} {
			bare = strings.ReplaceAll(bare, own, "")
		}
		if strings.HasPrefix(l, "<details>") {
			bare = strings.NewReplacer("*", "", "`", "", "[", "").Replace(bare) // in HTML these are text
		}
		if strings.ContainsAny(bare, "<*`[") || strings.Contains(strings.TrimPrefix(bare, ">"), ">") {
			t.Errorf("markup from outside: %s", l)
		}
		if n := strings.Count(bare, "|"); strings.HasPrefix(l, "| --- ") {
			pipes = n
		} else if strings.HasPrefix(l, "|") && pipes > 0 && n != pipes {
			t.Errorf("%d pipes, want %d: %s", n, pipes, l)
		} else if !strings.HasPrefix(l, "|") {
			pipes = 0
		}
	}
	if fence != "" {
		t.Error("a fence is never closed")
	}
}

// escaped are characters that stand for themselves.
var escaped = regexp.MustCompile(`\\.|&(lt|gt|amp|#34|#39);`)
