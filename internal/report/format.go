package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/table"
)

// Format is how a table is printed.
type Format string

// Text is for people; JSON and CSV are contracts for programs.
const (
	Text Format = "text"
	JSON Format = "json"
	CSV  Format = "csv"
)

// ParseFormat returns the format of that name. It fails with model.ErrUsage.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Text, JSON, CSV:
		return f, nil
	}
	return "", fmt.Errorf("format %q: want text, json or csv: %w", s, model.ErrUsage)
}

// Options says where text is shown. The zero value is a pipe: no colours, no
// limit of width, times in UTC.
type Options struct {
	Width int            // columns of the terminal; 0: no limit
	Color bool           // ANSI colours
	ASCII bool           // draw bars with ASCII only
	Zone  *time.Location // of the times shown; nil: UTC
}

func (o Options) text() table.TextOptions {
	return table.TextOptions{Width: o.Width, Color: o.Color}
}

// proseWidth is how wide sentences may become: what is read well.
func (o Options) proseWidth() int {
	if o.Width <= 0 || o.Width > 110 {
		return 110
	}
	return o.Width
}

// clock prints a time to the second, "" for none.
func (o Options) clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(o.zone()).Format("2006-01-02 15:04:05 MST")
}

func (o Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// writeTable writes a table in one of the formats.
func writeTable(w io.Writer, t *table.Table, f Format, o Options) error {
	switch f {
	case Text:
		return t.WriteText(w, o.text())
	case JSON:
		return t.WriteJSON(w)
	case CSV:
		return t.WriteCSV(w)
	}
	return unknownFormat(f)
}

func unknownFormat(f Format) error {
	_, err := ParseFormat(string(f))
	return err
}

// writeJSON writes a value indented, with a final line end and without
// escaping < and >, which no shell needs.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
