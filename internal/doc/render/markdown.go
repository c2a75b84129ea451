package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// Markdown writes a document as a repository or a ticket shows it: GitHub's
// tables, warnings as quotes, figures as text where text can carry them and
// otherwise as a line that says what the page shows.
func Markdown(w io.Writer, d *doc.Document) error {
	m := &markdownWriter{}
	title, labelled := titleLine(d)
	if d.Title != "" {
		m.put("# " + inline(d.Title))
		title = title[1:]
	}
	var facts []string
	for _, p := range title {
		facts = append(facts, "**"+inline(p.text)+"**")
	}
	for _, f := range labelled {
		facts = append(facts, strings.TrimSpace(inline(f.Label)+" "+inline(f.Text)))
	}
	m.put(strings.Join(facts, " · "))
	for _, p := range append([]string{d.Answer}, d.More...) {
		m.put(paragraph(p))
	}
	var warnings []string
	for _, x := range d.Warnings {
		warnings = append(warnings, about(x)+term.Clean(x.Text))
	}
	m.quote(num.Count(len(warnings), "warning"), warnings)
	for _, s := range d.Sections {
		m.section(s, 2)
	}
	m.put(paragraph(d.Footer))
	return put(w, m.b.String())
}

// markdownWriter writes blocks with an empty line between them.
type markdownWriter struct{ b strings.Builder }

func (m *markdownWriter) put(block string) {
	if block == "" {
		return
	}
	if m.b.Len() > 0 {
		m.b.WriteByte('\n')
	}
	m.b.WriteString(block + "\n")
}

// special is what Markdown, or HTML within it, may take for markup.
var special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>|~#&$@]")

// leading is what makes more of a line than a paragraph by how it begins.
var leading = regexp.MustCompile(`^\s*(?:[-+=:]|\d+[.)])`)

// inline escapes text within a line. It is the only way of texts into Markdown,
// apart from code.
func inline(s string) string {
	return special.ReplaceAllString(strings.TrimSpace(term.Clean(s)), `\$0`)
}

// paragraph escapes text that begins a line.
func paragraph(s string) string {
	s = inline(s)
	if at := leading.FindStringIndex(s); at != nil {
		return s[:at[1]-1] + `\` + s[at[1]-1:]
	}
	return s
}

func (m *markdownWriter) section(s doc.Section, level int) {
	if s.Show == doc.Terminal {
		return
	}
	body := &markdownWriter{}
	body.blocks(s.Blocks, level)
	if body.b.Len() == 0 && silent(s) {
		return
	}
	heading := strings.TrimSpace(inline(s.Kind) + " " + inline(s.Title))
	for _, words := range []string{s.Tag.Word, s.Words} {
		if words != "" {
			heading = strings.TrimPrefix(heading+" · ", " · ") + inline(words)
		}
	}
	if heading != "" {
		m.put(strings.Repeat("#", min(level, 6)) + " " + heading)
	}
	m.put(paragraph(s.Intro))
	m.put(strings.TrimSuffix(body.b.String(), "\n"))
}

func (m *markdownWriter) blocks(blocks []doc.Block, level int) {
	for _, b := range blocks {
		if b.Show != doc.Terminal {
			m.block(b, level)
		}
	}
}

func (m *markdownWriter) block(b doc.Block, level int) {
	switch {
	case b.Text != nil:
		m.put(paragraph(b.Text.Text))
	case b.List != nil && b.List.Tone == doc.Note:
		m.quote("", b.List.Items)
	case b.List != nil:
		m.put(bullets("", b.List.Items))
	case b.Fields != nil:
		var lines []string
		for _, f := range b.Fields {
			lines = append(lines, "- **"+inline(f.Label)+"** "+inline(f.Text))
		}
		m.put(strings.Join(lines, "\n"))
	case b.Table != nil:
		m.put(markdownTable(b.Table))
	case b.Figure != nil:
		m.figure(*b.Figure)
	case b.Code != nil:
		m.put(fenced(term.CleanLines(b.Code.Text)))
	case b.Part != nil:
		m.section(*b.Part, level+1)
	case b.Fold != nil:
		m.fold(*b.Fold, level)
	}
}

func bullets(prefix string, items []string) string {
	var lines []string
	for _, item := range items {
		lines = append(lines, prefix+"- "+paragraph(item))
	}
	return strings.Join(lines, "\n")
}

// quote sets warnings apart from what is certain.
func (m *markdownWriter) quote(title string, items []string) {
	if len(items) == 0 {
		return
	}
	if title != "" {
		title = "> **" + title + "**\n>\n"
	}
	m.put(title + bullets("> ", items))
}

func (m *markdownWriter) fold(f doc.Fold, level int) {
	body := &markdownWriter{}
	body.blocks(f.Blocks, level)
	if body.b.Len() == 0 {
		return
	}
	// A line of HTML up to an empty line: Markdown takes no markup in it.
	m.put(fmt.Sprintf("<details><summary>%s</summary>", escape(strings.TrimSpace(term.Clean(f.Title)+" "+term.Clean(f.Words)))))
	m.put(strings.TrimSuffix(body.b.String(), "\n"))
	m.put("</details>")
}

func markdownTable(t *doc.Table) string {
	g := newGrid(t).joined()
	if len(g.cols) == 0 || len(g.rows) == 0 {
		return ""
	}
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	var heads, rules []string
	for _, c := range g.cols {
		heads = append(heads, inline(c.head[0]))
		rules = append(rules, map[bool]string{true: "---:", false: "---"}[c.Right])
	}
	out := []string{line(heads), line(rules)}
	for _, r := range g.rows {
		var cells []string
		for _, c := range r.cells {
			cells = append(cells, inline(c.text()))
		}
		out = append(out, line(cells))
	}
	return strings.Join(out, "\n")
}

// figureWidth is how wide the text of a figure is.
const figureWidth = 100

func (m *markdownWriter) figure(f doc.Figure) {
	if caption := caption(f.Title, f.Words); caption != "" {
		m.put("**" + inline(caption) + "**")
	}
	for _, p := range f.Panels {
		if caption := caption(p.Title, p.Words); caption != "" {
			m.put(paragraph(caption))
		}
		if lines := chart.Text(p.Chart, chart.TextOptions{Width: figureWidth}); lines != nil {
			m.put(fenced(lines))
			continue
		}
		m.put(paragraph("Figure: " + described(p.Chart)))
	}
	m.put(paragraph(f.Note))
}

// described says in a line what a chart shows.
func described(c chart.Chart) string {
	words := c.Title
	var axes []string
	for _, a := range []chart.Axis{c.Y, c.X} {
		switch {
		case a.Hidden, a.Label+a.Unit == "":
		case a.Label != "" && a.Unit != "":
			axes = append(axes, a.Label+" in "+a.Unit)
		default:
			axes = append(axes, a.Label+a.Unit)
		}
	}
	if len(axes) > 0 {
		words += " (" + strings.Join(axes, " over ") + ")"
	}
	var names []string
	for _, k := range chart.Legend(c) {
		names = append(names, k.Name)
	}
	if len(names) > 0 {
		words += ": " + strings.Join(names, ", ")
	}
	return words
}

// fenced is code between fences that are longer than any within it.
func fenced(lines []string) string {
	fence := "```"
	for _, l := range lines {
		for strings.Contains(l, fence) {
			fence += "`"
		}
	}
	return fence + "\n" + strings.Join(lines, "\n") + "\n" + fence
}
