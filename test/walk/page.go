// Package walk reads the pages of the documentation as a newcomer does: what to
// type, what is said to be printed, and files to make. Its tests walk the
// README and every page.
//
// What readers do not see stands in comments right above a block:
//
//	<!-- not run: REASON -->     it cannot be executed in a test
//	<!-- first: COMMAND -->      executed before it, to make a file of the page shorter
//	<!-- beside: COMMAND => TEXT --> the same, of a command that stays, as below
//	<!-- as: TEXT => OTHER -->   executed with OTHER in place of TEXT; the shell expands $WEB and the like
//	<!-- exit N -->              its last command ends with this exit code
//	<!-- stays: TEXT -->         its command goes on until the end of the page; it is ready when it prints TEXT
//	<!-- with: YAML -->          a part of a file: this makes it a whole one
package walk

import (
	"regexp"
	"strings"
)

// Page is a page of Markdown.
type Page struct {
	Prose  string // without its blocks; lines keep their number
	Blocks []Block
}

// Block is a block of code.
type Block struct {
	Path     string // of the file that it is, from the line above: "`PATH`:"
	Language string // as the fence says; Indented where there is no fence
	Text     string
	Line     int // of the first line of the text
	Marks    []Mark
}

// Indented is the language of a block that has no fence.
const Indented = "indented"

// Mark is a comment above a block.
type Mark struct{ Key, Value string }

// Marked returns the values of the marks of a kind.
func (b Block) Marked(key string) (values []string) {
	for _, m := range b.Marks {
		if m.Key == key {
			values = append(values, m.Value)
		}
	}
	return values
}

var (
	markLine = regexp.MustCompile(`^<!-- (not run|first|beside|as|exit|stays|with):? (.*) -->$`)
	pathLine = regexp.MustCompile("`([^`\\s]+\\.[a-z]+)`:$")
)

// Read reads a page. A block of a diff without a path, right after one with a
// path, belongs to that path too.
func Read(text string) Page {
	var p Page
	var prose []string // lines so far; those of blocks are empty
	end := 0           // of the last block
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		before := ""
		if i > 0 {
			before = lines[i-1]
		}
		if !fenced && (before != "" || !strings.HasPrefix(lines[i], "    ")) {
			prose = append(prose, lines[i])
			continue
		}
		b := Block{Language: language, Line: i + 2}
		b.Path, b.Marks = above(prose[end:])
		if fenced {
			i++
		} else {
			b.Language, b.Line = Indented, i+1
		}
		begin := i
		for i < len(lines) && (fenced && lines[i] != "```" || !fenced && (lines[i] == "" || strings.HasPrefix(lines[i], "    "))) {
			i++
		}
		b.Text = strings.Join(lines[begin:min(i, len(lines))], "\n") + "\n"
		if last := len(p.Blocks) - 1; b.Path == "" && b.Language == "diff" && last >= 0 {
			b.Path = p.Blocks[last].Path
		}
		p.Blocks = append(p.Blocks, b)
		if !fenced {
			i-- // the line that is not indented any more
		}
		prose = append(prose, make([]string, min(i+1, len(lines))-len(prose))...)
		end = len(prose)
	}
	p.Prose = strings.Join(prose, "\n")
	return p
}

// above returns what the lines above a block say about it.
func above(lines []string) (path string, marks []Mark) {
	for i := len(lines) - 1; i >= 0; i-- {
		if m := markLine.FindStringSubmatch(lines[i]); m != nil {
			marks = append([]Mark{{m[1], m[2]}}, marks...)
		} else if lines[i] != "" {
			if m := pathLine.FindStringSubmatch(lines[i]); m != nil {
				path = m[1]
			}
			break
		}
	}
	return path, marks
}

// Command is what a person types, and what the page says that is printed.
type Command struct {
	Line       int
	Text, Want string
}

// Commands are those of a block: of "console" the lines after "$ ", each with
// the output below it; of "sh" every line.
func (b Block) Commands() []Command {
	var out []Command
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		text, typed := strings.CutPrefix(line, "$ ")
		last := len(out) - 1
		switch {
		case last >= 0 && strings.HasSuffix(out[last].Text, `\`) && out[last].Want == "":
			out[last].Text += "\n" + line
		case typed || b.Language == "sh" && line != "":
			out = append(out, Command{Line: b.Line + i, Text: strings.TrimSpace(text)})
		case last >= 0 && b.Language != "sh":
			out[last].Want += line + "\n"
		}
	}
	return out
}

// Pattern matches what a page says is printed: "…" stands for anything in a
// line, and on a line of its own for any lines.
func Pattern(want string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(want) {
		if line == "…\n" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
