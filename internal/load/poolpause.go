package load

import "time"

// The pause after a client could not be opened, at first and at most.
const (
	firstPause   = 5 * time.Millisecond
	longestPause = 100 * time.Millisecond
)

// pause keeps a pool from trying to open clients again and again while it
// cannot. The zero value is no pause.
type pause struct {
	until, length time.Duration
}

func (p pause) over(now time.Duration) bool { return now >= p.until }

// extend begins the next pause, twice as long, unless one began while this try
// was under way.
func (p *pause) extend(now time.Duration) {
	if now < p.until {
		return
	}
	p.length = min(max(2*p.length, firstPause), longestPause)
	p.until = now + p.length
}
