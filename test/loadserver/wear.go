package loadserver

import "fmt"

// Wear makes service slower with the number of requests that were served since
// the behaviour was set: a leak, a table that grows, credits that run out. The
// zero value changes nothing.
type Wear struct {
	// The first From requests take their service time, all after the first To
	// Factor times as long, and those between grow evenly from one to the other.
	From, To int
	Factor   float64
}

func (w Wear) check() error {
	if w == (Wear{}) || w.From >= 0 && w.To >= w.From && w.Factor > 0 {
		return nil
	}
	return fmt.Errorf("service that takes %v times as long from %d to %d requests; the factor is positive, and the numbers in order", w.Factor, w.From, w.To)
}

// After is how many times as long service takes when n requests were served.
func (w Wear) After(n int) float64 {
	switch {
	case w == (Wear{}) || n < w.From:
		return 1
	case n >= w.To:
		return w.Factor
	}
	return 1 + (w.Factor-1)*float64(n-w.From)/float64(w.To-w.From)
}
