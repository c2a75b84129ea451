package compare

import "github.com/scalebench/scalebench/internal/frame"

// configuration are the lines that `go test -bench` prints of the machine it runs on
// (golang.org/design/14313).
var configuration = []string{"goos", "goarch", "cpu"}

// otherConfiguration warns where the sides of a Go benchmark ran on different machines or
// systems: the change may be theirs, and not that of the code.
func (l *laying) otherConfiguration(c *Comparison) {
	for _, name := range configuration {
		a, b := onlyLevel(l.a, name), onlyLevel(l.b, name)
		if a != "" && b != "" && a != b {
			c.doubts.Warn("other_configuration",
				"%s was measured with %s %q, %s with %q: the change may come from that", c.A.Name, name, a, c.B.Name, b)
		}
	}
}

// onlyLevel is the level of a fact that all rows have; empty where there are several, or none.
func onlyLevel(f *frame.Frame, name string) string {
	x := f.Fact(name)
	if x == nil || x.Name != name {
		return ""
	}
	levels, rows := x.Groups()
	if len(levels) != 1 || len(rows[0]) != f.Len() {
		return ""
	}
	return levels[0]
}
