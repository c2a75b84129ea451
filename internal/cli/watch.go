package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// watchFrom is after what time something that is under way is told of.
const watchFrom = 2 * time.Second

// longWatch tells on standard error of what takes long: a line that is redrawn on a
// terminal, and a plain line now and then elsewhere.
type longWatch struct {
	mu       sync.Mutex
	view     *liveView
	doing    string
	done, of int
	closed   bool
	stop     context.CancelFunc
}

// watchLong begins to watch. close ends it, and may be called again.
func (c *common) watchLong(ctx context.Context, doing string) *longWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &longWatch{view: newLiveView(c.env, model.RunData{}), doing: doing, stop: stop}
	go func() {
		tick := time.NewTicker(liveTick)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.tick()
			}
		}
	}()
	return w
}

// say changes what is under way.
func (w *longWatch) say(doing string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doing = doing
}

// progress is how much of it is done. Several goroutines may call it.
func (w *longWatch) progress(done, of int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done, w.of = max(w.done, done), of
}

func (w *longWatch) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, took := w.view, time.Since(w.view.began)
	if w.closed || took < watchFrom {
		return
	}
	text := fmt.Sprintf("%s  %s", took.Round(time.Second), printable(w.doing))
	if w.of > 1 {
		v.open, v.done, v.total = false, w.done, w.of
		text = v.bar() + "  " + text
	}
	switch {
	case v.redraw:
		v.draw(text)
	case time.Since(v.said) >= plainTick:
		v.said = time.Now()
		_, _ = fmt.Fprintln(v.out, text)
	}
}

func (w *longWatch) close() {
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.view.erase()
}
