package http1

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// TestSpin: a loop that never sleeps uses a processor, which does not count as
// being busy, and is stopped as any other.
func TestSpin(t *testing.T) {
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1, Spin: true})
	onCalmMachine(t, func() error {
		got := run(t.Context(), t, d, load.Run{Plan: hold(1000, 500*time.Millisecond), Drain: time.Second})
		if got.err != nil || got.OK != 500 {
			t.Fatalf("%d of 500 answers, %v", got.OK, got.err)
		}
		if watched := got.usage.Spun; watched > got.usage.CPU {
			t.Fatalf("it watched for %v, and used the processor for %v", watched, got.usage.CPU)
		} else if watched < got.usage.CPU/2 {
			return fmt.Errorf("it watched for %v of %v of processor time, want most of it", watched, got.usage.CPU)
		}
		// Short tests run beside others, which may have the processor instead.
		if used := got.usage.CPU.Seconds() / got.usage.Loaded.Seconds(); !testing.Short() && (used < .5 || got.usage.Busy > .5) {
			return fmt.Errorf("it used %.2f of a processor, and was busy for %.2f of the time; want about 1 and little", used, got.usage.Busy)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := run(ctx, t, d, load.Run{Plan: hold(.1, time.Hour)}); got.took > time.Second {
		t.Errorf("it was stopped after 100 ms, and ended after %v", got.took)
	}
}
