package doc

import "github.com/scalebench/scalebench/internal/doc/num"

// WarningsOf are the texts that parts warn of, each once, with the names of the parts
// where it is not of all. texts are those of the i-th part.
func WarningsOf(parts []string, texts func(i int) []string) (out []Warning) {
	of := make(map[string][]string)
	var all []string
	for i, part := range parts {
		for _, text := range texts(i) {
			if of[text] == nil {
				all = append(all, text)
			}
			of[text] = append(of[text], part)
		}
	}
	for _, text := range all {
		if names := of[text]; len(names) < len(parts) {
			text = num.List(names) + ": " + text
		}
		out = append(out, Warning{Text: text})
	}
	return out
}
