package jobs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/workload"
)

// placeholders are what a command names, with the variables of its environment that hold
// the values. A value never is a text of the shell: names of items come from others.
var placeholders = []struct{ text, variable string }{
	{"{in}", "SCALEBENCH_IN"}, {"{out}", "SCALEBENCH_OUT"}, {"{item}", "SCALEBENCH_ITEM"},
}

// withVariables has each placeholder replaced by its variable, as one word.
func withVariables(command string) string {
	for _, p := range placeholders {
		command = strings.ReplaceAll(command, p.text, `"$`+p.variable+`"`)
	}
	return command
}

// checkPlaceholders refuses those in quotes, which would be another text there, and those
// that are misspelt.
func checkPlaceholders(key, command string) error {
	for _, found := range braced.FindAllStringSubmatch(command, -1) {
		word := found[1]
		if s := suggest(word); s != "" {
			return workload.Invalid(true, key, fmt.Sprintf("has the unknown placeholder {%s}", word),
				fmt.Sprintf("did you mean {%s}?", s))
		}
	}
	text, variable := quoted(command)
	return workload.Invalid(text != "", key, "has "+text+" inside quotes",
		fmt.Sprintf("write it without quotes: it is one word, whatever the name; or \"$%s\" in a longer word", variable))
}

// braced are words in braces that are no variables of the shell.
var braced = regexp.MustCompile(`(?:^|[^$\w])\{(\w+)\}`)

// suggest is the placeholder that was probably meant; empty: it is one, or something else.
func suggest(word string) string {
	switch lower := strings.ToLower(word); lower {
	case "in", "out", "item":
		if lower == word {
			return ""
		}
		return lower
	case "input", "infile":
		return "in"
	case "output", "outfile":
		return "out"
	}
	return num.Suggest(word, []string{"item"})
}

// quoted returns the first placeholder inside quotes of the shell, and its variable.
func quoted(command string) (text, variable string) {
	var open []byte // of quotes, and of parentheses in and around them
	for i := 0; i < len(command); i++ {
		c, within := command[i], byte(0)
		if len(open) > 0 {
			within = open[len(open)-1]
		}
		switch {
		case c == within && c != '(', c == ')' && within == '(':
			open = open[:len(open)-1]
		case within == '\'':
		case c == '\\':
			i++
		case c == '"', c == '\'' && within != '"', c == '(' && (within != '"' || command[i-1] == '$'):
			open = append(open, c)
		case c == '#' && within != '"' && (i == 0 || strings.IndexByte(" \t\n;&|(", command[i-1]) >= 0):
			for i+1 < len(command) && command[i+1] != '\n' {
				i++
			}
		}
		if within != '"' && within != '\'' {
			continue
		}
		for _, p := range placeholders {
			if strings.HasPrefix(command[i:], p.text) {
				return p.text, p.variable
			}
		}
	}
	return "", ""
}
