package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/term"
)

const attack = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>&lt; https://evil.example/` + "\x1b[31m\u202e\x00\xff|`*_[x](javascript:y)\n# "

// poison sets every text of a document, apart from words of the vocabulary and
// the ids that hold it together.
func poison(v reflect.Value, with string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(with)
		}
	case reflect.Pointer:
		poison(v.Elem(), with)
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "ID" && name != "Href" && name != "Key" && name != "Stack" && name != "Unit" {
				poison(v.Field(i), with)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), with)
		}
	case reflect.Interface:
		if _, ok := v.Interface().(string); ok {
			v.Set(reflect.ValueOf(with))
		}
	}
}

func poisoned() *doc.Document {
	d := gallery()
	poison(reflect.ValueOf(d), attack)
	return d
}

func pageOf(t *testing.T, d *doc.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d); err != nil {
		t.Fatalf("HTML: %v", err)
	}
	return b.String()
}

// start is a start tag of a parsed page.
type start struct {
	name  string
	attrs map[string]string
}

// parse reads a page as XML with the liberties of HTML; the style sheet and the
// script are checked to hold no markup.
func parse(t *testing.T, source string) (tags []start, words string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(source))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	var all strings.Builder
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			tag := start{e.Name.Local, make(map[string]string)}
			for _, a := range e.Attr {
				tag.attrs[a.Name.Local] = a.Value
			}
			tags, open = append(tags, tag), append(open, e.Name.Local)
		case xml.EndElement:
			if last := open[len(open)-1]; last != e.Name.Local {
				t.Fatalf("</%s> closes <%s>", e.Name.Local, last)
			}
			open = open[:len(open)-1]
		case xml.CharData:
			all.Write(e)
			all.WriteByte('\n')
		}
	}
	if len(open) != 0 {
		t.Fatalf("never closed: %v", open)
	}
	return tags, all.String()
}

var allowed = strings.Fields(`a article b body br button circle code dd defs details div dl dt figcaption figure footer
	h1 h2 h3 h4 head header html li line main meta p path pattern polyline polygon pre rect script section span style summary svg
	table tbody td text th thead title tr ul g`)

func TestPageIsSoundAndSelfContained(t *testing.T) {
	known := make(map[string]bool)
	for _, n := range allowed {
		known[n] = true
	}
	for name, d := range map[string]*doc.Document{"gallery": gallery(), "poisoned": poisoned(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			tags, _ := parse(t, pageOf(t, d))
			counts, ids, hrefs := make(map[string]int), make(map[string]int), []string{}
			for _, tag := range tags {
				counts[tag.name]++
				if !known[tag.name] {
					t.Errorf("element <%s>", tag.name)
				}
				for attr := range tag.attrs {
					if strings.HasPrefix(attr, "on") || attr == "src" || attr == "style" || attr == "srcset" || attr == "action" {
						t.Errorf("<%s> has attribute %s", tag.name, attr)
					}
				}
				if id := tag.attrs["id"]; id != "" {
					ids[id]++
				}
				if h, ok := tag.attrs["href"]; ok {
					hrefs = append(hrefs, h)
				}
			}
			if counts["script"] != 1 || counts["style"] != 1 || counts["h1"] != 1 {
				t.Errorf("%d scripts, %d style sheets, %d main headings, want one of each", counts["script"], counts["style"], counts["h1"])
			}
			for id, n := range ids {
				if n != 1 {
					t.Errorf("id %q stands %d times", id, n)
				}
			}
			for _, h := range hrefs {
				if id, ok := strings.CutPrefix(h, "#"); !ok || ids[id] != 1 {
					t.Errorf("link to %q leads nowhere", h)
				}
			}
			if name == "gallery" && len(hrefs) == 0 {
				t.Error("no links: the check is blind")
			}
		})
	}
}

// shape is a page without its texts: tags, and names of attributes.
func shape(tags []start) []string {
	var out []string
	for _, tag := range tags {
		attrs := ""
		for _, name := range []string{"id", "href", "class", "hidden", "tabindex"} {
			if value, ok := tag.attrs[name]; ok {
				attrs += " " + name + "=" + value
			}
		}
		if tag.name != "text" && tag.name != "title" && !strings.HasPrefix(tag.attrs["class"], "room") { // drawings leave out labels that have no room
			out = append(out, tag.name+attrs)
		}
	}
	return out
}

// everywhere is a document with this text wherever one stands.
func everywhere(s string) *doc.Document {
	return &doc.Document{Title: s, Answer: s, About: []doc.Field{{Text: s, Tone: doc.Bad}, {Label: s, Text: s}},
		Warnings: []doc.Warning{{Text: s, Links: []doc.Link{{Href: s, Text: s}}}},
		Sections: []doc.Section{{ID: "x", Kind: s, Title: s, Tag: doc.Tag{Word: s, Tone: doc.Good}, Words: s, Intro: s, Blocks: []doc.Block{
			doc.Para(s), doc.Cautions([]string{s, s}), {Fields: []doc.Field{{Label: s, Text: s}, {Label: s, Text: strings.Repeat("long ", 20)}}}, {Code: &doc.Code{Text: s}},
			{Fold: &doc.Fold{ID: "y", Title: s, Words: s, Blocks: []doc.Block{doc.Remark(s)}}},
			{Table: &doc.Table{Columns: []doc.Column{{Key: s, Head: "h", Tip: s}}, Rows: []doc.Row{{Cells: []doc.Cell{doc.Say(s).To(s)}}}}},
			doc.Plot(s, s, chart.Chart{Title: s, X: chart.Axis{}, Y: chart.Axis{Kind: chart.Rows, Rows: []chart.Row{{Name: s, Sub: s, Href: s, Value: s, Note: s, Tag: s, More: []string{s}}}},
				Layers: []chart.Layer{{Mark: chart.Bar, X: chart.Values{1}, Y: chart.Values{0}, Tips: []string{s}}}}),
		}}},
		Footer: s}
}

