package language

import (
	"regexp"
	"strings"
)

var (
	heading = regexp.MustCompile(`^ {0,3}#{1,6}\s`)
	item    = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)])( +|$)`)
	ruler   = regexp.MustCompile(`^[-=|: ]+$`) // below the head of a table, or a line across the page
	cellEnd = regexp.MustCompile("(?:[^`|\\\\]|\\\\.|`[^`]*`)*")
)

// page reads the passages of a Markdown page. Blocks of code and comments are
// left out.
type page struct {
	passages []passage
	open     []string // rows of the paragraph that is being read
	begin    int      // line of its first row
	indent   int      // of the text of the list's item that is being read
	after    bool     // the last row was empty
}

func readPage(text string) []passage {
	var p page
	inside := "" // what ends a block that is left out
	for i, row := range strings.Split(text, "\n") {
		row = strings.TrimRight(strings.ReplaceAll(row, "\t", "    "), " \r")
		trimmed := strings.TrimLeft(row, " ")
		switch {
		case inside != "":
			if strings.Contains(row, inside) {
				inside = ""
			}
			continue
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			inside = trimmed[:3]
			p.close()
			continue
		case strings.HasPrefix(trimmed, "<!--"):
			if !strings.Contains(trimmed, "-->") {
				inside = "-->"
			}
			p.close()
			continue
		}
		p.read(i+1, row, trimmed)
	}
	p.close()
	return p.passages
}

// read takes in a row that is in no block of code.
func (p *page) read(line int, row, trimmed string) {
	quoted := strings.TrimLeft(strings.TrimPrefix(trimmed, ">"), " ")
	spaces := len(row) - len(trimmed)
	switch m := item.FindStringSubmatch(row); {
	case quoted == "" || ruler.MatchString(trimmed):
		p.close()
		p.after = quoted == ""
		return
	case len(p.open) == 0 && spaces >= p.indent+4 && m == nil && p.after: // code
		return
	case heading.MatchString(row):
		p.close()
		p.indent = 0
		p.passages = append(p.passages, passage{line, inline(strings.TrimLeft(trimmed, "# ")), false})
	case strings.HasPrefix(trimmed, "|"):
		p.close()
		p.cells(line, trimmed)
	case m != nil:
		p.close()
		p.indent = len(m[0])
		p.add(line, row[len(m[0]):])
	default:
		if len(p.open) == 0 && spaces < p.indent {
			p.indent = spaces // the list is over
		}
		p.add(line, quoted)
	}
	p.after = false
}

func (p *page) add(line int, row string) {
	if len(p.open) == 0 {
		p.begin = line
	}
	p.open = append(p.open, row)
}

// close ends the paragraph that is being read.
func (p *page) close() {
	if len(p.open) > 0 {
		p.passages = append(p.passages, passage{p.begin, inline(strings.Join(p.open, "\n")), true})
	}
	p.open = nil
}

// cells divides the row of a table.
func (p *page) cells(line int, row string) {
	for row != "" {
		row = strings.TrimPrefix(row, "|")
		n := len(cellEnd.FindString(row))
		if n == 0 && row != "" && row[0] != '|' {
			n = 1 // a mark of code that nothing closes
		}
		if text := strings.TrimSpace(row[:n]); text != "" {
			p.passages = append(p.passages, passage{line, inline(text), false})
		}
		row = row[n:]
	}
}

// inline takes out what stands in tags, too, which a message may show.
func inline(text string) string {
	var b strings.Builder
	for begin := 0; begin < len(text); {
		code := codeSpan.FindStringIndex(text[begin:])
		if code == nil {
			code = []int{len(text) - begin, len(text) - begin}
		}
		b.WriteString(tag.ReplaceAllStringFunc(text[begin:begin+code[0]], func(tag string) string {
			return strings.Repeat("\n", strings.Count(tag, "\n"))
		}))
		b.WriteString(text[begin+code[0] : begin+code[1]])
		begin += code[1]
	}
	return plain(b.String())
}
