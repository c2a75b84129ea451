package language

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestMatch(t *testing.T) {
	f := func(file, text string) finding { return newFinding(file, 1, "words", text, "") }
	e := func(file, text string) exception { return f(file, text).exception }
	tests := []struct {
		name                string
		found               []finding
		list                []exception
		fresh, unused, kept []exception
	}{
		{"nothing", nil, nil, nil, nil, nil},
		{"an exception", []finding{f("a", "Old.")}, []exception{e("a", "Old.")}, nil, nil, []exception{e("a", "Old.")}},
		{"a new text", []finding{f("a", "New.")}, nil, []exception{e("a", "New.")}, nil, nil},
		{"a touched text", []finding{f("a", "Old too.")}, []exception{e("a", "Old.")},
			[]exception{e("a", "Old too.")}, []exception{e("a", "Old.")}, nil},
		{"a text in other lines", []finding{f("a", "Old\n\tone.")}, []exception{e("a", "Old one.")},
			nil, nil, []exception{e("a", "Old one.")}},
		{"a mended text", nil, []exception{e("a", "Old.")}, nil, []exception{e("a", "Old.")}, nil},
		{"a second copy", []finding{f("a", "Old."), f("b", "Old.")}, []exception{e("a", "Old.")},
			[]exception{e("b", "Old.")}, nil, []exception{e("a", "Old.")}},
		{"two of one file", []finding{f("a", "Old."), f("a", "Old.")}, []exception{e("a", "Old."), e("a", "Old.")},
			nil, nil, []exception{e("a", "Old."), e("a", "Old.")}},
		{"one of two mended", []finding{f("a", "Old.")}, []exception{e("a", "Old."), e("a", "Old.")},
			nil, []exception{e("a", "Old.")}, []exception{e("a", "Old.")}},
		{"a text that moved", []finding{f("b", "Old.")}, []exception{e("a", "Old.")}, nil, nil, []exception{e("b", "Old.")}},
		{"its own file first", []finding{f("a", "Old."), f("b", "Old.")}, []exception{e("b", "Old."), e("c", "Old.")},
			nil, nil, []exception{e("b", "Old."), e("a", "Old.")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fresh, unused, kept := match(tt.found, tt.list)
			if len(kept) > len(tt.list) {
				t.Errorf("%d of %d exceptions are kept: the list has grown", len(kept), len(tt.list))
			}
			var new []exception
			for _, f := range fresh {
				new = append(new, f.exception)
			}
			got, want := [][]exception{new, unused, kept}, [][]exception{tt.fresh, tt.unused, tt.kept}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(exception{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("fresh, unused and kept (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExceptionsFile holds the list to its form: sorted, so that branches that
// remove lines rarely meet.
func TestExceptionsFile(t *testing.T) {
	const text = "a.go columns 00000001\na.go words 00000002\nb.md told 00000003\nb.md told 00000003\n"
	list, err := parseExceptions(text)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	if got := formatExceptions(list); got != text {
		t.Errorf("formatExceptions = %q, want %q", got, text)
	}
	if _, err := parseExceptions("a.go words\n"); err == nil || !strings.Contains(err.Error(), "file rule hash") {
		t.Errorf("parseExceptions of a line without hash: %v, want an error that names the form", err)
	}
}