// No text becomes markup or an attribute: whatever it is, the page has the same
// elements, and the text stands in it.
func FuzzTextStaysText(f *testing.F) {
	f.Add(attack)
	f.Add(`" onclick="x`)
	f.Add("]]></style>")
	f.Add("#m0")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			t.Skip("empty texts are left out")
		}
		got, words := parse(t, pageOf(t, everywhere(s)))
		want, _ := parse(t, pageOf(t, everywhere("z")))
		if s != "#x" && s != "#y" { // these are links
			if diff := cmp.Diff(shape(want), shape(got)); diff != "" {
				t.Errorf("%q changes the page (-want +got):\n%s", s, diff)
			}
		}
		if want := strings.TrimSpace(strings.ReplaceAll(term.Clean(s), "\r", "\n")); !strings.Contains(words, want) {
			t.Errorf("the page does not show %q", want)
		}
	})
}

// The script and the style sheet hold nothing that ends them early or loads
// anything; parse relies on the first.
func TestCompanionsHoldNoMarkup(t *testing.T) {
	for name, text := range map[string]string{"script": script, "style": chart.Palette() + chart.Style() + layoutStyle} {
		for _, bad := range []string{"</", "<!--", "http:", "https:", "//cdn", "@import", "url(h", "fetch(", "XMLHttp"} {
			if strings.Contains(text, bad) {
				t.Errorf("the %s holds %q", name, bad)
			}
		}
	}
}

// What the policy admits is what the page holds.
func TestPolicyMatchesPage(t *testing.T) {
	got := pageOf(t, &doc.Document{})
	style := chart.Palette() + chart.Style() + layoutStyle
	for tag, text := range map[string]string{"script": script, "style": style} {
		if !strings.Contains(got, "<"+tag+">"+text+"</"+tag+">") {
			t.Errorf("the %s was altered on its way: its hash no longer fits", tag)
		}
	}
	meta := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
	if meta == nil || !strings.Contains(meta[1], "default-src &#39;none&#39;") || strings.Contains(meta[1], "unsafe") {
		t.Errorf("policy = %q, want nothing but what the page brings", meta)
	}
}

// No control character reaches a reader, whatever the document says.
func TestHostileTextIsHarmless(t *testing.T) {
	d := poisoned()
	for _, c := range []struct {
		f Format
		o TextOptions
	}{{FormatHTML, TextOptions{}}, {FormatMarkdown, TextOptions{}}, {FormatText, TextOptions{}}, {FormatText, TextOptions{Width: 60}}, {FormatSVG, TextOptions{}}} {
		var b bytes.Buffer
		if err := Write(&b, d, nil, c.f, c.o); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%s holds %U", c.f, r)
				break
			}
		}
		if n := strings.Count(b.String(), "<script"); c.f == FormatHTML && n != 1 || c.f == FormatSVG && n != 0 {
			t.Errorf("%s has %d scripts", c.f, n)
		}
	}
}

func TestOnlyPartsAreLinked(t *testing.T) {
	p := page{ids: map[string]bool{"m0": true, "": true}}
	for address, want := range map[string]string{
		"#m0": `<a href="#m0">x</a>`, "#gone": "<span>x</span>", "#": "<span>x</span>", "": "<span>x</span>",
		"javascript:alert(1)": "<span>x</span>", "https://evil.example/#m0": "<span>x</span>",
	} {
		var b strings.Builder
		p.link(address, text("x")).write(&b)
		if b.String() != want {
			t.Errorf("link(%q) = %s, want %s", address, b.String(), want)
		}
	}
	if a := href("javascript:alert(1)"); a.value != "" {
		t.Errorf("href holds %q", a.value)
	}
}

func TestMinus(t *testing.T) {
	for in, want := range map[string]string{
		"-8.2 %": "−8.2 %", "[-9.3, -7.1]": "[−9.3, −7.1]", "2026-03-14": "2026-03-14", "1e-9": "1e-9", "n-1": "n-1", "-": "-", "": "",
	} {
		if got := minus(in); got != want {
			t.Errorf("minus(%q) = %q, want %q", in, got, want)
		}
	}
}

// labelledRows is a chart of rows with an axis that does not begin at 0.
func labelledRows() *doc.Document {
	c := chart.Chart{
		X: chart.Axis{Unit: "op/s"}, Y: chart.Axis{Kind: chart.Rows, Rows: []chart.Row{{Name: "a"}, {Name: "b"}}},
		Layers: []chart.Layer{{Mark: chart.Box, X: chart.Values{1000, 1010, 1030, 1040}, Y: chart.Values{0, 0, 1, 1}}},
	}
	return &doc.Document{Title: "t", Sections: []doc.Section{{Title: "s", Blocks: []doc.Block{doc.Plot("", "", c)}}}}
}

// The axis below rows has its label: "not from 0" is nothing to guess.
func TestRowsHaveTheLabelOfTheirAxis(t *testing.T) {
	if page := pageOf(t, labelledRows()); !strings.Contains(page, `op/s, not from 0</div>`) {
		t.Error("the page does not say that the axis does not begin at 0")
	}
}
