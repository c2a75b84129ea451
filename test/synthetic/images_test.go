package synthetic

import (
	"bytes"
	"os"
	"testing"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/frame/files"
	study "github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/study/variability"
)

// figures are the charts of blocks by their titles.
func figures(blocks []doc.Block, into map[string]*doc.Figure) {
	for _, b := range blocks {
		switch {
		case b.Figure != nil:
			into[b.Figure.Panels[0].Chart.Title] = b.Figure
		case b.Part != nil:
			figures(b.Part.Blocks, into)
		}
	}
}

// TestImages: the figures of docs/variability.md are what the tool draws of the
// table in examples.
func TestImages(t *testing.T) {
	table, err := os.Open("../../examples/two-bands.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close() //nolint:errcheck // read only
	frames, _, err := files.Read(t.Context(), "two-bands.csv", table, frame.Choice{}, files.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := variability.New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "two-bands.csv", Frames: frames}})
	if err != nil {
		t.Fatal(err)
	}
	drawn := make(map[string]*doc.Figure)
	for _, s := range r.Document().Sections {
		figures(s.Blocks, drawn)
	}
	for path, title := range map[string]string{
		"two-bands": "Values over time", "two-bands-histogram": "How often each value was measured", "two-bands-zone": "Distribution by zone", "two-bands-hours": "Mean of each hour of each weekday",
	} {
		path = "../../docs/images/" + path + ".svg"
		var want bytes.Buffer
		f := drawn[title]
		if f == nil {
			t.Errorf("there is no figure %q", title)
			continue
		}
		if err := render.SVG(&want, &doc.Document{Title: title, Sections: []doc.Section{{Blocks: []doc.Block{{Figure: f}}}}}); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, want.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path) //nolint:gosec // a file of the repository
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what the tool draws (%v); run the test with -update", path, err)
		}
		if want.Len() > 100_000 {
			t.Errorf("%s has %d bytes, want at most 100,000", path, want.Len())
		}
	}
}
