package render

import (
	"fmt"
	"io"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
)

// BenchmarkTable renders what a large fleet has: 10,000 rows of 12 columns.
func BenchmarkTable(b *testing.B) {
	table := &doc.Table{Stack: [][]string{{"c0", "c1"}, {"c2", "c3"}}}
	for i := range 12 {
		table.Columns = append(table.Columns, doc.Column{Key: fmt.Sprint("c", i), Head: "head\nx", Wrap: (i % 5) * 4})
	}
	for y := range 10_000 {
		var row []doc.Cell
		for x := range 12 {
			row = append(row, doc.Of(float64(y)*1.5, fmt.Sprint("cell ", y, x), "second"))
		}
		table.Add(row...)
	}
	d := &doc.Document{Sections: []doc.Section{{Blocks: []doc.Block{{Table: table}}}}}
	for _, c := range []struct {
		f     Format
		width int
	}{{FormatText, 0}, {FormatText, 80}, {FormatHTML, 0}, {FormatMarkdown, 0}, {FormatCSV, 0}, {FormatJSON, 0}} {
		b.Run(fmt.Sprint(c.f, c.width), func(b *testing.B) {
			for b.Loop() {
				if err := Write(io.Discard, d, nil, c.f, TextOptions{Width: c.width}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
