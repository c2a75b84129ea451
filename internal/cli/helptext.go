package cli

import (
	"bytes"
	"cmp"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalebench/scalebench/internal/doc/term"
)

// Help is folded into the terminal's width, or into plainHelp columns where
// there is no terminal. Where less than leastText columns are left beside a
// flag, its description begins on a line of its own.
const (
	plainHelp = 100
	leastText = 24
	ownLine   = "        "
)

// foldHelp makes a command, and all below it, fold their help.
func (c *common) foldHelp(root *cobra.Command) {
	// Two spaces divide even the longest name from its text.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".NamePadding }} ", ".NamePadding }}  "))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.Root().SetOut(&text)
		help(cmd, args)
		cmd.Root().SetOut(out)
		_, _ = io.WriteString(out, fold(text.String(), cmp.Or(c.env.Width, plainHelp))) // no other place to report
	})
}

// passage is what is folded as one: a paragraph, a command, or an entry of a
// list (a name, and text beside it), which may go on in the lines below.
type passage struct {
	lines []string
	hang  int // of an entry: where its text begins
}

// entry is a name with a text beside it: a flag, a command, a word.
var entry = regexp.MustCompile(`^( +\S.*?  +)(\S.*)$`)

// fold breaks the lines of help that are wider than width.
func fold(text string, width int) string {
	var out strings.Builder
	for _, p := range passages(strings.ReplaceAll(text, "\t", "    ")) {
		for _, line := range p.fold(width) {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

func passages(text string) []passage {
	var all []passage
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if last := len(all) - 1; last >= 0 && line != "" && all[last].lines[0] != "" &&
			(indent == 0 && all[last].lines[0][0] != ' ' || indent > 2 && indent == all[last].hang) {
			all[last].lines = append(all[last].lines, line)
			continue
		}
		p := passage{lines: []string{line}}
		if m := entry.FindStringSubmatch(line); m != nil {
			p.hang = term.Width(m[1])
		}
		all = append(all, p)
	}
	return all
}

func (p passage) fold(width int) []string {
	wide := false
	for _, line := range p.lines {
		wide = wide || term.Width(line) > width
	}
	switch first := p.lines[0]; {
	case !wide:
		return p.lines
	case p.hang > 0:
		m := entry.FindStringSubmatch(first)
		text := strings.Join(append([]string{m[2]}, p.lines[1:]...), " ")
		if width-p.hang < leastText {
			return append([]string{strings.TrimRight(m[1], " ")}, indented(ownLine, ownLine, term.Wrap(text, width-len(ownLine)))...)
		}
		return indented(m[1], strings.Repeat(" ", p.hang), term.Wrap(text, width-p.hang))
	case first[0] == ' ':
		return foldCommand(first, width)
	}
	return term.Wrap(strings.Join(p.lines, " "), width)
}

// indented puts first before the first line, and rest before the others.
func indented(first, rest string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = rest + line
	}
	out[0] = first + lines[0]
	return out
}

// breaks are where a command line may be broken: before flags, and before where
// its output goes.
var breaks = regexp.MustCompile(` (?:--|[>|] )`)

// foldCommand breaks a command line so that a shell takes it.
func foldCommand(line string, width int) []string {
	var out []string
	begin := 0
	for _, at := range append(breaks.FindAllStringIndex(line, -1), []int{len(line)}) {
		part := line[begin:at[0]]
		begin = at[0]
		switch last := len(out) - 1; {
		case last < 0:
			out = append(out, part)
		case term.Width(out[last]+part) <= width-len(` \`):
			out[last] += part
		default:
			out[last] += ` \`
			out = append(out, "     "+part)
		}
	}
	return out
}
