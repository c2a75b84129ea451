package search

import "fmt"

// warnings say what is wrong with a result of the default algorithm.
func (s *adaptive) warnings(r Result) []string {
	var ws []string
	if !s.next.over {
		ws = append(ws, fmt.Sprintf("the search was stopped after %s, before it was complete: resume it",
			windows(len(r.Trials))))
	} else if !r.Confirmed {
		ws = append(ws, fmt.Sprintf("not confirmed after %s, the most allowed: windows contradict each other; use longer windows, or allow more",
			windows(len(r.Trials))))
	}
	if r.Capped {
		ws = append(ws, fmt.Sprintf("the largest load allowed, %g, passed: the boundary is at or above it; allow a larger load", r.Passed))
	}
	if r.Floored {
		ws = append(ws, fmt.Sprintf("the smallest load allowed, %g, failed: the boundary is below it; allow a smaller load, or check whether the target passes at all", r.Failed))
	}
	if r.Confirmed && !r.Capped && !r.Floored && !s.narrow(r.Low, r.High) {
		ws = append(ws, fmt.Sprintf("the boundary is less precise than requested, between %g and %g: near it, windows pass and fail by chance; use longer windows", r.Low, r.High))
	}
	return append(ws, contradictions(r)...)
}

// contradictions counts the windows that say something else than the result.
func contradictions(r Result) []string {
	below, above := 0, 0
	for _, t := range r.Trials {
		if !t.Passed && t.Load <= r.Passed {
			below++
		}
		if t.Passed && t.Load >= r.Failed {
			above++
		}
	}
	var ws []string
	if below > 0 {
		ws = append(ws, fmt.Sprintf("%d of %s failed at loads up to %g, which is reported as passed: something else disturbed them; if that is common, set a larger error rate",
			below, windows(len(r.Trials)), r.Passed))
	}
	if above > 0 {
		ws = append(ws, fmt.Sprintf("%d of %s passed at loads from %g up, which is reported as failed",
			above, windows(len(r.Trials)), r.Failed))
	}
	return ws
}

func windows(n int) string {
	if n == 1 {
		return "1 window"
	}
	return fmt.Sprintf("%d windows", n)
}
