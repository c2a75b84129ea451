package render

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

//go:embed style.css
var layoutStyle string

//go:embed script.js
var script string

// HTML writes a document as one self-contained page: nothing is loaded from
// anywhere, and it reads and prints well without its script.
func HTML(w io.Writer, d *doc.Document) error {
	p := page{ids: make(map[string]bool)}
	collectIDs(p.ids, d.Sections)
	style := chart.Palette() + chart.Style() + layoutStyle
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n")
	el("html", is("lang", "en"),
		el("head",
			el("meta", is("charset", "utf-8")),
			el("meta", is("http-equiv", "Content-Security-Policy"), is("content", policy(style))),
			el("meta", is("name", "viewport"), is("content", "width=device-width, initial-scale=1")),
			el("meta", is("name", "color-scheme"), is("content", "light dark")),
			el("meta", is("name", "referrer"), is("content", "no-referrer")),
			el("title", text(d.Title+" · scalebench")),
			el("style", raw(style))),
		el("body",
			raw(chart.Hatch),
			el("div", class("page"),
				header(d),
				el("main", answer(d), p.alerts(d.Warnings), p.sections(d.Sections)),
				el("footer", el("p", text(d.Footer)))),
			el("script", raw(script)))).write(&b)
	return put(w, b.String()+"\n")
}

// policy is the content security policy: no loading from anywhere, this style
// sheet, this script. Even if some text slipped through the escaping, a
// browser would not run it.
func policy(style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}

// page is what a part needs to know of the whole.
type page struct {
	ids map[string]bool // what links may lead to
}

// collectIDs notes the parts that a page shows.
func collectIDs(ids map[string]bool, sections []doc.Section) {
	for _, s := range sections {
		if s.Show == doc.Terminal {
			continue
		}
		ids[s.ID] = true
		for _, b := range s.Blocks {
			switch {
			case b.Show == doc.Terminal:
			case b.Part != nil:
				collectIDs(ids, []doc.Section{*b.Part})
			case b.Fold != nil:
				collectIDs(ids, []doc.Section{{ID: b.Fold.ID, Blocks: b.Fold.Blocks}})
			}
		}
	}
}

// link leads to a part of the page, if there is such a part.
func (p page) link(to string, parts ...any) node {
	if id, ok := strings.CutPrefix(to, "#"); !ok || id == "" || !p.ids[id] {
		return el("span", parts...)
	}
	return el("a", append([]any{href(to)}, parts...)...)
}

func header(d *doc.Document) node {
	var meta group
	var facts []string
	for _, f := range d.About {
		if f.Label == "" && f.Tone != doc.Plain {
			meta = append(meta, el("span", class("state", string(f.Tone)), text(f.Text)), text(" "))
			continue
		}
		facts = append(facts, strings.TrimSpace(f.Label+" "+f.Text))
	}
	meta = append(meta, text(strings.Join(facts, " · ")))
	return el("header",
		el("div", class("top"), el("p", class("kicker"), text("scalebench")),
			el("button", is("type", "button"), class("theme"), bare("hidden", true), text("Light / dark"))),
		el("h1", text(d.Title)),
		el("p", class("meta"), meta))
}

func answer(d *doc.Document) node {
	if d.Answer == "" && len(d.More) == 0 && d.Verdict.Word == "" {
		return nil
	}
	parts := []any{class("answer"), is("aria-label", "Answer")}
	if d.Answer != "" {
		parts = append(parts, el("p", class("lead"), text(d.Answer)))
	}
	if d.Verdict.Word != "" {
		parts = append(parts, el("p", tag(d.Verdict)))
	}
	for _, m := range d.More {
		parts = append(parts, el("p", text(m)))
	}
	return el("section", parts...)
}

// symbols say the same as the colours.
var symbols = map[doc.Tone]string{doc.Good: "✓", doc.Bad: "▼", doc.Gain: "▲", doc.Note: "!", doc.Doubt: "?", doc.Faint: "="}

// tag is a word in its tone.
func tag(t doc.Tag) node {
	if t.Word == "" {
		return nil
	}
	var symbol node
	if s := symbols[t.Tone]; s != "" {
		symbol = group{el("span", class("symbol"), is("aria-hidden", "true"), text(s)), text("\u00a0")}
	}
	return el("span", class("verdict", string(t.Tone)), symbol, text(t.Word))
}

func (p page) alerts(warnings []doc.Warning) node {
	if len(warnings) == 0 {
		return nil
	}
	list := []any{}
	for _, w := range warnings {
		item := []any{text(w.Text)}
		if len(w.Links) > 0 {
			about := []any{class("about")}
			for i, l := range w.Links {
				if i > 0 {
					about = append(about, text(", "))
				}
				about = append(about, p.link(l.Href, text(l.Text)))
			}
			item = append(item, text(" "), el("span", about...))
		}
		list = append(list, el("li", item...))
	}
	return el("section", class("alerts"), is("aria-label", "Warnings"), el("h2", text(num.Count(len(warnings), "warning"))), el("ul", list...))
}

