package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
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
	if err := TableText(&b, table, o); err != nil {
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
	for _, code := range []string{"0", "1", "2", "36", "1;33", "33"} {
		s = strings.ReplaceAll(s, "\x1b["+code+"m", "")
	}
	return s
}
