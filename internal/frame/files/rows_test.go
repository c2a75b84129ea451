package files

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	diff "github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// headers are of the three ways in which tables are written.
var headers = []string{"a,b,c\n", "a;b;c\n", "a\tb\tc\n"}

// oracle reads a table with package tabular, which is on top of encoding/csv.
func oracle(text string) (rows []string, err error) {
	t, err := tabular.Open("t", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if _, err := t.Use([]tabular.Form{{Required: []string{"a", "b", "c"}}}, ""); err != nil {
		return nil, err
	}
	for t.Next() {
		rows = append(rows, strings.Join([]string{t.Text(0), t.Text(1), t.Text(2)}, "\x00"))
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	return rows, nil
}

// ours reads a table as the package does, in pieces of about that size.
func ours(text string, size int) (out []string, err error) {
	p := &pieces{source: strings.NewReader(text), size: size, longest: longestRow}
	r := &rows{comments: true}
	var problems tabular.Problems
	lines, width, all := 0, 0, 0
	refuse := func(at int, problem, allowed string) {
		line, col := r.lineOf(at)
		problems.Add(&model.InputError{File: "t", Line: lines + line, Col: col, Problem: problem, Allowed: allowed})
	}
	for piece, err := p.next(nil); !errors.Is(err, io.EOF); piece, err = p.next(piece) {
		if err != nil {
			return nil, err
		}
		if r.comma == 0 {
			r.comma, _ = tabular.Separator([]byte(text))
		}
		for r.begin(piece); r.next(); {
			switch {
			case r.blank():
			case width == 0:
				width, r.comments = r.width(), false
			case r.width() != width:
				all++
				line, col := r.cellAt(0)
				allowed := "the header has " + num.Count(width, "column")
				if bytes.HasPrefix(trim(r.cell(0)), []byte("#")) {
					allowed += tabular.HashAllowed
				}
				problems.Add(&model.InputError{File: "t", Line: lines + line, Col: col,
					Problem: "the line has " + num.Count(r.width(), "value"), Allowed: allowed})
			default:
				all++
				var texts []string
				for i := range width {
					texts = append(texts, string(trim(r.cell(i))))
				}
				out = append(out, strings.Join(texts, "\x00"))
			}
		}
		if r.err != nil {
			refuse(r.bad, r.err.Error(), quotesAllowed)
			break
		}
		lines += bytes.Count(piece, []byte("\n"))
	}
	if all == 0 && len(problems.InputErrors) == 0 {
		problems.Add(&model.InputError{File: "t", Problem: "the file has a header and no values", Allowed: "add at least one line of values"})
	}
	if len(problems.InputErrors) > 0 {
		slices.SortStableFunc(problems.InputErrors, func(a, b *model.InputError) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
		})
		return nil, &problems
	}
	return out, nil
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
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
		want, wantErr := oracle(text)
		got, err := ours(text, 1+int(size))
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			if err == nil || wantErr == nil {
				t.Fatalf("%q: %v, want %v", text, err, wantErr)
			}
			return // what is read before it may be refused for other reasons
		}
		if d := diff.Diff(want, got) + diff.Diff(said(wantErr), said(err)); d != "" {
			t.Fatalf("%q in pieces of %d (-encoding/csv +ours):\n%s", text, 1+int(size), d)
		}
	})
}
