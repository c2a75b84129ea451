// Package doc is what a study, or a list of the program, has to say, before it
// is known where that is shown.
//
//  1. A study builds one [Document]: title, the sentence that answers, the
//     verdict, warnings, and sections of text, tables and charts.
//  2. Package doc/render shows it: as text on a terminal, as an HTML page, as
//     Markdown; [Document.Table] is what CSV has, and [Flatten] makes it from
//     a result.
//
// Text that came from outside (node ids, errors, output of a benchmark) may
// stand in a document as it is: renderers write control characters out and
// escape. A document can be encoded as JSON and decoded again without loss, so
// that it travels and is compared in tests.
package doc

import "github.com/scalebench/scalebench/internal/doc/chart"

// Document is all that is said about one question.
type Document struct {
	Title string `json:"title"`
	// About are short facts beside the title: state and id of the run, when.
	// Those without a label stand on a line with it.
	About []Field `json:"about,omitempty"`
	// Answer is the one sentence that answers the question; More is what
	// else a reader needs to know for a decision.
	Answer  string   `json:"answer"`
	More    []string `json:"more,omitempty"`
	Verdict Tag      `json:"verdict,omitzero"`
	// Warnings are everything that makes the answer doubtful.
	Warnings []Warning `json:"warnings,omitempty"`
	Sections []Section `json:"sections,omitempty"`
	// Data is the table for programs: what CSV has. Nil: the first table of
	// the sections.
	Data *Table `json:"data,omitempty"`
	// Footer says who made the document and when.
	Footer string `json:"footer,omitempty"`
}

// Field is a label with its text.
type Field struct {
	Label string `json:"label"`
	Text  string `json:"text"`
	Tone  Tone   `json:"tone,omitempty"`
}

// Tag is a word with its tone: a verdict, a state.
type Tag struct {
	Word string `json:"word"`
	Tone Tone   `json:"tone,omitempty"`
}

// Tone is what a text means to the eye; how it looks is up to the renderer.
type Tone string

// Good, Bad and Note carry a verdict; Strong is the main value, Faint what may
// be overlooked, Gain better than expected, Doubt what is unknown. Notable and
// High are for values beyond a first and a second threshold, as .2 and .4 of the
// paper's tables of variability; in tables they carry a sign, too.
const (
	Plain  Tone = ""
	Strong Tone = "strong"
	Faint  Tone = "faint"
	Good   Tone = "good"
	Bad    Tone = "bad"
	Note   Tone = "note"
	Gain   Tone = "gain"
	Doubt  Tone = "doubt"

	Notable Tone = "notable"
	High    Tone = "high"
)

// Warning is a reason to doubt, with links to the parts that it concerns. Its
// text does not repeat their names: where links cannot be followed, they stand
// in front of it.
type Warning struct {
	Text  string `json:"text"`
	Links []Link `json:"links,omitempty"`
}

// Link leads to a part of the document: Href is "#" and the ID of a section or
// part.
type Link struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// Reading is the ID of the section that says how to read a page. It is always
// the last one.
const Reading = "reading"

// Section is a part of a document with a heading of its own.
type Section struct {
	ID    string `json:"id,omitempty"`
	Kind  string `json:"kind,omitempty"` // a small word before the title: "Workload"
	Title string `json:"title,omitempty"`
	Tag   Tag    `json:"tag,omitzero"`    // behind the title
	Words string `json:"words,omitempty"` // behind that: "CDI 62.4 % [60.1, 64.8]"
	// Intro is a sentence below the title.
	Intro  string  `json:"intro,omitempty"`
	Show   Show    `json:"show,omitempty"`
	Blocks []Block `json:"blocks,omitempty"`
}

// Show is where a part is shown.
type Show string

// Everywhere is the default. Page parts are shown where there is room (HTML,
// Markdown), Terminal parts only there.
const (
	Everywhere Show = ""
	Page       Show = "page"
	Terminal   Show = "terminal"
)

