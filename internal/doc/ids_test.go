package doc

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc/chart"
)

// TestUnder: all IDs and the links to them have the name, wherever they stand.
func TestUnder(t *testing.T) {
	of := func(id, reading string) *Document {
		table := &Table{Columns: []Column{{Key: "a"}}}
		table.Add(Say("x").To("#" + id))
		plot := Plot("", "", chart.Chart{Y: chart.Axis{Rows: []chart.Row{{Name: "r", Href: "#" + id}, {Name: "no link"}}}})
		return &Document{
			Warnings: []Warning{{Text: "w", Links: []Link{{Href: "#" + id}, {Href: "#" + reading}}}},
			Sections: []Section{
				{ID: id, Blocks: []Block{{Fold: &Fold{ID: id, Blocks: []Block{{Table: table}}}}}},
				{Blocks: []Block{{Part: &Section{ID: id, Blocks: []Block{plot}}}}},
				{ID: reading},
			},
		}
	}
	got := of("f0", Reading)
	got.Under("cdi")
	want := of("cdi-f0", Reading)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Under (-want +got):\n%s", diff)
	}
}
