package expression

import (
	"context"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// MaxMemory is by how much the heap may grow while an expression is evaluated, in bytes.
const MaxMemory = 128 << 20

// memoryEvery is how often the heap is looked at: in that time a core fills some 20 MB.
const memoryEvery = 5 * time.Millisecond

// WithMemoryLimit returns a context that ends when the heap of the process has grown by more than
// [MaxMemory], with that as its cause. It is for evaluators that stop with their context and
// have no budget of their own. What else the process allocates meanwhile counts, too. Where
// one allocation takes more, nothing can stop it: then, on Linux, the process ends at four
// times as much. So an expression is evaluated in a process of its task, and nowhere else.
func WithMemoryLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	restore := limitData(4 * MaxMemory)
	before := heap()
	go func() {
		t := time.NewTicker(memoryEvery)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if now := heap(); now > before+MaxMemory {
					cancel(fmt.Errorf("%w: it takes more than %d MiB of memory", model.ErrUsage, MaxMemory>>20))
				}
			}
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		restore()
	}
}

// heap is how many bytes of objects there are, those that may be freed included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
