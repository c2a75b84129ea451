package corpus

import (
	"fmt"
	"regexp"
	"testing"
)

// table is codes.tsv: reasons that have no code in the source.
type table []reason

// reason is one row.
type reason struct {
	code, pkg string
	pattern   *regexp.Regexp
}

func readCodes(t *testing.T) (out table) {
	t.Helper()
	known := make(map[string]bool)
	for _, r := range rows(t, codesFile, 4) {
		pattern, err := regexp.Compile("^(?s:" + r[2] + ")")
		if err != nil || r[0] == "" || r[1] == "" || r[3] == "" || known[r[0]] {
			t.Errorf("%s: %q: %v, or an empty cell, or a code that is there twice", codesFile, r, err)
			continue
		}
		known[r[0]] = true
		out = append(out, reason{r[0], r[1], pattern})
	}
	return out
}

// codeOf is the code of a sentence, and what it is about.
func (t table) codeOf(text string) (code, part string, ok bool) {
	for _, r := range t {
		m := r.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if i := r.pattern.SubexpIndex("part"); i >= 0 && m[i] != "" {
			part = "part=" + word(m[i])
		}
		return r.code, part, true
	}
	return "", "", false
}

// name is how uncovered.tsv calls a code.
func (r reason) name() string { return fmt.Sprintf("%s %s", r.pkg, r.code) }
