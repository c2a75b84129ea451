package language

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxWords     = 30  // of a sentence
	maxParagraph = 120 // words of a paragraph, of pages only
)

// A finding is a text that breaks a rule.
type finding struct {
	exception
	line int
	text string
	what string // how it breaks the rule, and what to do
}

func (f finding) String() string {
	begin := strings.Fields(f.text)
	more := ""
	if len(begin) > 8 {
		begin, more = begin[:8], " …"
	}
	return fmt.Sprintf("%s:%d: %s: %s: %q", f.file, f.line, f.rule, f.what, strings.Join(begin, " ")+more)
}

func newFinding(file string, line int, rule, text, what string) finding {
	text = strings.Join(strings.Fields(text), " ")
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:8]
	return finding{exception{file, rule, hash}, line, text, what}
}

// checkTree returns what breaks a rule in all pages and Go files below root.
func checkTree(root string) ([]finding, error) {
	var found []finding
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, path, d.Name())
		}
		if ext := filepath.Ext(path); ext != ".md" && ext != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		of, err := checkFile(filepath.ToSlash(name), string(text))
		found = append(found, of...)
		return err
	})
	return found, err
}

// skip leaves out what the project did not write or does not keep.
func skip(root, dir, name string) error {
	if dir != root && strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "bin", "dist"}, name) {
		return fs.SkipDir
	}
	return nil
}

// checkFile returns what breaks a rule in one file, by line.
func checkFile(name, text string) ([]finding, error) {
	var found []finding
	if strings.HasSuffix(name, ".md") {
		for _, p := range readPage(text) {
			if n := p.words(); n > maxParagraph {
				found = append(found, newFinding(name, p.line, "paragraph", p.text, fmt.Sprintf(
					"%d words, at most %d are allowed; divide the paragraph, or write a list", n, maxParagraph)))
			}
			found = append(found, checkSentences(name, p)...)
		}
		return found, nil
	}
	s, err := readSource(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for line, n := range s.wide() {
		found = append(found, newFinding(name, line, "columns", s.rows[line-1], fmt.Sprintf(
			"%d columns, at most %d are allowed; divide the line", n, maxColumns)))
	}
	for _, n := range s.vagueNames() {
		found = append(found, newFinding(name, n.line, "name", n.text,
			"this name says nothing; take a noun for a thing, and a verb with its object for an action"))
	}
	if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "test/") {
		for _, p := range s.passages() {
			found = append(found, checkSentences(name, p)...)
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	return found, nil
}

func checkSentences(name string, p passage) []finding {
	var found []finding
	for _, s := range p.sentences() {
		text := s.text()
		if n := words(s.tokens); n > maxWords {
			found = append(found, newFinding(name, s.line, "words", text, fmt.Sprintf(
				"%d words, at most %d are allowed; divide the sentence (only . ? and ! end one)", n, maxWords)))
		}
		for _, c := range avoided(text, p.running) {
			found = append(found, newFinding(name, s.line, c.name, text, fmt.Sprintf("%q; write instead: %s",
				c.in(text), c.instead)))
		}
	}
	return found
}
