package render

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/test/golden"
)

// stored is the gallery as it stands in testdata: what is rendered has gone
// through JSON, as a document from a server has.
func stored(t *testing.T) *doc.Document {
	t.Helper()
	data, err := os.ReadFile("testdata/gallery.json")
	if err != nil {
		t.Fatal(err)
	}
	var d doc.Document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestGalleryDocument(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, gallery()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/gallery.json", b.Bytes())
	var again bytes.Buffer
	if err := JSON(&again, stored(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), again.String()); diff != "" {
		t.Errorf("decoded and encoded again, the document differs (-first +second):\n%s", diff)
	}
}

// companions are the parts of a page that have tests of their own: style sheet,
// script, their hashes, and drawings.
var companions = regexp.MustCompile(`(?s:(<style>).*?(</style>)|(<script>).*?(</script>))|&#39;sha256-.*?&#39;|(<svg)\b.*(</svg>)`)

func TestGallery(t *testing.T) {
	for _, c := range []struct {
		file   string
		format Format
		o      TextOptions
	}{
		{"gallery.txt", FormatText, TextOptions{}},
		{"gallery-140.txt", FormatText, TextOptions{Width: 140}},
		{"gallery-100.txt", FormatText, TextOptions{Width: 100}},
		{"gallery-80.txt", FormatText, TextOptions{Width: 80, ASCII: true}},
		{"gallery-50.txt", FormatText, TextOptions{Width: 50}},
		{"gallery-color.txt", FormatText, TextOptions{Width: 140, Color: true}},
		{"gallery.md", FormatMarkdown, TextOptions{}},
		{"gallery.csv", FormatCSV, TextOptions{}},
		{"gallery-table.json", FormatJSON, TextOptions{}},
		{"gallery.html", FormatHTML, TextOptions{}},
	} {
		t.Run(c.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, stored(t), nil, c.format, c.o); err != nil {
				t.Fatal(err)
			}
			got := b.Bytes()
			if c.format == FormatHTML {
				got = companions.ReplaceAll(got, []byte("$1$3$5…$2$4$6"))
			}
			golden.Check(t, "testdata/"+c.file, got)
		})
	}
}
