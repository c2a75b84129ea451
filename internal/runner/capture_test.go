package runner

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

func TestCapture(t *testing.T) {
	tests := []struct {
		name     string
		writes   []string
		want     model.Output
		file     string // content of the artifact; "" for none
		fileMax  int64
		fileless bool
	}{
		{name: "nothing", fileMax: 100},
		{name: "fits", writes: []string{"1234", "567890"}, want: model.Output{Text: "1234567890", Total: 10}, fileMax: 100},
		{name: "one too many", writes: []string{"1234567890", "X"}, fileMax: 100, file: "1234567890X",
			want: model.Output{Text: "12345\n[… 1 bytes left out …]\n7890X", Total: 11, Truncated: true}},
		{name: "many small", writes: strings.SplitAfter("a b c d e f g h i j k l m ", " "), fileMax: 100, file: "a b c d e f g h i j k l m ",
			want: model.Output{Text: "a b c\n[… 16 bytes left out …]\n l m ", Total: 26, Truncated: true}},
		{name: "one large", writes: []string{"0123456789abcdefghij"}, fileMax: 100, file: "0123456789abcdefghij",
			want: model.Output{Text: "01234\n[… 10 bytes left out …]\nfghij", Total: 20, Truncated: true}},
		{name: "file full", writes: []string{"0123456789", "abcdefghij"}, fileMax: 12, file: "0123456789ab",
			want: model.Output{Text: "01234\n[… 10 bytes left out …]\nfghij", Total: 20, Truncated: true, ArtifactCut: true}},
		{name: "no file wanted", writes: []string{"0123456789", "a"}, fileless: true,
			want: model.Output{Text: "01234\n[… 1 bytes left out …]\n6789a", Total: 11, Truncated: true}},
		{name: "runes stay whole", writes: []string{"1234é5678é9abcé"}, fileMax: 100, file: "1234é5678é9abcé",
			want: model.Output{Text: "1234\n[… 9 bytes left out …]\nabcé", Total: 18, Truncated: true}},
		{name: "binary", writes: []string{"a\x00b\xff"}, fileMax: 100, file: "a\x00b\xff",
			want: model.Output{Text: "a\uFFFDb\uFFFD", Total: 4, Truncated: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			if tt.fileless {
				path = ""
			}
			c := newCapture(10, path, tt.fileMax)
			for _, w := range tt.writes {
				if n, err := c.Write([]byte(w)); n != len(w) || err != nil {
					t.Errorf("Write(%q) = %d, %v", w, n, err)
				}
			}
			got, file := c.finish()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("finish() (-want +got):\n%s", diff)
			}
			checkFile(t, file, tt.file)
		})
	}
}

func checkFile(t *testing.T, path, want string) {
	t.Helper()
	if want == "" {
		if path != "" {
			t.Errorf("artifact %s, want none", path)
		}
		return
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("artifact = %q, %v; want %q", data, err, want)
	}
}

// TestCaptureNoDisk checks that a file that cannot be written does not stop
// the capture and is reported.
func TestCaptureNoDisk(t *testing.T) {
	c := newCapture(4, filepath.Join(t.TempDir(), "missing", "out"), 100)
	for range 3 {
		if n, err := c.Write([]byte("12345")); n != 5 || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	if out, file := c.finish(); out.Total != 15 || !out.Truncated || file != "" {
		t.Errorf("finish() = %+v, %q; want 15 bytes, truncated, no file", out, file)
	}
}

// FuzzCapture compares with what a plain implementation keeps.
func FuzzCapture(f *testing.F) {
	f.Add([]byte("hello, world, how are you"), 3, 10)
	f.Add([]byte("\xff\xfe é é é é é é é é"), 1, 7)
	f.Fuzz(func(t *testing.T, text []byte, step, limit int) {
		step, limit = max(1, step%9), max(2, limit%50)
		c := newCapture(int64(limit), "", 0)
		for rest := text; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			_, _ = c.Write(rest[:min(step, len(rest))])
		}
		out, _ := c.finish()
		if out.Total != int64(len(text)) || !utf8.ValidString(out.Text) || strings.Contains(out.Text, "\x00") {
			t.Fatalf("finish() = %+v of %q", out, text)
		}
		if !utf8.Valid(text) || bytes.ContainsRune(text, 0) {
			return // replacement characters: only the form counts
		}
		if out.Truncated != (len(text) > limit) || !out.Truncated && out.Text != string(text) {
			t.Errorf("finish() = %+v of %q with limit %d", out, text, limit)
		}
		if out.Truncated {
			checkParts(t, out.Text, string(text), limit)
		}
	})
}

// checkParts checks that head and tail are the text's and account for all of
// it.
func checkParts(t *testing.T, got, text string, limit int) {
	t.Helper()
	begin, end := strings.LastIndex(got, "\n[… "), strings.LastIndex(got, " bytes left out …]\n")
	if begin < 0 || end < 0 {
		t.Fatalf("no marker in %q", got)
	}
	var missing int
	if _, err := fmt.Sscan(got[begin+len("\n[… "):end], &missing); err != nil {
		t.Fatal(err)
	}
	head, tail := got[:begin], got[end+len(" bytes left out …]\n"):]
	if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || len(head)+missing+len(tail) != len(text) {
		t.Errorf("head %q, %d missing, tail %q of %q", head, missing, tail, text)
	}
	if kept := len(head) + len(tail); kept > limit || kept < limit-6 {
		t.Errorf("kept %d bytes of %q, want %d less at most a rune at each cut", kept, text, limit)
	}
}
