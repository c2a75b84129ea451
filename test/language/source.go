package language

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxColumns is how wide a line of Go may be. A tab counts as one column, as in
// the linter lll with its tab-width of 1; like lll this leaves out imports and
// directives. Tags of fields do not count either: they cannot be divided.
const maxColumns = 120

// A source is a Go file.
type source struct {
	rows  []string
	files *token.FileSet
	file  *ast.File
}

func readSource(text string) (source, error) {
	s := source{rows: strings.Split(text, "\n"), files: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.files, "", text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

// wide returns the lines that are too wide, and how wide they are.
func (s source) wide() map[int]int {
	wide := map[int]int{}
	for i, row := range s.rows {
		if n := utf8.RuneCountInString(row); n > maxColumns && !strings.HasPrefix(row, "//go:") {
			wide[i+1] = n
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			delete(wide, s.line(n))
		case *ast.Field:
			if n.Tag == nil {
				break
			}
			line := s.line(n.Tag)
			if wide[line] -= utf8.RuneCountInString(n.Tag.Value); wide[line] <= maxColumns {
				delete(wide, line)
			}
		}
		return len(wide) > 0
	})
	return wide
}

func (s source) line(n ast.Node) int { return s.files.Position(n.Pos()).Line }

// passages returns what the file says to people: its string literals of some
// words, joined where + joins them, and the descriptions of parameters.
func (s source) passages() []passage {
	var found []passage
	add := func(n ast.Node, text string) {
		if isText(text) {
			found = append(found, readText(s.line(n), text)...)
		}
	}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tags, _ := strconv.Unquote(n.Tag.Value)
				add(n.Tag, reflect.StructTag(tags).Get("jsonschema_description"))
			}
			ast.Inspect(n.Type, visit)
			return false
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(name.Sel.Name, "Compile") {
				return false // a pattern
			}
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				add(n, text)
				inspectOperands(n, visit)
				return false
			}
		case *ast.BasicLit:
			text, _ := literal(n)
			add(n, text)
		}
		return true
	}
	ast.Inspect(s.file, visit)
	return found
}

// value stands in a text for what is known only when it is shown: one word.
const value = "X"

// joined returns the text of literals and values joined by +.
func joined(n ast.Expr) (text string, ok bool) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return joined(n.X)
	case *ast.BasicLit:
		return literal(n)
	case *ast.BinaryExpr:
		if n.Op != token.ADD {
			break
		}
		left, isText := joined(n.X)
		right, isTextToo := joined(n.Y)
		return left + right, isText || isTextToo
	}
	return value, false
}

func literal(n *ast.BasicLit) (string, bool) {
	if n.Kind != token.STRING {
		return value, false
	}
	text, err := strconv.Unquote(n.Value)
	return text, err == nil
}

// inspectOperands looks at what is joined by + and is no literal.
func inspectOperands(n ast.Expr, visit func(ast.Node) bool) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		inspectOperands(n.X, visit)
	case *ast.BinaryExpr:
		inspectOperands(n.X, visit)
		inspectOperands(n.Y, visit)
	case *ast.BasicLit:
	default:
		ast.Inspect(n, visit)
	}
}

// other matches literals that are no prose: statements of SQL, and lines of
// programs, styles and pages.
var other = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|PRAGMA|REPLACE|SHOW)\s` +
	`|^\s*[<{.]|</\w+>|;\n|\{\n|\) \{|=> |\{ [a-z-]+:`)

// isText reports whether a literal may be a sentence: at least four words.
func isText(literal string) bool {
	return strings.Count(literal, " ") >= 3 && words(strings.Fields(literal)) >= 4 && !other.MatchString(literal)
}

// readText divides a literal that begins at a line: empty rows, and those of
// lists and of indented examples, begin a new passage. Commands are left out.
func readText(line int, text string) []passage {
	var passages []passage
	open, indent := false, 0
	for row := range strings.SplitSeq(text, "\n") {
		row = strings.TrimRight(strings.ReplaceAll(row, "\t", "    "), " ")
		trimmed := strings.TrimLeft(row, " ")
		spaces := len(row) - len(trimmed)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "scalebench "):
			open = false
		case open && spaces == 0 && indent == 0, open && spaces > indent && indent > 0:
			passages[len(passages)-1].text += " " + plain(trimmed)
		default:
			open, indent = true, spaces
			passages = append(passages, passage{line: line, text: plain(trimmed)})
		}
	}
	return passages
}
