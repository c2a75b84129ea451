package objectstore

import (
	"context"
	"math/rand/v2"
	"time"
)

// worker does operations one after another, on one connection at a time.
type worker struct {
	*run
	buf []byte     // what is got goes through it
	lot *rand.Rand // draws the operation, for mixed
}

// operate does the next operation, or pair.
func (w *worker) operate(ctx context.Context) {
	switch w.operation {
	case Put:
		w.putNew(ctx)
	case Get:
		w.getNext(ctx)
	case PutDelete:
		if o := w.putNew(ctx); o != nil {
			w.persist(ctx, kindDelete, func(at *timing) error { return w.delete(ctx, o, at) })
		}
	case Mixed:
		if w.lot.Float64() < w.getShare {
			w.getNext(ctx)
		} else {
			w.putNew(ctx)
		}
	}
}

// putNew puts a new object, and returns it if that succeeded.
func (w *worker) putNew(ctx context.Context) *object {
	// Numbers of those that Prepare put are taken.
	o := newObject(w.dir, w.params.Keys, int64(w.settings.objects)+w.named.Add(1))
	if !w.move(ctx, kindPut, func(tr *transfer, at *timing) error { return w.put(ctx, o, w.size, tr, at) }) {
		return nil
	}
	return o
}

// getNext gets the object whose turn it is.
func (w *worker) getNext(ctx context.Context) {
	o := w.objects[(w.got.Add(1)-1)%int64(len(w.objects))]
	w.move(ctx, kindGet, func(tr *transfer, at *timing) error { return w.get(ctx, o, w.size, tr, at, w.buf) })
}

// move does an operation that moves bytes: every attempt is a transfer of its
// own, of which only one that succeeds counts.
func (w *worker) move(ctx context.Context, kind string, do func(*transfer, *timing) error) bool {
	book := w.books.bytes[kind]
	return w.persist(ctx, kind, func(at *timing) error {
		tr := book.begin(w.size)
		err := do(tr, at)
		book.end(tr, err == nil)
		return err
	})
}

// persist makes as many attempts at an operation as allowed, and counts. An
// operation that the end of the task cut off is none.
func (w *worker) persist(ctx context.Context, kind string, attempt func(*timing) error) bool {
	begun, succeeded := time.Since(w.start), false
	end := w.books.operation(kind, begun)
	defer func() { end(time.Since(w.start), succeeded) }()
	for n := 0; ; n++ {
		at := newTiming()
		err := attempt(at)
		ended := time.Since(w.start)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			w.counts.done(kind, begun, at.firstByte().Sub(w.start), ended)
			succeeded = true
			return true
		}
		class := kindOf(err)
		again := n < w.params.Retries && class.passing()
		w.counts.attemptFailed(class, w.scrub(err).Error(), again)
		if !pause(ctx, backoff(n)) || !again {
			return false
		}
	}
}
