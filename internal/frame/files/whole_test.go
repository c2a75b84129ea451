package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/skip"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pack(t *testing.T, w io.WriteCloser, packed *bytes.Buffer, text string) string {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func packers(t *testing.T, text string) map[string]string {
	t.Helper()
	var a, b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"gzip": pack(t, gzip.NewWriter(&a), &a, text), "Zstandard": pack(t, z, &b, text)}
}

// noise is a table that cannot be packed well, so that a cut is felt.
func noise(rows int) string {
	random := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	b.WriteString("zone,value\n")
	for range rows {
		fmt.Fprintf(&b, "z%d,%v\n", random.IntN(4), random.Float64())
	}
	return b.String()
}

// TestPacked: by the name or not, packed tables are unpacked; cut or damaged ones
// are refused.
func TestPacked(t *testing.T) {
	text := noise(5000)
	want, _, err := Read(t.Context(), "x", strings.NewReader(text), frame.Choice{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for how, packed := range packers(t, text) {
		got, _, err := Read(t.Context(), "stdin", strings.NewReader(packed), frame.Choice{}, Limits{})
		if d := diff.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-plain +packed):\n%s", how, err, d)
		}
		for _, cut := range []int{5, len(packed) / 2, len(packed) - 3} {
			_, _, err := Read(t.Context(), "stdin", strings.NewReader(packed[:cut]), frame.Choice{}, Limits{})
			if want := "stdin: the " + how + " file is cut; make or copy it again"; said(err) != want || !errors.Is(err, model.ErrUsage) {
				t.Errorf("%s, cut at %d: %v, want %s", how, cut, err, want)
			}
		}
		broken := []byte(packed)
		for i := len(broken) / 2; i < len(broken)/2+40; i++ {
			broken[i] ^= 0x5a
		}
		_, _, err = Read(t.Context(), "stdin", bytes.NewReader(broken), frame.Choice{}, Limits{})
		if want := "stdin: the " + how + " file is damaged; make or copy it again"; said(err) != want {
			t.Errorf("%s, damaged: %v, want %s", how, err, want)
		}
	}
}

// endless repeats a line for ever.
type endless struct {
	header, line string
	rest         string
	begun        bool
	each         func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.each != nil {
		e.each()
	}
	n := 0
	for n < len(p) {
		if e.rest == "" {
			if e.rest = e.line; !e.begun {
				e.rest, e.begun = e.header+e.line, true
			}
		}
		k := copy(p[n:], e.rest)
		n, e.rest = n+k, e.rest[k:]
	}
	return n, nil
}

// TestLimits: what does not end is refused, whatever it has too much of.
func TestLimits(t *testing.T) {
	skip.IfShort(t)
	for name, c := range map[string]struct {
		in     endless
		limits Limits
		want   string
	}{
		"rows":            {endless{header: "value\n", line: "1\n"}, Limits{Rows: 100_000}, "stdin: there are more than 100,000 rows; give a part of it, such as every tenth row"},
		"memory":          {endless{header: "node,value\n", line: "a,1\n"}, Limits{Memory: 1 << 20}, "of memory; choose fewer columns with --by, or give a part of it"},
		"no line end":     {endless{header: "value\n", line: "1"}, Limits{}, "stdin:2:1: the row is longer than 16.0 MiB; is a quotation mark not closed?"},
		"open quotation":  {endless{header: "node,value\na,1\n", line: "\"a,1\n"}, Limits{Rows: 1000}, `double each quotation mark`},
		"quotation":       {endless{header: "value\n\"", line: "1\n"}, Limits{}, "stdin:2:1: the row is longer than 16.0 MiB; is a quotation mark not closed?"},
		"no header":       {endless{line: "#\n"}, Limits{}, "stdin: the file is empty; give a table with a line of names, such as time,node,value, and lines of values"},
		"a zero device":   {endless{line: "\x00"}, Limits{}, "stdin: the file is not UTF-8 text; save it as CSV in UTF-8"},
		"benchmarks":      {endless{line: "BenchmarkX 1 5 ns/op\n"}, Limits{Rows: 1000}, "stdin: there are more than 1,000 values; give a part of it"},
		"Parquet, a pipe": {endless{header: "PAR1", line: "x"}, Limits{Spool: 1 << 20}, "stdin: there are more than 1.00 MiB; a Parquet file is read from its end: give the name of a file that is not packed instead of a stream"},
	} {
		_, _, err := Read(t.Context(), "stdin", &c.in, frame.Choice{}, c.limits)
		if !strings.Contains(said(err), c.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestCancel: Ctrl-C ends the reading, of a stream that goes on as of one in
// which nothing comes.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	in := endless{header: "value\n", line: "\n", each: func() {
		if reads++; reads == 20 {
			cancel()
		}
	}}
	if _, _, err := Read(ctx, "stdin", &in, frame.Choice{Value: "value"}, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("going on: %v, want %v", err, context.Canceled)
	}
	ctx, cancel = context.WithCancel(t.Context())
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "value\n1\n")
		cancel()
	}()
	if _, _, err := Read(ctx, "stdin", r, frame.Choice{}, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing coming: %v, want %v", err, context.Canceled)
	}
	_ = w.Close() // the reading that was left behind
}

