package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// forPrograms returns a table as programs read it: the keys, and rows of
// values. A column with an interval becomes three; columns and rows that are
// for people are left out.
func forPrograms(t *doc.Table) (keys []string, rows [][]any) {
	for _, c := range t.Columns {
		if c.For == doc.People {
			continue
		}
		keys = append(keys, c.Key)
		if c.Interval {
			keys = append(keys, c.Key+"_lo", c.Key+"_hi")
		}
	}
	for _, r := range t.Rows {
		if r.More {
			continue
		}
		row := make([]any, 0, len(keys))
		for i, c := range t.Columns {
			if c.For == doc.People {
				continue
			}
			var cell doc.Cell
			if i < len(r.Cells) {
				cell = r.Cells[i]
			}
			row = append(row, doc.Of(cell.Value).Value)
			if c.Interval {
				row = append(row, doc.Of(cell.Lo).Value, doc.Of(cell.Hi).Value)
			}
		}
		rows = append(rows, row)
	}
	return keys, rows
}

// CSV writes a header of keys and the values, as RFC 4180 has it with "\n"
// line ends. Numbers are unrounded, a missing value is an empty field, times
// are RFC 3339. In texts, keys included, control characters are written out,
// line ends too, so that a record is a line; what a spreadsheet would take for
// a formula begins with an apostrophe.
func CSV(w io.Writer, t *doc.Table) error {
	keys, rows := forPrograms(t)
	records := [][]string{plaintexts(keys)}
	for _, row := range rows {
		records = append(records, plaintexts(row))
	}
	cw := csv.NewWriter(w)
	if err := cw.WriteAll(records); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

// tsv is the table as a spreadsheet takes it from the clipboard, which knows no
// quoting.
func tsv(t *doc.Table) string {
	keys, rows := forPrograms(t)
	var b strings.Builder
	b.WriteString(strings.Join(plaintexts(keys), "\t") + "\n")
	for _, row := range rows {
		b.WriteString(strings.Join(plaintexts(row), "\t") + "\n")
	}
	return b.String()
}

func plaintexts[T any](row []T) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = plaintext(v)
	}
	return out
}

// plaintext prints a value for CSV and for copying into a spreadsheet.
func plaintext(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case string:
		return defuse(term.Clean(x))
	}
	return fmt.Sprint(v)
}

// defuse prevents that a spreadsheet evaluates text as a formula: text that
// begins like one, and is not a number, gets a leading apostrophe. So does what
// follows a semicolon, which separates fields for spreadsheets of many languages.
func defuse(s string) string {
	fields := strings.Split(s, ";")
	for i, f := range fields {
		start := strings.TrimLeftFunc(f, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
		_, err := strconv.ParseFloat(f, 64)
		if err != nil && start != "" && strings.ContainsRune("=+-@＝＋－＠", []rune(start)[0]) {
			fields[i] = "'" + f
		}
	}
	return strings.Join(fields, ";")
}

// TableJSON writes an array of objects with the keys of the columns, in their
// order; a missing value is null.
func TableJSON(w io.Writer, t *doc.Table) error {
	keys, rows := forPrograms(t)
	objects := make([]json.RawMessage, len(rows))
	for i, row := range rows {
		object, err := object(keys, row)
		if err != nil {
			return fmt.Errorf("writing JSON: row %d: %w", i+1, err)
		}
		objects[i] = object
	}
	return JSON(w, objects)
}

// object is a row with its keys in order, which a map would not keep.
func object(keys []string, row []any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, v := range row {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(keys[i]); err != nil {
			return nil, fmt.Errorf("key %q: %w", keys[i], err)
		}
		b.WriteByte(':')
		if err := enc.Encode(v); err != nil {
			return nil, fmt.Errorf("%s: %w", keys[i], err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
