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

func testMissing(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, tiny)
	session := connect(t, store, tiny)
	if _, err := read(t.Context(), session, tiny, 5); !errors.Is(err, kv.ErrMissing) {
		t.Errorf("Read of no record = %v, want ErrMissing", err)
	}
	err := session.Update(t.Context(), tiny.Key(5), 0, tiny.Record(5)[0])
	if s.BlindUpdates {
		noError(t, err)
		if _, err := read(t.Context(), session, tiny, 5); !errors.Is(err, kv.ErrMissing) {
			t.Errorf("Read of what an update of no record has left = %v, want ErrMissing", err)
		}
	} else if !errors.Is(err, kv.ErrMissing) {
		t.Errorf("Update of no record = %v, want ErrMissing", err)
	} else if n := count(t, store); n != 1 {
		t.Errorf("%d records after an update of one that is not there, want 1", n)
	}
	// The session goes on.
	if _, err := read(t.Context(), session, tiny, 0); err != nil {
		t.Errorf("Read after that = %v", err)
	}
}

func testUpdates(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	session := connect(t, store, set)
	for field := range set.Fields {
		noError(t, session.Update(t.Context(), set.Key(9), field, []byte("another 21 byte value")))
		r, err := read(t.Context(), session, set, 9)
		if err != nil {
			t.Fatal(err)
		}
		for i, value := range r {
			if changed := string(value) == "another 21 byte value"; changed != (i <= field) {
				t.Errorf("after updates of the fields up to %d, field %d = %q", field, i, value)
			}
		}
	}
	if r, err := read(t.Context(), session, set, 10); err != nil || set.Verify(10, r) != nil {
		t.Errorf("a neighbour was touched: %q, %v", r, err)
	}
}

func testInserts(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, tiny)
	session := connect(t, store, tiny)
	noError(t, session.Insert(t.Context(), tiny.Key(1), tiny.Record(1)))
	r, err := read(t.Context(), session, tiny, 1)
	if err != nil || tiny.Verify(1, r) != nil {
		t.Errorf("record 1 = %q, %v", r, err)
	}
	err = session.Insert(t.Context(), tiny.Key(1), tiny.Record(1))
	if s.Upserts {
		noError(t, err)
	} else if !errors.Is(err, kv.ErrExists) {
		t.Errorf("Insert of a record that there is = %v, want ErrExists", err)
	}
	if r, err := read(t.Context(), session, tiny, 0); err != nil || tiny.Verify(0, r) != nil {
		t.Errorf("record 0 = %q, %v", r, err)
	}
}

// testWrong: a client notices a value that was never written, and one of another
// size.
func testWrong(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, tiny)
	client := open(t, store, tiny, "c")
	noError(t, client.Do(t.Context(), 0))
	for _, value := range []string{"0000000000000000", "short", ""} {
		noError(t, connect(t, store, tiny).Update(t.Context(), tiny.Key(0), 1, []byte(value)))
		if err := client.Do(t.Context(), 0); err == nil || load.KindOf(err) != load.ErrWrong {
			t.Errorf("with the value %q: %v, want one of kind wrong", value, err)
		}
	}
}

// open makes a client of a workload.
func open(t testing.TB, store kv.Store, set kv.Dataset, workload string) load.Client {
	t.Helper()
	c, err := target(t, store, set, workload).Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // an operation may have ended it
	return c
}

func target(t testing.TB, store kv.Store, set kv.Dataset, workload string) *kv.Target {
	t.Helper()
	w, err := kv.Preset(workload)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kv.NewTarget(store, kv.Config{Dataset: set, Workload: w, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// testWorkloads runs several clients at once.
func testWorkloads(t *testing.T, s Subject) {
	store := s.Open(t)
	for _, w := range kv.Presets() {
		t.Run(w.Name, func(t *testing.T) {
			prepare(t, store, set)
			inserted := drive(t, target(t, store, set, w.Name))
			if n := count(t, store); n != set.Records+inserted {
				t.Errorf("%d records after %d were inserted into %d", n, inserted, set.Records)
			}
			readAll(t, store, set)
		})
	}
}

// drive has clients do operations, each its share of every kind, and returns
// how many were inserts.
func drive(t *testing.T, x *kv.Target) (inserted int64) {
	t.Helper()
	const clients, rounds = 4, 40
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			client, err := x.Open(t.Context(), i)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { noError(t, client.Close()) }()
			for range rounds {
				for op, kind := range x.Mix() {
					if err := client.Do(t.Context(), op); err != nil {
						t.Errorf("%s: %v", kind.Name, err)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, kind := range x.Mix() {
		if kind.Name == "insert" {
			inserted = clients * rounds
		}
	}
	return inserted
}

// testPool: a load.Pool drives the target, and nothing fails.
func testPool(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	pool, err := load.NewPool(target(t, store, set, "d"), load.PoolConfig{Clients: 4, Timeout: promptly})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { noError(t, pool.Close()) }()
	var sum load.Counts
	_, err = pool.Run(t.Context(), load.Run{
		Plan:  load.Plan{Arrivals: load.Constant, Stages: []load.Stage{load.Hold(400, 500*time.Millisecond)}},
		Share: load.All,
		Drain: promptly,
		Each:  func(x load.Second) { sum.Add(x.Total()) },
	})
	noError(t, err)
	if sum.Due != 200 || sum.OK != sum.Due {
		t.Errorf("of 200 operations: %+v, want all OK", sum)
	}
}

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

// testCancel: it costs no more if the caller cancels instead of setting a
// deadline.
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
		giveUp := time.AfterFunc(promptly, release) // a store that ignores ctx would wait for ever
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
	if _, err := kv.Load(ctx, store, tiny, 0); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("Load = %v, want ErrUnavailable", err)
	}
}