// TestFailing: an error of the reader comes through, and is not taken for the
// file's.
func TestFailing(t *testing.T) {
	skip.IfShort(t)
	broken := errors.New("broken disk")
	for name, text := range map[string]string{"text": noise(50_000), "gzip": packers(t, noise(50_000))["gzip"], "Zstandard": packers(t, noise(50_000))["Zstandard"]} {
		in := io.MultiReader(strings.NewReader(text[:len(text)/2]), iotestError{broken})
		if _, _, err := Read(t.Context(), "x", in, frame.Choice{}, Limits{}); !errors.Is(err, broken) || errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %v", name, err, broken)
		}
	}
}

type iotestError struct{ error }

func (e iotestError) Read([]byte) (int, error) { return 0, e.error }

// TestPieces: several workers find what one finds, wherever the table is cut: in
// values, facts, their order, doubts and problems.
func TestPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var b strings.Builder
	b.WriteString("metric,time,zone,note,value\n")
	for i := range 3000 {
		value := fmt.Sprint(random.IntN(1000))
		if random.IntN(50) == 0 {
			value = "NA"
		}
		note := fmt.Sprintf("n%d", random.IntN(300))
		if random.IntN(9) == 0 {
			note = "\"two\nlines, " + note + "\""
		}
		fmt.Fprintf(&b, "m%d,%d,z%d,%s,%s\n", random.IntN(3), 1767225600+i/2, random.IntN(40), note, value)
	}
	bad := strings.ReplaceAll(b.String(), ",9", ",x9")
	for _, text := range []string{b.String(), bad} {
		want, told, wantErr := readIn(t, text, pieceSize)
		for _, size := range []int{1, 50, 7777} {
			got, gotTold, err := readIn(t, text, size)
			if d := diff.Diff(want, got) + diff.Diff(told, gotTold) + diff.Diff(said(wantErr), said(err)); d != "" {
				t.Fatalf("in pieces of %d (-whole +pieces):\n%s", size, d)
			}
		}
		if (wantErr != nil) != (text == bad) || wantErr == nil && len(want) != 3 {
			t.Errorf("%d frames, %v", len(want), wantErr)
		}
	}
}

// readIn reads a text in pieces of about that size.
func readIn(t *testing.T, text string, size int) ([]frame.Frame, []string, error) {
	t.Helper()
	f := &file{name: "t.csv", choice: frame.Choice{Value: "value", Time: "time", By: []string{"zone", "note"}}, limits: Limits{}.orDefault(), zone: utc, size: size}
	if err := f.open(t.Context(), strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	frames, err := f.read(t.Context())
	return frames, f.told, err
}

// FuzzRead: whatever a file is, there are frames that keep their promises, or an
// error; never a panic.
func FuzzRead(f *testing.F) {
	for _, c := range tables {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("goos: linux\nBenchmarkA-8 1 5 ns/op\n"))
	for _, name := range parquetFiles {
		data, err := os.ReadFile("testdata/" + name + ".parquet")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frames, _, err := Read(t.Context(), "t", bytes.NewReader(data), frame.Choice{}, Limits{Rows: 100_000, Memory: 8 << 20, Spool: 1 << 20})
		if (err == nil) != (len(frames) > 0) {
			t.Fatalf("%d frames and %v", len(frames), err)
		}
		for _, f := range frames {
			sound(t, &f)
		}
	})
}

// sound holds a frame to its contract.
func sound(t *testing.T, f *frame.Frame) {
	t.Helper()
	if f.Len() == 0 || f.Times != nil && len(f.Times) != f.Len() {
		t.Errorf("%s: %d values, %d times", f.Name(), f.Len(), len(f.Times))
	}
	for i, v := range f.Values {
		if v-v != 0 {
			t.Errorf("%s: value %d is %v", f.Name(), i, v)
		}
		if f.Times != nil && i > 0 && cmp.Less(f.Times[i], f.Times[i-1]) {
			t.Errorf("%s: time %d before the one before", f.Name(), i)
		}
	}
	for _, x := range f.Facts {
		if len(x.Codes) != f.Len() || x.Levels[0] != "" || len(x.Levels) < 2 {
			t.Errorf("%s: fact %s has %d codes, levels %q", f.Name(), x.Name, len(x.Codes), x.Levels)
		}
		for _, c := range x.Codes {
			if int(c) >= len(x.Levels) {
				t.Errorf("%s: fact %s has no level %d", f.Name(), x.Name, c)
			}
		}
	}
}

// BenchmarkRead is how fast tables are read: in MB/s of text.
func BenchmarkRead(b *testing.B) {
	random := rand.New(rand.NewPCG(9, 10))
	var plain, marked strings.Builder
	plain.WriteString("time,zone,node,value\n")
	marked.WriteString("time,zone,node,value\n")
	for i := range 200_000 {
		at, v := stamp(1767225600e9+int64(i)*1e9), 100+random.NormFloat64()
		fmt.Fprintf(&plain, "%s,eu-central-1%c,node-%02d,%.4f\n", at, 'a'+rune(i%3), i%50, v)
		fmt.Fprintf(&marked, "%q,\"eu-central-1%c\",\"node-%02d\",%v\n", at, 'a'+rune(i%3), i%50, v)
	}
	for name, text := range map[string]string{"plain": plain.String(), "quoted, all digits": marked.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Read(b.Context(), "x", strings.NewReader(text), frame.Choice{}, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
