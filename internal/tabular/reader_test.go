package tabular

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

var pair = []Form{{Required: []string{"node", "value"}, Optional: []string{"unit"}}}

const allowed = "node,value"

// readAll reads everything as "line: node=value".
func readAll(r io.Reader) (rows []string, err error) {
	t, err := Open("t.csv", r)
	if err != nil {
		return nil, err
	}
	if _, err := t.Use(pair, allowed); err != nil {
		return nil, err
	}
	node, value := t.Column("node"), t.Column("value")
	for t.Next() {
		if _, ok := Number(t.Text(value)); !ok {
			t.RefuseCell(value, "value", "a number")
			continue
		}
		rows = append(rows, fmt.Sprintf("%d: %s=%s", t.Line(), t.Text(node), t.Text(value)))
	}
	return rows, t.Err()
}

// TestDialects: a table may be written in many ways.
func TestDialects(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"plain":                  {"node,value\na,1\nb,2\n", []string{"2: a=1", "3: b=2"}},
		"no line end at the end": {"node,value\na,1", []string{"2: a=1"}},
		"byte order mark, CRLF":  {"\ufeffnode,value\r\na,1\r\n\r\nb,2\r\n", []string{"2: a=1", "4: b=2"}},
		"semicolons, spaces":     {" Value ; NODE \n 1 ; a \n;\n2;b\n", []string{"2: a=1", "4: b=2"}},
		"tabs, comments":         {"# mine, \"\n\n# more\nnode\tvalue\na\t1\n", []string{"5: a=1"}},
		"cells that begin with #": {"# mine\nnode,value\n#1,1\na,2\n#2,3\n",
			[]string{"3: #1=1", "4: a=2", "5: #2=3"}},
		"sep= and another separator": {"sep=|\r\nnode|value\r\n#1|2\r\n", []string{"3: #1=2"}},
		"sep= in quotes, a mark":     {"\ufeff\"sep=;\"\nnode;value\na;2\n", []string{"3: a=2"}},
		"vertical bars":              {"node | value\na | 2\n", []string{"2: a=2"}},
		"UTF-16": {
			"\xff\xfen\x00o\x00d\x00e\x00,\x00v\x00a\x00l\x00u\x00e\x00\n\x00\xe4\x00,\x001\x00\n\x00",
			[]string{"2: ä=1"}},
		"UTF-16, the other way": {
			"\xfe\xff\x00n\x00o\x00d\x00e\x00,\x00v\x00a\x00l\x00u\x00e\x00\n\x00a\x00,\x001", []string{"2: a=1"}},
		"tabs, an empty cell":        {"unit\tnode\tvalue\n\ta\t1\n", []string{"2: a=1"}},
		"quoted, over several lines": {"node,value\n\"a\nx\",1\n\"say \"\"b\"\"\",2\n", []string{"2: a\nx=1", "4: say \"b\"=2"}},
	} {
		got, err := readAll(strings.NewReader(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := io.WriteString(w, c.text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if again, err := readAll(&packed); !cmp.Equal(got, again) || err != nil {
			t.Errorf("%s, packed: %q, %v, want %q", name, again, err, got)
		}
	}
}

// TestPositions: line and column of what is wrong, in characters, far into a
// file as at its beginning, whatever stands before.
func TestPositions(t *testing.T) {
	filler := strings.Repeat("größe,1\n", 40_000) // several buffers
	for name, c := range map[string]struct{ text, want string }{
		"at once":         {"node,value\nä,x\n", `t.csv:2:3: value is "x"; use a number`},
		"far":             {"node,value\n" + filler + "ä,x\n", `t.csv:40002:3: value is "x"; use a number`},
		"behind comments": {strings.Repeat("# ü, \"\n\n", 20_001) + "node,value\nää,x\n", `t.csv:40004:4: value is "x"; use a number`},
		"in a quoted row": {"node,value\n\"a\nüü\",x\n", `t.csv:3:5: value is "x"; use a number`},
		"empty":           {"node,value\nö,\n", `t.csv:2:3: value is empty; use a number`},
		"a comment below": {"node,value\na,1\n# ü\n", `t.csv:3:1: the line has 1 value; the header has 2 columns; comments stand before it, and not below: delete this line if it is one`},
		"no end of a row": {"node,value\n\"" + strings.Repeat("a\n", 1<<20),
			"t.csv: a row is longer than 1.00 MiB; is a quotation mark not closed?"},
		"too many columns": {"node" + strings.Repeat(",", 100_000) + "\n1\n",
			"t.csv:1:1: there are 100,001 columns; give at most 16,384"},
		"too few":              {"node,value\n" + filler + "ö\n", `t.csv:40002:1: the line has 1 value; the header has 2 columns`},
		"a mark far in":        {"node,value\n" + filler + "öö\",1\n", "t.csv:40002:3: bare \" in non-quoted-field; double each quotation mark inside a value: \"like \"\"this\"\"\""},
		"no text far in":       {"node,value\na,x\n" + filler + "\xff,1\n", "t.csv: the file is not UTF-8 text; save it as CSV in UTF-8"},
		"cut in a character":   {"node,value\na,1\xc3", "t.csv: the file is not UTF-8 text; save it as CSV in UTF-8"},
		"zero byte":            {"node,value\na,\x00\n", "t.csv: the file is not UTF-8 text; save it as CSV in UTF-8"},
		"twice":                {"node,value,value\na,1,1\n", `t.csv:1:12: the column "value" appears twice; columns of this form: node, value, unit`},
		"unknown column":       {"größe,node,value\n", `t.csv:1:1: unknown column "größe"; columns of this form: node, value, unit`},
		"unknown form":         {"a,b\n", "t.csv:1:1: unknown columns a, b; node,value"},
		"empty file":           {"\n# nothing\n", "t.csv: the file is empty; node,value"},
		"a header and nothing": {"node,value\n\n", "t.csv: the file has a header and no values; add at least one line of values"},
	} {
		_, err := readAll(strings.NewReader(c.text))
		if err == nil || err.Error() != c.want || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestCharactersAcrossBuffers: a character may be divided between two reads.
func TestCharactersAcrossBuffers(t *testing.T) {
	for shift := range 5 {
		text := "node,value\n" + strings.Repeat("x", shift) + strings.Repeat("日本語", 30_000) + ",1\n"
		if rows, err := readAll(strings.NewReader(text)); err != nil || len(rows) != 1 {
			t.Errorf("shifted by %d: %d rows, %v, want 1", shift, len(rows), err)
		}
	}
}

// TestManyProblems: those that are alike are reported once, the others counted.
func TestManyProblems(t *testing.T) {
	_, err := readAll(strings.NewReader("node,value\n" + strings.Repeat("a,x\n", 1000)))
	var list *model.InputError
	if !errors.As(err, &list) || list.Line != 2 {
		t.Fatalf("first problem %v, want line 2", list)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " (the same 49 times more, first in line 3, 4, 5, 6, 7)") || lines[1] != "t.csv: and 950 more" {
		t.Errorf("the problems are told as %q", lines)
	}
}

// TestCutGzip: what is wrong with a packed file is not its rows.
func TestCutGzip(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, "node,value\n"+strings.Repeat("a,1\n", 1000)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	whole := packed.Bytes()
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6]++ // of the checksum
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"in the header":   {whole[:5], "t.csv: the gzip file is cut; make or copy it again"},
		"in the rows":     {whole[:len(whole)/2], "t.csv: the gzip file is cut; make or copy it again"},
		"in the checksum": {whole[:len(whole)-3], "t.csv: the gzip file is cut; make or copy it again"},
		"damaged":         {damaged, "t.csv: the gzip file is damaged; make or copy it again"},
	} {
		if _, err := readAll(bytes.NewReader(c.data)); err == nil || err.Error() != c.want || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestReadError: a file that cannot be read is not a bad table.
func TestReadError(t *testing.T) {
	fire := errors.New("disk on fire")
	for name, r := range map[string]io.Reader{
		"at once": failing{fire},
		"later":   io.MultiReader(strings.NewReader("node,value\na,1\n"+strings.Repeat("b,2\n", 50_000)), failing{fire}),
	} {
		if _, err := readAll(r); !errors.Is(err, fire) || errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %v and not ErrUsage", name, err, fire)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestMemory: what a table takes does not grow with its length.
func TestMemory(t *testing.T) {
	r := io.MultiReader(strings.NewReader("node,value\n"), io.LimitReader(endless("a-node-of-some-name,12345.678\n"), 64<<20))
	table, err := Open("t.csv", r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Use(pair, allowed); err != nil {
		t.Fatal(err)
	}
	most := uint64(0)
	var m runtime.MemStats
	for n := 0; table.Next(); n++ {
		if n%200_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if most > 16<<20 {
		t.Errorf("%d MiB are in use while 64 MiB are read, want at most 16", most>>20)
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// FuzzReader: whatever the file, there are rows of its header's width, or an
// error that names it.
func FuzzReader(f *testing.F) {
	f.Add("node,value\na,1\n")
	f.Add("\ufeff#\n\"node\";\"value\"\n\"a\n;\"\";\";1\n")
	f.Add("\x1f\x8bnot packed")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := readAll(strings.NewReader(text))
		if err == nil && len(rows) == 0 {
			t.Error("neither rows nor an error")
		}
		if err != nil && !strings.Contains(err.Error(), "t.csv") {
			t.Errorf("error %q does not name the file", err)
		}
	})
}

// BenchmarkReader: rows a second.
func BenchmarkReader(b *testing.B) {
	text := "node,value\n" + strings.Repeat("node-0000001,12345.678\n", 100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := Open("t.csv", strings.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Use(pair, allowed); err != nil {
			b.Fatal(err)
		}
		for t.Next() {
			if _, ok := Number(t.Text(t.Column("value"))); !ok {
				b.Fatal(t.Err())
			}
		}
	}
}
