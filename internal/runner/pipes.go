package runner

import (
	"fmt"
	"os"
)

// pipe is one pipe between agent and child.
type pipe struct {
	r, w  *os.File
	child *os.File // the end that the child gets
}

// pipeSet are the pipes of one child.
type pipeSet []*pipe

// openPipes opens n pipes, or none.
func openPipes(n int) (pipeSet, error) {
	var set pipeSet
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			set.closeAll()
			return nil, fmt.Errorf("opening a pipe: %w", err)
		}
		set = append(set, &pipe{r: r, w: w})
	}
	return set, nil
}

// closeChildEnds closes in the agent what the child has got: as long as the
// agent holds them, it never sees the end of the child's output.
func (s pipeSet) closeChildEnds() {
	for _, p := range s {
		if p.child != nil {
			_ = p.child.Close() // a pipe's end: nothing to lose
		}
	}
}

// closeAll closes both ends of all pipes; an end that is closed already is
// left alone by package os.
func (s pipeSet) closeAll() {
	for _, p := range s {
		_ = p.r.Close()
		_ = p.w.Close()
	}
}
