package expression

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// What filling in a template may take.
const (
	maxTemplate = 256 << 10 // bytes of a template
	maxFilled   = 4 << 20   // bytes of what it becomes
	maxSteps    = 100_000   // how often one of its lists is entered
	maxDepth    = 1000      // how many lists are within each other, through templates that call templates
	maxValue    = 64 << 10  // bytes of a text that a function gives
	maxValues   = 16 << 20  // bytes of all of them
	maxFilling  = 5 * time.Second
)

// Template is a template of text/template that cannot take more than its budget.
type Template struct {
	of     *template.Template
	budget *budget
}

// NewTemplate parses a template. The name is for messages. A key that is not there is an
// error when it is filled in.
func NewTemplate(name, text string) (*Template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("%w: it has %d bytes, and may have %d", model.ErrUsage, len(text), maxTemplate)
	}
	t := &Template{budget: &budget{}}
	var err error
	t.of, err = template.New(name).Option("missingkey=error").Funcs(t.budget.functions()).Parse(text)
	if err != nil {
		return nil, err
	}
	counters := template.FuncMap{countStep: t.budget.step, countDepth: t.budget.nest}
	t.of.Funcs(counters) // now that the text is parsed: it cannot call them
	for _, part := range t.of.Templates() {
		if part.Tree == nil {
			continue
		}
		text := fmt.Sprintf("{{%s}}{{%s %d}}{{%[2]s -%[3]d}}", countStep, countDepth, depth(part.Root))
		parsed, err := parse.Parse("counters", text, "", "", counters)
		if err != nil {
			return nil, err
		}
		counting := parsed["counters"].Root.Nodes // a step, the begin and the end
		countLists(part.Root, counting[0])
		part.Root.Nodes = append(append([]parse.Node{counting[1]}, part.Root.Nodes...), counting[2])
	}
	return t, nil
}

// depth is how many lists are within each other. Where a loop is left early a template
// still reaches its end, so that all of its lists are counted there and back.
func depth(node parse.Node) int {
	branch := func(b *parse.BranchNode) int {
		if b.ElseList == nil {
			return depth(b.List)
		}
		return max(depth(b.List), depth(b.ElseList))
	}
	switch n := node.(type) {
	case *parse.ListNode:
		deepest := 0
		for _, inner := range n.Nodes {
			deepest = max(deepest, depth(inner))
		}
		return 1 + deepest
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.RangeNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	}
	return 0
}

// Execute fills in the template. What takes too much is an error, model.ErrUsage.
func (t *Template) Execute(w io.Writer, data any) error {
	t.budget.begin()
	return t.of.Execute(&bounded{w, maxFilled}, data)
}

// countLists has each list of nodes begin with a step that is counted: the bodies of loops
// and of templates that call each other are lists.
func countLists(node parse.Node, step parse.Node) {
	branch := func(b *parse.BranchNode) {
		countLists(b.List, step)
		if b.ElseList != nil {
			countLists(b.ElseList, step)
		}
	}
	switch n := node.(type) {
	case *parse.ListNode:
		for _, inner := range n.Nodes {
			countLists(inner, step)
		}
		n.Nodes = append([]parse.Node{step.Copy()}, n.Nodes...)
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	}
}

// countStep is the function that is called for each step, countDepth the one where a
// template begins and ends.
const (
	countStep  = "scalebench_step"
	countDepth = "scalebench_depth"
)

// budget is what is left while a template is filled in.
type budget struct {
	steps, depth, bytes int
	deadline            time.Time
}

func (b *budget) begin() {
	*b = budget{steps: maxSteps, depth: maxDepth, bytes: maxValues, deadline: time.Now().Add(maxFilling)}
}

var errBudget = fmt.Errorf("%w: it takes more than a template may", model.ErrUsage)

// step counts a step.
func (b *budget) step() (string, error) {
	if b.steps--; b.steps < 0 {
		return "", fmt.Errorf("%w: more than %d steps", errBudget, maxSteps)
	}
	if b.steps%64 == 0 && time.Now().After(b.deadline) {
		return "", fmt.Errorf("%w: more than %v", errBudget, maxFilling)
	}
	return "", nil
}

// nest counts the lists of a template that begins, or ends: the stack grows with them.
func (b *budget) nest(lists int) (string, error) {
	if b.depth -= lists; b.depth < 0 {
		return "", fmt.Errorf("%w: more than %d blocks and templates within each other", errBudget, maxDepth)
	}
	return "", nil
}

// take counts a text of so many bytes that a function is about to make.
func (b *budget) take(bytes int) error {
	if b.bytes -= bytes; bytes > maxValue || b.bytes < 0 {
		return fmt.Errorf("%w: texts of more than %d bytes, or of %d together", errBudget, maxValue, maxValues)
	}
	return nil
}

// functions are those of text/template that make texts, within the budget.
func (b *budget) functions() template.FuncMap {
	escape := func(of func(...any) string, longer int) func(args ...any) (string, error) {
		return func(args ...any) (string, error) {
			if err := b.take(longer * printed(args)); err != nil {
				return "", err
			}
			return of(args...), nil
		}
	}
	return template.FuncMap{
		"print":    escape(fmt.Sprint, 1),
		"println":  escape(fmt.Sprintln, 1),
		"html":     escape(template.HTMLEscaper, 6),
		"js":       escape(template.JSEscaper, 6),
		"urlquery": escape(template.URLQueryEscaper, 3),
		"printf": func(format string, args ...any) (string, error) {
			if err := checkFormat(format); err != nil {
				return "", err
			}
			// Each verb may print the longest of the arguments, quoted; what no verb asks for is
			// printed at the end, with its type.
			if err := b.take(len(format) + (1+strings.Count(format, "%"))*(maxWidth+4*printed(args))); err != nil {
				return "", err
			}
			return fmt.Sprintf(format, args...), nil
		},
	}
}

// printed is about how many bytes values have when they are printed.
func printed(args []any) int {
	n := 0
	for _, a := range args {
		if text, ok := a.(string); ok {
			n += len(text) + 1
			continue
		}
		n += len(fmt.Sprint(a)) + 1
	}
	return n
}

// maxWidth is the largest width or precision of a verb.
const maxWidth = 256

// checkFormat refuses widths that a format takes from arguments, and large ones.
func checkFormat(format string) error {
	number, verb := 0, false
	for _, c := range format {
		switch {
		case c == '%':
			verb, number = true, 0
		case verb && c == '*':
			return fmt.Errorf("%w: a width that is an argument", errBudget)
		case verb && c >= '0' && c <= '9':
			if number = 10*number + int(c-'0'); number > maxWidth {
				return fmt.Errorf("%w: a width of more than %d", errBudget, maxWidth)
			}
		case verb && strings.ContainsRune(" +-#.[]", c):
			number = 0
		default:
			verb = false
		}
	}
	return nil
}

// bounded is a writer that takes so many bytes.
type bounded struct {
	w    io.Writer
	left int
}

var errFilled = errors.New("it becomes longer than a file may")

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, fmt.Errorf("%w: %w", errBudget, errFilled)
	}
	return b.w.Write(p)
}
