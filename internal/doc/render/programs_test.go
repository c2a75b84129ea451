package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
)

// machines is a table with all kinds of values, a column for people and one
// with an interval.
func machines() *doc.Table {
	tab := &doc.Table{Columns: []doc.Column{
		{Key: "s"}, {Key: "seen", For: doc.People}, {Key: "v", Interval: true}, {Key: "at", For: doc.Programs}, {Key: "n"},
	}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	tab.Add(doc.Of("=1+2"), doc.Say("x"), doc.Of(1.0/3).Within(.25, .5), doc.Of(at), doc.Of(7))
	tab.AddMore(doc.Say("more"), doc.Say("x"), doc.Of(nil), doc.Of(nil), doc.Of(nil))
	tab.Add(doc.Of("a,\"b\"\n<c>"), doc.Say("x"), doc.Of((*float64)(nil)), doc.Of(time.Time{}), doc.Of(1<<60))
	tab.Add(doc.Of("-1.5"), doc.Say("x"), doc.Of(math.Inf(1)).Within(1, math.Inf(1)), doc.Of(true))
	return tab
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := CSV(&b, machines()); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"s", "v", "v_lo", "v_hi", "at", "n"},
		{"'=1+2", "0.3333333333333333", "0.25", "0.5", "2026-01-02T03:04:05.0000006Z", "7"},
		{`a,"b"\n<c>`, "", "", "", "", "1152921504606846976"},
		{"-1.5", "", "1", "", "true", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CSV differs (-want +got):\n%s", diff)
	}
}

