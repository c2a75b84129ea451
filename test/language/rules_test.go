package language

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sentenceOf returns a sentence of n words, and phrase one without its end.
func sentenceOf(n int) string { return phrase(n) + "." }

func phrase(n int) string { return "A" + strings.Repeat(" w", n-1) }

// rulesOf returns the rules that a file breaks, with the lines.
func rulesOf(t *testing.T, name, text string) []string {
	t.Helper()
	found, err := checkFile(name, text)
	if err != nil {
		t.Fatalf("checkFile(%s): %v", name, err)
	}
	var rules []string
	for _, f := range found {
		rules = append(rules, fmt.Sprintf("%d %s", f.line, f.rule))
	}
	return rules
}

func TestPageRules(t *testing.T) {
	long := sentenceOf(31)
	tests := []struct {
		name, text string
		want       []string
	}{
		{"30 words", sentenceOf(30), nil},
		{"31 words", long, []string{"1 words"}},
		{"a colon ends no sentence", phrase(16) + ": " + sentenceOf(16), []string{"1 words"}},
		{"a semicolon ends no sentence", phrase(16) + "; " + sentenceOf(16), []string{"1 words"}},
		{"a full stop ends one", sentenceOf(16) + " " + sentenceOf(16), nil},
		{"it ends one before a small letter", sentenceOf(16) + " scalebench" + sentenceOf(15)[1:], nil},
		{"a question mark ends one", phrase(16) + "? " + sentenceOf(16), nil},
		{"an abbreviation ends none", phrase(16) + ", e.g. " + sentenceOf(16), []string{"1 words"}},
		{"the sentence's line", "Short.\nOne more.\n" + long, []string{"3 words"}},
		{"over two lines", strings.Replace(long, " w", "\nw", 1), []string{"1 words"}},
		{"an item", "- " + sentenceOf(20) + "\n- " + long + "\n", []string{"2 words"}},
		{"items without full stops", "- " + phrase(20) + "\n- " + phrase(20) + "\n", nil},
		{"numbered items", "1. " + phrase(20) + "\n2. " + phrase(20) + "\n", nil},
		{"the second paragraph of an item", "- Short.\n\n  " + long + "\n", []string{"3 words"}},
		{"a cell", "| a | b |\n|---|---|\n| short | " + long + " |\n", []string{"3 words"}},
		{"cells", "| " + phrase(20) + " | " + phrase(20) + " |\n", nil},
		{"a bar within code", "| `a | b` | " + sentenceOf(30) + " |\n", nil},
		{"a heading", "## " + long, []string{"1 words"}},
		{"a quotation", "> " + long, []string{"1 words"}},
		{"a block of code", "```text\n" + long + "\n```\n", nil},
		{"an indented block of code", "So:\n\n    " + long + "\n", nil},
		{"a comment", "<!-- " + long + "\n" + long + " -->\n", nil},
		{"code in a sentence", "`" + long + "` " + sentenceOf(29), nil},
		{"the same without marks", phrase(31) + " " + sentenceOf(29), []string{"1 words"}},
		{"an address", phrase(29) + " https://a.test/b?c=d.e", nil},
		{"a link's target", "[See](docs/a-b.md#c) " + sentenceOf(29), nil},
		{"a formula", "S = a + b · c / d − e " + sentenceOf(29), nil},
		{"numbers of sources", phrase(30) + " [1], [2] and", []string{"1 words"}},
		{"a number of a source", phrase(30) + " [1].", nil},
		{"a paragraph of 120 words", strings.Repeat(sentenceOf(20)+" ", 6), nil},
		{"a paragraph of 121 words", strings.Repeat(sentenceOf(20)+" ", 6) + "More.", []string{"1 paragraph"}},
		{"two paragraphs", strings.Repeat(sentenceOf(20)+" ", 6) + "\n\nMore.", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rulesOf(t, "page.md", tt.text)); diff != "" {
				t.Errorf("rules that %q breaks (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func TestSourceRules(t *testing.T) {
	long := sentenceOf(31)
	wide := strings.Repeat("x", maxColumns)
	tests := []struct {
		name, file, text string
		want             []string
	}{
		{"an error", "a.go", `var e = errors.New("` + long + `")`, []string{"3 words"}},
		{"a short error", "a.go", `var e = errors.New("` + sentenceOf(30) + `")`, nil},
		{"an error of a test", "a_test.go", `var e = errors.New("` + long + `")`, nil},
		{"verbs of formats", "a.go", `var e = fmt.Errorf("%d of %s: ` + sentenceOf(28) + `", 1, "a")`, []string{"3 words"}},
		{"joined", "a.go",
			"var e = \"" + phrase(16) + " \" +\n\tname(\"of " + sentenceOf(31) + "\") + \" " + sentenceOf(16) + "\"",
			[]string{"3 words", "4 words"}},
		{"the tag of a parameter", "a.go", "type a struct {\n\tb int `json:\"b\" jsonschema_description:\"" + long + "\"`\n}",
			[]string{"4 words"}},
		{"another tag", "a.go", "type a struct {\n\tb int `json:\"" + long + "\"`\n}", nil},
		{"a construction", "a.go", `var e = errors.New("the failed trials are left out, and told")`, []string{"3 told"}},
		{"lines of help", "a.go", "const long = `" + phrase(20) + "\n\n  " + phrase(20) + "\n  " + sentenceOf(20) + "`", nil},
		{"a paragraph of help", "a.go", "const long = `" + phrase(20) + "\n" + sentenceOf(20) + "`", []string{"3 words"}},
		{"SQL", "a.go", `const query = "SELECT ` + long + `"`, nil},
		{"a pattern", "a.go", `var e = regexp.MustCompile("` + long + `")`, nil},
		{"a comment", "a.go", "// " + phrase(20) + "\n// " + sentenceOf(20), nil},
		{"120 columns", "a.go", "//" + wide[2:], nil},
		{"121 columns", "a.go", "//" + wide[1:], []string{"3 columns"}},
		{"121 columns in a test", "a_test.go", "//" + wide[1:], []string{"3 columns"}},
		{"a letter is a column", "a.go", "//" + strings.Repeat("é", maxColumns-2), nil},
		{"a tab is a column", "a.go", "func f() {\n\t//" + wide[3:] + "\n\t//" + wide[2:] + "\n}", []string{"5 columns"}},
		{"a tag", "a.go", "type a struct {\n\tb int `json:\"" + wide + "\"`\n}", nil},
		{"a wide field", "a.go", "type a struct {\n\tb" + wide + " int `json:\"b\"`\n}", []string{"4 columns"}},
		{"a vague function", "a.go", "func of(a int) int { return a }", []string{"3 name"}},
		{"a vague method", "a_test.go", "func (a *b) Told() int { return 1 }", []string{"3 name"}},
		{"a vague type", "a.go", "type kin struct{}", []string{"3 name"}},
		{"a variable, a field and a clear name", "a.go", "type offer struct{ of int }\n\nvar with = 1", nil},
		{"an import", "a.go", `import "` + wide + `"`, nil},
		{"a directive", "a.go", "//go:generate " + wide, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := "package a\n\n" + tt.text + "\n"
			if diff := cmp.Diff(tt.want, rulesOf(t, tt.file, text)); diff != "" {
				t.Errorf("rules that %q breaks (-want +got):\n%s", text, diff)
			}
		})
	}
}

func TestConstructions(t *testing.T) {
	for _, c := range constructions {
		t.Run(c.name, func(t *testing.T) {
			if got := rulesOf(t, "page.md", c.wrong); !slices.Contains(got, "1 "+c.name) {
				t.Errorf("rules that %q breaks = %v, want %s", c.wrong, got, c.name)
			}
			for _, right := range []string{c.right, "It was called `" + c.wrong + "` before."} {
				if got := rulesOf(t, "page.md", right); got != nil {
					t.Errorf("rules that %q breaks = %v, want none", right, got)
				}
			}
		})
	}
}

func TestFindingSaysWhatToDo(t *testing.T) {
	found, err := checkFile("docs/a.md", "\n"+sentenceOf(34))
	if err != nil || len(found) != 1 {
		t.Fatalf("checkFile = %v, %v, want one finding", found, err)
	}
	const want = `docs/a.md:2: words: 34 words, at most 30 are allowed; divide the sentence (only . ? and ! end one): ` +
		`"A w w w w w w w …"`
	if got := found[0].String(); got != want {
		t.Errorf("finding = %s\nwant      %s", got, want)
	}
}

// FuzzSentences looks for texts whose tokens are lost or counted twice.
func FuzzSentences(f *testing.F) {
	for _, s := range []string{"A b. C d? E", "e.g. a\nb (c.) d", "`a . b` c", "a ... b", "[a](b(c)) d", "", "``` ` ``"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := passage{line: 1, text: plain(text)}
		var got []string
		n, last := 0, 1
		for _, s := range p.sentences() {
			if len(s.tokens) == 0 || s.line < last {
				t.Fatalf("sentence %+v after line %d of %q", s, last, text)
			}
			got, n, last = append(got, s.tokens...), n+words(s.tokens), s.line
		}
		if want := strings.Fields(p.text); !slices.Equal(got, want) {
			t.Errorf("tokens of the sentences of %q = %q, want %q", text, got, want)
		}
		if len(got) < n {
			t.Errorf("%d words in %d tokens of %q", n, len(got), text)
		}
	})
}

// FuzzPage looks for pages that the reader fails on, or reads beyond their end.
func FuzzPage(f *testing.F) {
	seeds := []string{"# a\n\nb\nc\n- d\n  e\n\n| f | `g|h` |", "```\na", "<!--", "|`|", "1. a\n\n       b", "> "}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, last := 1+strings.Count(text, "\n"), 1
		for _, p := range readPage(text) {
			if end := p.line + strings.Count(p.text, "\n"); p.line < last || end > lines {
				t.Errorf("passage at lines %d to %d of %d, after %d: %q", p.line, end, lines, last, text)
			}
			last = p.line
		}
		readText(1, text)
	})
}
