package capacity

import "fmt"

// Review is Evaluate for what is stored of a search; ended says that it is over.
// A search by another version of scalebench may have tried other loads than this
// one would, or have ended elsewhere. Then nothing is concluded from it.
func (c Config) Review(windows []Window, ended bool) (Result, error) {
	r, taken, err := c.replay(windows)
	switch {
	case err != nil:
		return Result{}, err
	case taken < len(windows):
		return c.ofOther(windows, fmt.Sprintf("from window %d on (%s) it has tried other loads than this one would", taken+1, rateText(windows[taken].Load))), nil
	case ended && !r.over:
		return c.ofOther(windows, fmt.Sprintf("it ended after %d windows, where this one would go on", taken)), nil
	}
	return r.result(), nil
}

// ofOther is a search by another version: its windows, each held to the SLA and
// to nothing else.
func (c Config) ofOther(windows []Window, how string) Result {
	out := Result{Limit: LimitUnknown, Warnings: []string{fmt.Sprintf(
		"this search was made by another version of scalebench: %s. Each window is held to the SLA, and nothing is concluded from them; show it with the version that made it, or search again", how)}}
	for _, w := range windows {
		j := Judged{Window: w, Misses: c.SLA.Judge(w), Nearest: c.SLA.nearest(w), Verdict: Passed}
		if len(j.Misses) > 0 {
			j.Verdict = Missed
		}
		out.Windows = append(out.Windows, j)
	}
	return out
}
