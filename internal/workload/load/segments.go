package load

import (
	"context"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
)

// countSegments counts the TCP segments that arrive from one moment to another,
// or until the function returned is called: none where the kernel does not say.
func countSegments(ctx context.Context, from, to time.Time) (end func() engine.Segments) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan engine.Segments, 1)
	go func() {
		before, known := segmentsAt(ctx, from)
		after, knownToo := segmentsAt(ctx, to)
		if !known || !knownToo {
			before, after = engine.Segments{}, engine.Segments{}
		}
		done <- after.Sub(before)
	}()
	return func() engine.Segments {
		cancel()
		return <-done
	}
}

// segmentsAt is the count at a moment, or when ctx is done.
func segmentsAt(ctx context.Context, at time.Time) (s engine.Segments, ok bool) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return engine.CountSegments()
}
