package tiers

import (
	"time"

	"github.com/scalebench/scalebench/internal/kernel"
	"github.com/scalebench/scalebench/internal/procself"
)

// share is what reading the threads, and reading the connections, may take of a
// core on average.
const share = 0.005

// bound leaves out readings so that the work stays within its share, but never
// the first and the last. It goes by processor time: real time would leave out
// most where processors are short, which is what one wants to see.
type bound struct {
	kernel.Allowance

	what       string
	last       func() bool // whether this is the last reading; nil: it is not known
	took, left int         // readings
	spent      time.Duration
}

func newBound(what string, step time.Duration) *bound {
	return &bound{what: what, Allowance: kernel.Allowance{PerTurn: time.Duration(share * float64(step))}}
}

// do does the work if it is its turn.
func (b *bound) do(work func() error) error {
	if !b.Turn() && (b.last == nil || !b.last()) {
		b.left++
		return nil
	}
	before, _ := procself.ThreadTime()
	err := work()
	after, _ := procself.ThreadTime()
	d := after - before
	b.Spent(d)
	b.took, b.spent = b.took+1, b.spent+d
	return err
}
