package workload

import "time"

// progressEvery is five times a second: the contract asks for one.
const progressEvery = 200 * time.Millisecond

// PublishUntil reports a counter several times a second until done is closed,
// and then once more. total is read immediately before the report takes the
// time.
func PublishUntil(done <-chan struct{}, r Reporter, metric, unit string, total func() float64) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Progress(metric, unit, total())
		case <-done:
			r.Progress(metric, unit, total())
			return
		}
	}
}
