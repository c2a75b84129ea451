package tabular

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// headers are of the three ways in which tables are written.
var headers = []string{"a,b,c\n", "a;b;c\n", "a\tb\tc\n"}

// oracle is the rows of a table as encoding/csv reads them, each with its place.
func oracle(text string) (rows []string) {
	in := csv.NewReader(strings.NewReader(text))
	comma, _ := Separator([]byte(text))
	in.Comma, in.Comment, in.FieldsPerRecord, in.TrimLeadingSpace = rune(comma), comment, -1, comma != '\t'
	lines := strings.Split(text, "\n")
	place := func(line, col int) string {
		return fmt.Sprintf("%d:%d ", line, utf8.RuneCountInString(lines[line-1][:min(max(col-1, 0), len(lines[line-1]))])+1)
	}
	for {
		cells, err := in.Read()
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return append(rows, place(parse.Line, parse.Column)+parse.Err.Error())
		} else if err != nil {
			return rows
		}
		line, col := in.FieldPos(0)
		row := place(line, col)
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		if text := strings.Join(cells, "\x00"); strings.Trim(text, "\x00") != "" {
			rows, in.Comment = append(rows, row+text), 0
		}
	}
}

// ours is the same as the package reads it, in pieces of about that size.
func ours(text string, size int) (out []string, err error) {
	p := &Pieces{Source: strings.NewReader(text), Size: size, Longest: 1 << 20}
	r := &Rows{Comments: true}
	r.Comma, _ = Separator([]byte(text))
	lines := 0
	place := func(line, col int) string { return fmt.Sprintf("%d:%d ", lines+line, col) }
	for {
		piece, err := p.Next(nil)
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		for r.Begin(piece); r.Next(); {
			if r.Blank() {
				continue
			}
			r.Comments = false
			var cells []string
			for i := range r.Width() {
				cells = append(cells, string(bytes.TrimSpace(r.Cell(i))))
			}
			out = append(out, place(r.CellAt(0))+strings.Join(cells, "\x00"))
		}
		if r.Err != nil {
			out = append(out, place(r.LineOf(r.Bad))+r.Err.Error())
			return out, nil //nolint:nilerr // what is wrong with a row is told in its place
		}
		lines += bytes.Count(piece, []byte("\n"))
	}
}

// FuzzRows: wherever it is cut into pieces, a table has the rows that
// encoding/csv finds, and what is wrong with it is the same at the same place.
func FuzzRows(f *testing.F) {
	for _, body := range []string{
		"1,2,3\n", "1;2;3\r\n4;5;6", "1\t\t3\n", "\"a\nb\",2,3\n", "\"a\"\"b\",2,3\r\n", "a\"b,2,3\n", "\"a\"b,2,3\n", "\"a\n\n", "#c \"\n1,2,3\n",
		"\n\r\n \n,,\n1,2\n", "1,2,3,4\n", " \"x\" ,2,3\n", " \"x\",2, 3 \n", "\"\r\n#\r\n\",1,2\r", "ä,\u00a0ö\u00a0,\u2003\n", "1,2,3\r\r\n", "\xff,1,2\n", "\"x\",\"y\",\"z\"\n\"x\",\"y\",\"z\"",
		strings.Repeat("0123456789abcdef,,x\n", 5), "\"1\",,\n\"2\n", "\"a\r\n", "\"a\r", "a, \"\n", "\"\n\"\n",
	} {
		f.Add(body, uint8(0), uint8(3))
		f.Add(strings.ReplaceAll(body, ",", ";"), uint8(1), uint8(40))
		f.Add(strings.ReplaceAll(body, ",", "\t"), uint8(2), uint8(0))
	}
	f.Fuzz(func(t *testing.T, body string, header, size uint8) {
		text := headers[int(header)%len(headers)] + body
		got, err := ours(text, 1+int(size))
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			if err == nil && (len(got) == 0 || !strings.Contains(got[len(got)-1], "\"")) {
				t.Fatalf("%q: no error", text)
			}
			return
		}
		if d := cmp.Diff(oracle(text), got); d != "" || err != nil {
			t.Fatalf("%q in pieces of %d: %v (-encoding/csv +ours):\n%s", text, 1+int(size), err, d)
		}
	})
}
