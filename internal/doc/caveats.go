package doc

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/model"
)

// Words are the words of a caveat, to be shown as they are: what a program
// decides, it decides by code and arguments.
func Words(t caveat.Text) string { return string(t) }

// Caveats are caveats, which have their texts, as warnings: each text once.
func Caveats(all ...caveat.Caveat) []Warning {
	var out []Warning
	for _, text := range texts(all) {
		out = append(out, Warning{Text: text})
	}
	return out
}

// mostOfCode is how many caveats of one code a list of a document has.
const mostOfCode = 10

// texts are those of caveats for people, each once: all problems, and of what only
// warns ten of a code, and how many more there are. JSON and CSV have them all.
func texts(all []caveat.Caveat) []string {
	var out []string
	seen, told := make(map[caveat.Text]bool), make(map[caveat.Code]int)
	more := 0
	for _, c := range all {
		if seen[c.Text] {
			continue
		}
		seen[c.Text] = true
		if c.Severity != model.Problem {
			if told[c.Code]++; told[c.Code] > mostOfCode {
				more++
				continue
			}
		}
		out = append(out, string(c.Text))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more of these; JSON and CSV have all", more))
	}
	return out
}

// Noting is a part of a document with the caveats that it carries.
type Noting struct {
	Link    Link
	Caveats []caveat.Caveat
}

// LinkedCaveats says each caveat of several parts once, in order of first appearance,
// with links to the parts that carry it.
func LinkedCaveats(parts []Noting) []Warning {
	var out []Warning
	place := make(map[caveat.Text]int)
	for _, p := range parts {
		for _, c := range p.Caveats {
			k, known := place[c.Text]
			if !known {
				k, place[c.Text] = len(out), len(out)
				out = append(out, Warning{Text: string(c.Text)})
			}
			if !slices.Contains(out[k].Links, p.Link) {
				out[k].Links = append(out[k].Links, p.Link)
			}
		}
	}
	return out
}

// Joined are the texts of caveats in one cell of a table for programs.
func Joined(texts []caveat.Text) string {
	var all []string
	for _, t := range texts {
		all = append(all, string(t))
	}
	return strings.Join(all, "; ")
}

// Texts are those of all caveats, each once, for a list that is no warning.
func Texts(all []caveat.Caveat) []string {
	var out []string
	for _, text := range caveat.List(all).Texts() {
		out = append(out, string(text))
	}
	return out
}

// Listed is a list of caveats, which have their texts, within a section.
func Listed(all []caveat.Caveat) Block { return Cautions(texts(all)) }

// Noted is [Listed] with capital letters.
func Noted(all []caveat.Caveat) Block {
	items := texts(all)
	for i, text := range items {
		first, size := utf8.DecodeRuneInString(text)
		items[i] = string(unicode.ToUpper(first)) + text[size:]
	}
	return Cautions(items)
}
