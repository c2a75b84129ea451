package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteCSV writes a header of keys and the values, as RFC 4180 has it with
// "\n" line ends. Numbers are unrounded, a missing value is an empty field,
// times are RFC 3339.
func (t *Table) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = c.Key
	}
	rows := append([][]string{record}, t.records()...)
	if err := cw.WriteAll(rows); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}

func (t *Table) records() [][]string {
	out := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = make([]string, len(row))
		for j, c := range row {
			out[i][j] = Plaintext(c.Value)
		}
	}
	return out
}

// Plaintext prints a value for CSV and for copying into a spreadsheet.
func Plaintext(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return defuse(x)
	case *float64:
		if x == nil {
			return ""
		}
		return Plaintext(*x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format(time.RFC3339Nano)
	}
	return defuse(fmt.Sprint(v))
}

// defuse keeps spreadsheets from taking text for a formula: text that begins
// like one, and is no number, gets a leading apostrophe.
func defuse(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// WriteJSON writes an array of objects whose keys are the columns' keys, in
// their order; a missing value is null.
func (t *Table) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("[")
	for i, row := range t.Rows {
		if i > 0 {
			b.WriteString(",")
		}
		if err := t.writeObject(&b, row); err != nil {
			return fmt.Errorf("writing JSON: row %d: %w", i+1, err)
		}
	}
	b.WriteString("]")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	out.WriteString("\n")
	if _, err := out.WriteTo(w); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

func (t *Table) writeObject(b *bytes.Buffer, row []Cell) error {
	b.WriteString("{")
	for j, c := range row {
		if j > 0 {
			b.WriteString(",")
		}
		key, err := json.Marshal(t.Columns[j].Key)
		if err != nil {
			return fmt.Errorf("key %q: %w", t.Columns[j].Key, err)
		}
		value, err := json.Marshal(jsonValue(c.Value))
		if err != nil {
			return fmt.Errorf("%s: %w", t.Columns[j].Key, err)
		}
		b.Write(key)
		b.WriteString(":")
		b.Write(value)
	}
	b.WriteString("}")
	return nil
}

// jsonValue makes a time that never was null, not the year 1.
func jsonValue(v any) any {
	if at, ok := v.(time.Time); ok && at.IsZero() {
		return nil
	}
	return v
}
