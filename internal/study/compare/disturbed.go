package compare

import (
	"math"

	"github.com/scalebench/scalebench/internal/observe"
)

// calm is a comparison of the rows in which nothing disturbed what was measured.
type calm struct {
	Comparison
	rows int // how many are left out
	// uneven: the shares of the sides that were disturbed differ by half or more.
	uneven bool
}

// calmly compares again without the rows that something disturbed; nil where there
// are none. That all of one side were, and at most half of the other, is a problem;
// what disturbed both met them alike.
func (p *Params) calmly(m matched, c *Comparison) *calm {
	a, left := observe.Undisturbed(m.a)
	b, right := observe.Undisturbed(m.b)
	shares := float64(left)/float64(m.a.Len()) - float64(right)/float64(m.b.Len())
	uneven := math.Abs(shares) >= .5
	switch {
	case left+right == 0:
		return nil
	case a.Len() > 0 && b.Len() > 0:
		m.a, m.b = a, b
		return &calm{Comparison: p.compare(m), rows: left + right, uneven: uneven}
	case uneven && shares > 0:
		c.doubts.Problem("disturbed", oneSided, c.A.Name, c.B.Name)
	case uneven:
		c.doubts.Problem("disturbed", oneSided, c.B.Name, c.A.Name)
	}
	return nil
}

const oneSided = "something disturbed all that was measured of %s, and at most half of that of %s; measure again, or in turns (study compare with a and b)"

// heed doubts a verdict that is another without the disturbed rows. Where too few
// are left to tell, it stands if both sides were disturbed about alike.
func (p *Params) heed(c *Comparison, word Verdict) {
	x := c.calm
	if x == nil {
		return
	}
	if x.again != nil && x.Level != c.Level {
		x.widen(c.Level)
	}
	const again = "measure again, or in turns (study compare with a and b)"
	switch without := p.answer(&x.Comparison); {
	case without == "" && x.uneven:
		c.doubts.Problem("disturbed", "something disturbed most of what was measured of one side and not of the other, and too little is left without that (%d + %d values); "+again, x.A.N, x.B.N)
	case without != "" && without != word:
		c.doubts.Problem("disturbed", "what disturbed the nodes may carry the answer: with all rows %s, without the %d that were disturbed %s; "+again, c.said(word), x.rows, x.said(without))
	}
}

// said is a verdict with its number.
func (c *Comparison) said(word Verdict) string {
	if c.Ratio == nil || c.CI == nil {
		return string(word)
	}
	change, interval := c.changeText()
	return string(word) + " (" + change + " " + interval + ")"
}
