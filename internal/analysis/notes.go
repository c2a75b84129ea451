package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// notes are what a reader of a finding must know. A doubt is a warning that
// leaves no verdict but "unknown".
type notes struct{ doubts, warnings []string }

// doubt adds a reason why there is no verdict.
func (n *notes) doubt(format string, args ...any) {
	n.doubts = append(n.doubts, "verdict unknown: "+fmt.Sprintf(format, args...))
}

// warn adds a warning.
func (n *notes) warn(format string, args ...any) {
	n.warnings = append(n.warnings, fmt.Sprintf(format, args...))
}

// all returns doubts first, each text once, never nil: the JSON contract has
// an array.
func (n *notes) all() []string {
	out := make([]string, 0, len(n.doubts)+len(n.warnings))
	for _, w := range slices.Concat(n.doubts, n.warnings) {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// maxNames bounds how many things a warning lists by name.
const maxNames = 5

// list joins names for people: "a, b, c, d, e and 12 more".
func list[T ~string](names []T) string {
	shown := names[:min(len(names), maxNames)]
	parts := make([]string, len(shown))
	for i, s := range shown {
		parts[i] = string(s)
	}
	text := strings.Join(parts, ", ")
	if rest := len(names) - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// named is "node a", "nodes a, b" or "pairs a+b, c+d".
func named(of model.Subjects, names []model.NodeID) string {
	if len(names) == 1 {
		return string(of) + " " + list(names)
	}
	return string(of) + "s " + list(names)
}

// plural is "1 task" or "2 tasks".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
