package render

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// TestOneLineRows: whatever the texts and the width, each row takes one line that
// fits as long as what is never left out does, the first column is whole, and what
// is left out is named.
func TestOneLineRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	word := func(most int) string { return strings.Repeat("wörd-", 1+rng.IntN(most))[:1+rng.IntN(3)] + "x" }
	for range 300 {
		table := &doc.Table{OneLine: true, Columns: []doc.Column{{Key: "id", Head: "id"}, {Key: "name", Head: "name", Wrap: 20}}}
		for i := range 1 + rng.IntN(7) {
			table.Columns = append(table.Columns, doc.Column{Key: fmt.Sprint("k", i), Head: fmt.Sprint("head", i), Right: rng.IntN(2) == 0, Spare: 1 + rng.IntN(9), Wrap: 30 * rng.IntN(2)})
		}
		rows := 1 + rng.IntN(5)
		for range rows {
			cells := []doc.Cell{doc.Say("01KJ2Q8Z7V3N5XW9T4B6C8D0EF"), doc.Say(strings.Repeat("name ", rng.IntN(12)))}
			for range table.Columns[2:] {
				cells = append(cells, doc.Say(strings.Repeat(word(4)+" ", rng.IntN(20))))
			}
			table.Add(cells...)
		}
		width := 50 + rng.IntN(160)
		var b strings.Builder
		d := &doc.Document{Sections: []doc.Section{{Blocks: []doc.Block{{Table: table}}}}}
		if err := Text(&b, d, TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		ids := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "01KJ2Q8Z7V3N5XW9T4B6C8D0EF") })
		left := strings.Index(b.String(), "left out for lack of room: ")
		if len(ids) != rows || left < 0 && len(lines) != rows+1 {
			t.Fatalf("%d rows in %d columns became\n%s", rows, width, &b)
		}
		for _, l := range lines {
			if term.Width(l) > width {
				t.Fatalf("a line of %d columns in %d:\n%s", term.Width(l), width, &b)
			}
		}
		for _, c := range table.Columns[2:] {
			shown := strings.Contains(lines[0], strings.ToUpper(c.Head))
			empty := !slices.ContainsFunc(table.Rows, func(r doc.Row) bool {
				return strings.TrimSpace(r.Cells[slices.IndexFunc(table.Columns, func(x doc.Column) bool { return x.Key == c.Key })].Lines[0]) != ""
			})
			if told := left >= 0 && strings.Contains(strings.Join(strings.Fields(b.String()[left:]), " "), c.Head); shown == told && !empty {
				t.Fatalf("column %s: shown %v, told as left out %v, in\n%s", c.Head, shown, told, &b)
			}
		}
	}
}

// TestWideTellsAll: without a limit of width nothing is cut or left out.
func TestWideTellsAll(t *testing.T) {
	table := &doc.Table{OneLine: true, Columns: []doc.Column{{Key: "id", Head: "id"}, {Key: "a", Head: "a", Spare: 1, Wrap: 8}}}
	long := strings.Repeat("long ", 60) + "end"
	table.Add(doc.Say("x"), doc.Say(long))
	var b strings.Builder
	if err := Text(&b, &doc.Document{Sections: []doc.Section{{Blocks: []doc.Block{{Table: table}}}}}, TextOptions{}); err != nil || !strings.Contains(b.String(), long) {
		t.Errorf("without a width the table is %v\n%s", err, &b)
	}
}
