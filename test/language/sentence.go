package language

import (
	"regexp"
	"strings"
	"unicode"
)

// A passage is read in one piece: a paragraph, an item of a list, a cell of a
// table, a heading, or a message.
type passage struct {
	line int    // of its first character in the file, from 1
	text string // without markup; its line breaks are those of the file
	// running text is a paragraph or an item of a list on a page.
	running bool
}

// A sentence is a part of a passage.
type sentence struct {
	line   int
	tokens []string // what white space separates, never empty
}

// joint stands for white space within code, which is one token.
const joint = "\x1f"

func (s sentence) text() string {
	return strings.ReplaceAll(strings.Join(s.tokens, " "), joint, " ")
}

// sentences splits a passage. Every token is in exactly one sentence.
func (p passage) sentences() []sentence {
	var all []sentence
	var now sentence
	for i, row := range strings.Split(p.text, "\n") {
		for _, token := range strings.Fields(row) {
			if len(now.tokens) == 0 {
				now.line = p.line + i
			}
			now.tokens = append(now.tokens, token)
			if endsSentence(token) {
				all, now = append(all, now), sentence{}
			}
		}
	}
	if len(now.tokens) > 0 {
		all = append(all, now)
	}
	return all
}

func (p passage) words() int {
	return words(strings.Fields(p.text))
}

const (
	openers = "([{\"'“‘*_"
	closers = ")]}\"'”’*_"
)

// abbreviations end in a full stop that ends no sentence. "etc." is not among
// them: it mostly ends one.
const abbreviations = " e.g. i.e. cf. vs. fig. figs. eq. sec. sect. al. approx. pp. "

func endsSentence(token string) bool {
	token = strings.TrimRight(token, closers)
	if token == "" || !strings.ContainsAny(token[len(token)-1:], ".?!") || strings.HasSuffix(token, "..") {
		return false
	}
	word := strings.ToLower(strings.TrimLeft(token, openers))
	return !strings.Contains(abbreviations, " "+word+" ")
}

// operators join what is before and after them to a formula.
const operators = "=<>≤≥≠≈·×÷*/+−±^→←|∈"

// citation is the number of a source, as in "[12]".
var citation = regexp.MustCompile(`^\(?\[\d+\](, ?)?\)?[.,;:]?$`)

// words counts tokens with a letter or a digit. A formula counts as one, and
// so do code, an address and a verb of a format, which are single tokens. The
// number of a source does not count.
func words(tokens []string) int {
	n, formula := 0, false
	for _, token := range tokens {
		switch {
		case strings.Trim(token, operators) == "":
			formula = n > 0
		case citation.MatchString(token):
		case strings.ContainsFunc(token, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
			if !formula {
				n++
			}
			formula = false
		}
	}
	return n
}

var (
	codeSpan = regexp.MustCompile("``[^`]+``|`[^`]+`")
	link     = regexp.MustCompile(`!?\[([^\[\]]*)\](\([^()\s]*(\([^()\s]*\)[^()\s]*)*\)|\[[^\[\]]*\])`)
	tag      = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	space    = regexp.MustCompile(`\s+`)
)

// plain takes the markup out of a text, and keeps its line breaks.
func plain(text string) string {
	text = codeSpan.ReplaceAllStringFunc(text, func(code string) string {
		return space.ReplaceAllString(code, joint) + strings.Repeat("\n", strings.Count(code, "\n"))
	})
	text = link.ReplaceAllString(text, "$1")
	return strings.NewReplacer("**", "", `\*`, "*", `\|`, "|", `\_`, "_").Replace(text)
}
