package capacity

import "github.com/scalebench/scalebench/internal/search"

// observe tells the algorithm what came of a window. Where its ramp accepts
// windows by another rule than the SLA, it is told of the SLA, too.
func (r *replay) observe(j Judged) {
	passed := j.Verdict == Passed
	if both, ok := r.algorithm.(search.RampRule); ok {
		both.ObserveRamp(passed, len(r.cfg.SLA.Judge(j.Window)) == 0)
		return
	}
	r.algorithm.Observe(passed)
}
