package kvtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// promptly bounds what must not take as long as a server likes. It is generous,
// for the machine may be busy.
const promptly = 5 * time.Second

// soon is when operations are to give up.
const soon = 100 * time.Millisecond

// testTimeout: a server that does not answer costs no more than the time that
// there is for an operation.
func testTimeout(t *testing.T, s Subject) {
	testGivesUp(t, s, func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), soon)
	})
}

// testCancel: it costs no more if there is no such time, but somebody says that
// it is over.
func testCancel(t *testing.T, s Subject) {
	testGivesUp(t, s, func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(soon, cancel)
		return ctx, cancel
	})
}

func testGivesUp(t *testing.T, s Subject, limit func() (context.Context, context.CancelFunc)) {
	store := s.Open(t)
	prepare(t, store, tiny)
	for name, do := range map[string]func(context.Context, kv.Session) error{
		"read":   func(ctx context.Context, x kv.Session) error { return x.Read(ctx, tiny.Key(0), tiny.Record(0)) },
		"update": func(ctx context.Context, x kv.Session) error { return x.Update(ctx, tiny.Key(0), 0, tiny.Record(0)[0]) },
		"insert": func(ctx context.Context, x kv.Session) error { return x.Insert(ctx, tiny.Key(1), tiny.Record(1)) },
	} {
		session := connect(t, store, tiny)
		release := sync.OnceFunc(s.Stall(t, store))
		giveUp := time.AfterFunc(promptly, release) // whoever does not would wait for ever
		ctx, cancel := limit()
		begin := time.Now()
		err := do(ctx, session)
		took := time.Since(begin)
		cancel()
		giveUp.Stop()
		release()
		if err == nil || load.KindOf(err) != load.ErrTimeout || took < soon/2 || took > promptly {
			t.Errorf("%s gave up after %v with %v, want one of kind timeout after %v", name, took, err, soon)
		}
	}
	// The store is as it was.
	if err := open(t, store, tiny, "c").Do(t.Context(), 0); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func testStop(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, tiny)
	clients := [...]load.Client{open(t, store, tiny, "a"), open(t, store, tiny, "a")}
	s.Stop(t, store)
	for op, client := range clients { // a read and an update
		if err := client.Do(t.Context(), op); err == nil || load.KindOf(err) != load.ErrClosed {
			t.Errorf("operation %d of a server that has ended = %v, want one of kind closed", op, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), promptly)
	defer cancel()
	if x, err := store.Connect(ctx, tiny.Shape); err == nil || load.KindOf(err) != load.ErrConnect {
		t.Errorf("Connect = %v, %v, want an error of kind connect", x, err)
	}
	if _, err := kv.Load(ctx, store, tiny, kv.LoadOptions{}); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("Load = %v, want ErrUnavailable", err)
	}
}