// Block is one piece of a section: exactly one of the fields after Show is
// set.
type Block struct {
	Show   Show     `json:"show,omitempty"`
	Text   *Text    `json:"text,omitempty"`
	List   *List    `json:"list,omitempty"`
	Fields []Field  `json:"fields,omitempty"`
	Table  *Table   `json:"table,omitempty"`
	Figure *Figure  `json:"figure,omitempty"`
	Code   *Code    `json:"code,omitempty"`
	Fold   *Fold    `json:"fold,omitempty"`
	Part   *Section `json:"part,omitempty"` // a section within
}

// Text is a paragraph.
type Text struct {
	Text string `json:"text"`
	Tone Tone   `json:"tone,omitempty"` // Faint: a note below a table or figure; Strong: an answer
}

// List is several short texts; Tone Note makes them warnings.
type List struct {
	Items []string `json:"items"`
	Tone  Tone     `json:"tone,omitempty"`
}

// Code is text that keeps its lines: a file, what a program printed.
type Code struct {
	Text string `json:"text"`
}

// Fold is opened by who wants to see it. On a terminal it is left out unless
// it is Open.
type Fold struct {
	ID     string  `json:"id,omitempty"`
	Title  string  `json:"title"`
	Words  string  `json:"words,omitempty"` // behind the title
	Open   bool    `json:"open,omitempty"`
	Blocks []Block `json:"blocks"`
}

// Figure is one or several charts that belong together. Its legend is made
// from the names of the layers, each once.
type Figure struct {
	Title string `json:"title,omitempty"`
	Words string `json:"words,omitempty"` // beside the title
	// Panels of several share the scale of their y axes.
	Panels []Panel `json:"panels"`
	// Columns is how many panels stand side by side where there is room; 0: one
	// below the other.
	Columns int    `json:"columns,omitempty"`
	Note    string `json:"note,omitempty"` // below
}

// Panel is a chart with its caption.
type Panel struct {
	Title string      `json:"title,omitempty"`
	Words string      `json:"words,omitempty"`
	Role  chart.Role  `json:"role,omitempty"` // colours the caption
	Chart chart.Chart `json:"chart"`
}

// Para is a paragraph.
func Para(text string) Block { return Block{Text: &Text{Text: text}} }

// Remark is a note below a table or figure.
func Remark(text string) Block { return Block{Text: &Text{Text: text, Tone: Faint}} }

// Cautions is a list of warnings.
func Cautions(items []string) Block { return Block{List: &List{Items: items, Tone: Note}} }

// Warnings are warnings without links.
func Warnings(texts []string) []Warning {
	var out []Warning
	for _, text := range texts {
		out = append(out, Warning{Text: text})
	}
	return out
}

// Plot is a figure of one chart.
func Plot(title, words string, c chart.Chart) Block {
	return Block{Figure: &Figure{Title: title, Words: words, Panels: []Panel{{Chart: c}}}}
}

// Empty reports whether a block says nothing.
func (b Block) Empty() bool {
	return b.Text == nil && b.List == nil && b.Fields == nil && b.Table == nil && b.Figure == nil && b.Code == nil && b.Fold == nil && b.Part == nil
}

// On returns the block, shown only there.
func (b Block) On(where Show) Block {
	b.Show = where
	return b
}

// Table is the table for programs: Data, or else the first table of the
// sections; nil if there is none.
func (d *Document) Table() *Table {
	if d.Data != nil {
		return d.Data
	}
	return first(d.Sections, func(b Block) *Table { return b.Table })
}

// Figure is the first figure of the sections; nil if there is none.
func (d *Document) Figure() *Figure {
	return first(d.Sections, func(b Block) *Figure { return b.Figure })
}

// first walks through sections, parts and folds in their order.
func first[T any](sections []Section, get func(Block) *T) *T {
	for _, s := range sections {
		for _, b := range s.Blocks {
			x := get(b)
			switch {
			case x != nil:
			case b.Fold != nil:
				x = first([]Section{{Blocks: b.Fold.Blocks}}, get)
			case b.Part != nil:
				x = first([]Section{*b.Part}, get)
			}
			if x != nil {
				return x
			}
		}
	}
	return nil
}
