package doc

import (
	"strings"

	"github.com/scalebench/scalebench/internal/caveat"
)

// Words are the words of a caveat, to be shown as they are: what a program
// decides, it decides by code and arguments.
func Words(t caveat.Text) string { return string(t) }

// Caveats are caveats, which have their texts, as warnings: each text once.
func Caveats(all ...caveat.Caveat) []Warning {
	var out []Warning
	for _, text := range caveat.List(all).Texts() {
		out = append(out, Warning{Text: string(text)})
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

// Unknowns is a list of caveats, which have their texts, that are no warnings.
func Unknowns(all []caveat.Caveat) Block {
	block := Listed(all)
	block.List.Tone = Plain
	return block
}

// Listed is a list of caveats, which have their texts, within a section.
func Listed(all []caveat.Caveat) Block {
	var items []string
	for _, text := range caveat.List(all).Texts() {
		items = append(items, string(text))
	}
	return Cautions(items)
}

// Noted is [Listed] with capital letters.
func Noted(all []caveat.Caveat) Block {
	var items []string
	for _, text := range caveat.List(all).Texts() {
		items = append(items, strings.ToUpper(string(text[:1]))+string(text[1:]))
	}
	return Cautions(items)
}