func TestTableJSON(t *testing.T) {
	var b bytes.Buffer
	if err := TableJSON(&b, machines()); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.HasPrefix(text, "[\n  {\n    \"s\": \"=1+2\",\n    \"v\": 0.3333333333333333,\n") || !strings.Contains(text, "<c>") || !strings.HasSuffix(text, "]\n") {
		t.Errorf("TableJSON = %s, want the keys in order, two spaces, no escaped <, a final line end", text)
	}
	var got []map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"s": "=1+2", "v": 1.0 / 3, "v_lo": .25, "v_hi": .5, "at": "2026-01-02T03:04:05.0000006Z", "n": 7.0},
		{"s": "a,\"b\"\n<c>", "v": nil, "v_lo": nil, "v_hi": nil, "at": nil, "n": float64(1 << 60)},
		{"s": "-1.5", "v": nil, "v_lo": 1.0, "v_hi": nil, "at": true, "n": nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TableJSON differs (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := TableJSON(&b, &doc.Table{Columns: []doc.Column{{Key: "a"}}}); err != nil || b.String() != "[]\n" {
		t.Errorf("of no rows, TableJSON = %q, %v, want []", b.String(), err)
	}
}

// What is copied has the same values; it knows no quoting.
func TestTSV(t *testing.T) {
	want := "s\tv\tv_lo\tv_hi\tat\tn\n" +
		"'=1+2\t0.3333333333333333\t0.25\t0.5\t2026-01-02T03:04:05.0000006Z\t7\n" +
		"a,\"b\"\\n<c>\t\t\t\t\t1152921504606846976\n-1.5\t\t1\t\ttrue\t\n"
	if diff := cmp.Diff(want, tsv(machines())); diff != "" {
		t.Errorf("tsv differs (-want +got):\n%s", diff)
	}
}

// Texts that a spreadsheet would evaluate, or that would steer a terminal, are
// written so that neither happens; numbers stay numbers.
func TestCSVDisarms(t *testing.T) {
	for in, want := range map[string]string{
		"=1+1": "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "@SUM(1)": "'@SUM(1)", "-2+3": "'-2+3", " \u00a0=1": "' \u00a0=1",
		"＝1": "'＝1", "\t=1": `\t=1`, "\r=1": `\x0d=1`, "a\n=1": `a\n=1`, `"=1`: `'"=1`,
		"a;=1;-1;b": "a;'=1;-1;b", "a,=1": "a,=1", "a-b": "a-b", ";": ";",
		"-1.5": "-1.5", "+1e-9": "+1e-9", "-Inf": "-Inf",
		"\x1b[2J\u202e\u009b\x00\xff": `\x1b[2J\u202e\u009b\x00\xff`,
	} {
		table := &doc.Table{Columns: []doc.Column{{Key: in}}}
		table.Add(doc.Say(in))
		var b bytes.Buffer
		if err := CSV(&b, table); err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(&b).ReadAll()
		if diff := cmp.Diff([][]string{{want}, {want}}, got); diff != "" || err != nil {
			t.Errorf("CSV of %q: %v, header and cell differ (-want +got):\n%s", in, err, diff)
		}
	}
}

// JSON says the same, in characters that steer no terminal.
func TestJSONSteersNothing(t *testing.T) {
	const in = "a\x1b[2J\x7f\u009b2J\u202e\u2028\ufeffé<\n\t"
	var b bytes.Buffer
	if err := JSON(&b, map[string]string{in: in}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(b.String(), func(r rune) bool { return term.Unsafe(r) && r != '\n' }); i >= 0 {
		t.Errorf("JSON = %q, has what steers a terminal", b.String())
	}
	var got map[string]string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got[in] != in {
		t.Errorf("JSON = %s, reads as %q, %v", b.String(), got, err)
	}
}

func TestWriteChooses(t *testing.T) {
	d := &doc.Document{Title: "T", Sections: []doc.Section{{Blocks: []doc.Block{{Fold: &doc.Fold{Blocks: []doc.Block{{Table: machines()}}}}}}}}
	write := func(d *doc.Document, result any, f Format) (string, error) {
		var b bytes.Buffer
		err := Write(&b, d, result, f, TextOptions{})
		return b.String(), err
	}
	if got, err := write(d, map[string]int{"a": 1}, FormatJSON); err != nil || got != "{\n  \"a\": 1\n}\n" {
		t.Errorf("JSON = %q, %v, want the result", got, err)
	}
	if got, err := write(d, nil, FormatJSON); err != nil || !strings.HasPrefix(got, "[\n  {\n    \"s\"") {
		t.Errorf("JSON without a result = %q, %v, want the first table", got, err)
	}
	d.Data = &doc.Table{Columns: []doc.Column{{Key: "data"}}}
	if got, err := write(d, nil, FormatCSV); err != nil || got != "data\n" {
		t.Errorf("CSV = %q, %v, want the data", got, err)
	}
	for _, c := range []struct {
		f    Format
		want string
	}{{FormatSVG, "has no figure"}, {"xml", "is not a format"}} {
		if _, err := write(d, nil, c.f); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want bad usage: %s", c.f, err, c.want)
		}
	}
	if _, err := write(&doc.Document{}, nil, FormatCSV); !errors.Is(err, model.ErrUsage) {
		t.Errorf("CSV of nothing: %v, want bad usage", err)
	}
	if got, err := write(gallery(), nil, FormatSVG); err != nil || !strings.HasPrefix(got, "<svg ") && !strings.HasPrefix(got, "<?xml") {
		t.Errorf("SVG = %.40q, %v, want a file", got, err)
	}
}

func TestFormats(t *testing.T) {
	for path, want := range map[string]Format{
		"x.html": FormatHTML, "dir.d/X.HTM": FormatHTML, "x.md": FormatMarkdown, "x.svg": FormatSVG, "x.json": FormatJSON, "x.csv": FormatCSV, "x.txt": FormatText,
		"x": "", "x.pdf": "", ".html/x": "",
	} {
		got, err := FormatOfFile(path)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("FormatOfFile(%q) = %q, %v, want %q", path, got, err, want)
		}
	}
	if f, err := ParseFormat("csv"); f != FormatCSV || err != nil {
		t.Errorf("ParseFormat(csv) = %q, %v", f, err)
	}
	if _, err := ParseFormat("xml"); err == nil || err.Error() != `--format: "xml" is not a format; use text, json or csv` {
		t.Errorf("ParseFormat(xml): %v", err)
	}
	if f, err := ParseFormat("html", FormatText, FormatHTML); f != FormatHTML || err != nil {
		t.Errorf("ParseFormat(html) = %q, %v, where html is allowed", f, err)
	}
}

// TestSVGWarns: a figure's file has the first warnings, and says that there are
// more.
func TestSVGWarns(t *testing.T) {
	d := gallery()
	d.Warnings = doc.Warnings([]string{"first <&", "second", "third", "fourth", "fifth"})
	for _, c := range []struct {
		warnings  int
		want, not string
	}{
		{0, "", "arning"},
		{1, ">Warning: first &lt;&amp;<", "Warning: second"},
		{3, ">Warning: third<", "more warning"},
		{4, ">1 more warning: see the report<", "fourth"},
		{5, ">2 more warnings: see the report<", "fourth"},
	} {
		some := *d
		some.Warnings = d.Warnings[:c.warnings]
		var b strings.Builder
		if err := SVG(&b, &some); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("%d warnings: want %q and not %q in %s", c.warnings, c.want, c.not, got)
		}
	}
}