func (p page) sections(sections []doc.Section) node {
	var out group
	for _, s := range sections {
		if n := p.section(s, 2); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// section is a section of the page, or a part of one; nil if it has nothing to
// show.
func (p page) section(s doc.Section, level int) node {
	if s.Show == doc.Terminal {
		return nil
	}
	blocks := p.blocks(s.Blocks, level)
	if len(blocks) == 0 && silent(s) {
		return nil
	}
	var heading group
	if s.Kind != "" {
		heading = append(heading, el("span", class("kind"), text(s.Kind)), text(" "))
	}
	if s.Title != "" {
		heading = append(heading, text(s.Title))
	}
	if t := tag(s.Tag); t != nil {
		heading = append(heading, text(" "), t)
	}
	if s.Words != "" {
		heading = append(heading, text(" "), el("span", class("words"), text(s.Words)))
	}
	var head, intro node
	if len(heading) > 0 {
		head = el([]name{"h2", "h3", "h4"}[min(level, 4)-2], heading)
	}
	if s.Intro != "" {
		intro = el("p", class("sub"), text(s.Intro))
	}
	return el(map[bool]name{true: "section", false: "article"}[level == 2], is("id", s.ID), head, intro, blocks)
}

func (p page) blocks(blocks []doc.Block, level int) group {
	var out group
	for _, b := range blocks {
		if b.Show == doc.Terminal {
			continue
		}
		if n := p.block(b, level); n != nil {
			out = append(out, n)
		}
	}
	return out
}

// block is nil if there is nothing to show.
func (p page) block(b doc.Block, level int) node {
	switch {
	case b.Text != nil:
		return el("p", class(map[doc.Tone]string{doc.Faint: "note"}[b.Text.Tone], string(b.Text.Tone)), text(b.Text.Text))
	case b.List != nil && len(b.List.Items) > 0:
		return list(*b.List)
	case b.Fields != nil:
		return fields(b.Fields)
	case b.Table != nil:
		return p.table(b.Table)
	case b.Figure != nil && len(b.Figure.Panels) > 0:
		return p.figure(*b.Figure)
	case b.Code != nil:
		return el("pre", is("tabindex", "0"), el("code", between(term.CleanLines(b.Code.Text), raw("\n"))))
	case b.Part != nil:
		return p.section(*b.Part, level+1)
	case b.Fold != nil:
		return p.fold(*b.Fold, level)
	}
	return nil
}

func list(l doc.List) node {
	parts := []any{class(map[doc.Tone]string{doc.Note: "warnings"}[l.Tone])}
	for _, item := range l.Items {
		parts = append(parts, el("li", text(item)))
	}
	return el("ul", parts...)
}

// wordy is the length from which the texts of fields are read as sentences.
const wordy = 60

func fields(fields []doc.Field) node {
	layout := "facts"
	if slices.ContainsFunc(fields, func(f doc.Field) bool { return term.Width(f.Text) > wordy }) {
		layout = "reading"
	}
	parts := []any{class(layout)}
	for _, f := range fields {
		parts = append(parts, el("div", el("dt", text(f.Label)), el("dd", class(string(f.Tone)), text(f.Text))))
	}
	return el("dl", parts...)
}

// between are lines with something between them.
func between(lines []string, separator node) group {
	var out group
	for i, l := range lines {
		if i > 0 {
			out = append(out, separator)
		}
		out = append(out, text(l))
	}
	return out
}

func (p page) fold(f doc.Fold, level int) node {
	blocks := p.blocks(f.Blocks, level)
	if len(blocks) == 0 {
		return nil
	}
	summary := []any{el("b", text(f.Title))}
	if f.Words != "" {
		summary = append(summary, text(" "), el("span", text(f.Words)))
	}
	return el("details", is("id", f.ID), bare("open", f.Open), el("summary", summary...), blocks)
}

// pageWidth is how many columns of a table's text the page has room for.
const pageWidth = 130

// table is a table that scrolls sideways where it must, with a button that
// copies the exact values.
func (p page) table(t *doc.Table) node {
	if len(t.Rows) == 0 {
		return nil
	}
	g := newGrid(t).stackedBy(t.Stack, pageWidth)
	if len(g.cols) == 0 {
		return nil
	}
	head := []any{}
	for _, c := range g.cols {
		head = append(head, el("th", is("scope", "col"), class(numeric[c.Right]), is("title", c.Tip),
			between(c.head, el("br"))))
	}
	rows := []any{}
	for _, r := range g.rows {
		row := []any{class(map[bool]string{true: "more"}[r.more])}
		for i, c := range r.cells {
			row = append(row, p.cell(g.cols[i], c))
		}
		rows = append(rows, el("tr", row...))
	}
	return el("div", class("tablebox"),
		el("div", class("scroll"), is("tabindex", "0"),
			el("table", el("thead", el("tr", head...)), el("tbody", rows...))),
		el("button", is("type", "button"), class("copy"), bare("hidden", true), is("data-tsv", tsv(t)), text("Copy table")))
}

// numeric is the class of columns of numbers.
var numeric = map[bool]string{true: "num"}

// cell has its first line in the tone of the cell, the others fainter.
func (p page) cell(col gridColumn, c gridCell) node {
	var lines group
	tone := doc.Plain
	for i, l := range c.lines {
		shown := l.text
		if col.Right {
			shown = minus(shown)
		}
		switch {
		case l.text == "":
		case i == 0:
			tone = l.tone
			lines = append(lines, text(shown))
		case l.tone == tone:
			lines = append(lines, el("br"), el("span", class("second"), text(shown)))
		default:
			lines = append(lines, el("br"), el("span", class(string(l.tone)), text(shown)))
		}
	}
	var content node = lines
	if c.href != "" {
		content = p.link(c.href, lines)
	}
	return el("td", class(numeric[col.Right], string(tone), map[bool]string{true: "wrap"}[col.Wrap > 0]), content)
}

// minus sets the sign of negative numbers as long as a plus.
func minus(s string) string {
	b := []rune(s)
	for i, r := range b {
		if r == '-' && i+1 < len(b) && '0' <= b[i+1] && b[i+1] <= '9' && (i == 0 || !alphanumeric(b[i-1])) {
			b[i] = '−'
		}
	}
	return string(b)
}

// alphanumeric is what stands before the hyphen of a name or an exponent, and
// not before the sign of a number.
func alphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
