// Package render shows documents.
//
//  1. [Text] lays a document out for a terminal, [HTML] makes one page of it
//     that needs nothing else, [Markdown] what a repository or a ticket shows.
//  2. [CSV] and [TableJSON] write its table for programs, [JSON] the result
//     that it was made of.
//  3. [Write] chooses between them by a [Format].
//
// Nothing is lost or added on the way but form. Texts of a document may come
// from outside: on a terminal control characters are written out, in markup
// everything is escaped, in one function each.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
	"github.com/scalebench/scalebench/internal/model"
)

// Format is how an answer is written.
type Format string

// FormatText, FormatHTML and FormatMarkdown are for people; FormatJSON and
// FormatCSV are contracts for programs; FormatSVG is the first figure alone.
const (
	FormatText     Format = "text"
	FormatJSON     Format = "json"
	FormatCSV      Format = "csv"
	FormatHTML     Format = "html"
	FormatMarkdown Format = "md"
	FormatSVG      Format = "svg"
)

// ParseFormat returns the format of that name, one of those allowed: text,
// json and csv where none are named. It fails with model.ErrUsage.
func ParseFormat(name string, allowed ...Format) (Format, error) {
	if len(allowed) == 0 {
		allowed = []Format{FormatText, FormatJSON, FormatCSV}
	}
	var names []string
	for _, f := range allowed {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", &model.InputError{Flag: "--format", Problem: fmt.Sprintf("%q is not a format", name), Allowed: "use " + either(names)}
}

// FormatOfFile returns the format that the end of a file's name asks for. It
// fails with model.ErrUsage.
func FormatOfFile(path string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".html", ".htm":
		return FormatHTML, nil
	case ".md", ".markdown":
		return FormatMarkdown, nil
	case ".svg", ".json", ".csv":
		return Format(ext[1:]), nil
	case ".txt":
		return FormatText, nil
	}
	return "", &model.InputError{Flag: "-o", Problem: fmt.Sprintf("the name %q does not say which format the file has", path),
		Allowed: "end it with .html, .md, .svg, .json, .csv or .txt"}
}

func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Write writes a document in one of the formats. result is what JSON has; if
// it is nil, JSON has the document's table. CSV and SVG fail with
// model.ErrUsage where the document has no table, or no figure.
func Write(w io.Writer, d *doc.Document, result any, f Format, o TextOptions) error {
	switch f {
	case FormatText:
		return Text(w, d, o)
	case FormatHTML:
		return HTML(w, d)
	case FormatMarkdown:
		return Markdown(w, d)
	case FormatSVG:
		return SVG(w, d)
	case FormatJSON:
		if result != nil {
			return JSON(w, result)
		}
	case FormatCSV:
	default:
		_, err := ParseFormat(string(f), FormatText, FormatJSON, FormatCSV, FormatHTML, FormatMarkdown, FormatSVG)
		return err
	}
	t := d.Table()
	switch {
	case t == nil:
		return &model.InputError{Problem: fmt.Sprintf("%q has no table", d.Title), Allowed: "use text or html"}
	case f == FormatJSON:
		return TableJSON(w, t)
	}
	return CSV(w, t)
}

// JSON writes a value indented, with a final line end and without escaping <
// and >, which no shell needs. Characters that would steer a terminal are
// escaped.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(escaper{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

// escaper passes on JSON, a whole value at a time, in ASCII where Clean would
// write something out.
type escaper struct{ to io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	steers := func(r rune) bool { return term.Unsafe(r) && r != '\n' } // which is between values
	var out []byte
	rest := p
	for i := bytes.IndexFunc(rest, steers); i >= 0; i = bytes.IndexFunc(rest, steers) {
		r, size := utf8.DecodeRune(rest[i:])
		out = fmt.Appendf(append(out, rest[:i]...), `\u%04x`, r)
		rest = rest[i+size:]
	}
	if _, err := e.to.Write(append(out, rest...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// mostInFigure is how many warnings a figure's file has: it is a figure, and the
// report has them all.
const mostInFigure = 3

// SVG writes the first figure of a document as a file of its own, with the first
// warnings of the document.
func SVG(w io.Writer, d *doc.Document) error {
	f := d.Figure()
	if f == nil {
		return &model.InputError{Problem: fmt.Sprintf("%q has no figure", d.Title), Allowed: "use text or html"}
	}
	file := chart.File{Title: term.Clean(f.Title), Words: term.Clean(f.Words), Note: term.Clean(f.Note), Columns: f.Columns}
	if file.Title == "" {
		file.Title = term.Clean(d.Title)
	}
	for i, w := range d.Warnings {
		if rest := len(d.Warnings) - mostInFigure; i == mostInFigure {
			file.Warnings = append(file.Warnings, num.Count(rest, "more warning")+": see the report")
			break
		}
		file.Warnings = append(file.Warnings, "Warning: "+term.Clean(w.Text))
	}
	for _, p := range f.Panels {
		file.Titles = append(file.Titles, term.Clean(p.Title))
		file.Panels = append(file.Panels, p.Chart)
	}
	return put(w, chart.SVG(file))
}

// put writes a finished output.
func put(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	return nil
}
