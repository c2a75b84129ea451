package compare

import (
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
)

// configuration are the lines that `go test -bench` prints of the machine it runs on
// (golang.org/design/14313).
var configuration = []string{"goos", "goarch", "cpu"}

// otherConfiguration warns where the sides of a Go benchmark ran on different machines or
// systems: the change may be theirs, and not that of the code.
func (l *laying) otherConfiguration(c *Comparison) {
	for _, name := range configuration {
		a, b := knownLevels(l.a, name), knownLevels(l.b, name)
		if len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) {
			c.doubts.Warn("other_configuration",
				"%s was measured with %s %s, %s with %s: the change may come from that", c.A.Name, name,
				num.List(a), c.B.Name, num.List(b))
		}
	}
}

// knownLevels are the levels of a fact that rows have, sorted and quoted.
func knownLevels(f *frame.Frame, name string) []string {
	x := f.Fact(name)
	if x == nil || x.Name != name {
		return nil
	}
	levels, _ := x.Groups()
	for i, level := range levels {
		levels[i] = strconv.Quote(level)
	}
	slices.Sort(levels)
	return levels
}
