package kvtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// testLoads reads every record that was loaded.
func testLoads(t *testing.T, s Subject) {
	store := s.Open(t)
	checkLoaded(t, store, set, false)
	if l, err := kv.Load(t.Context(), store, set, 0); err != nil || !l.Fresh || l.Missing != set.Records {
		t.Fatalf("Load = %+v, %v, want it fresh, with all records missing before", l, err)
	}
	if n := count(t, store); n != set.Records {
		t.Errorf("Count = %d, want %d", n, set.Records)
	}
	checkLoaded(t, store, set, true)
	other := set
	other.Records++
	checkLoaded(t, store, other, false)
	readAll(t, store, set)
}

func checkLoaded(t *testing.T, store kv.Store, set kv.Dataset, want bool) {
	t.Helper()
	if got, err := kv.Loaded(t.Context(), store, set, 0); got != want || err != nil {
		t.Errorf("Loaded(%v) = %v, %v, want %v", set, got, err, want)
	}
}

// readAll reads and verifies every record.
func readAll(t *testing.T, store kv.Store, set kv.Dataset) {
	t.Helper()
	session := connect(t, store, set)
	for i := range set.Records {
		r, err := read(t.Context(), session, set, i)
		if err == nil {
			err = set.Verify(i, r)
		}
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
	}
}

// testLarge: the store does not limit a data set.
func testLarge(t *testing.T, s Subject) {
	store := s.Open(t)
	for name, set := range map[string]kv.Dataset{
		"long field":  {Records: 3, Shape: kv.Shape{Fields: 1, FieldSize: 1 << 20}},
		"many fields": {Records: 1200, Shape: kv.Shape{Fields: 64, FieldSize: 16}},
	} {
		t.Run(name, func(t *testing.T) {
			prepare(t, store, set)
			readAll(t, store, set)
		})
	}
}

// testKeeps: updates do not make another data set of it.
func testKeeps(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	// Only an update of the same record can have put this here.
	noError(t, connect(t, store, set).Update(t.Context(), set.Key(7), 1, []byte("a value of 21 bytes..")))
	if prepare(t, store, set) {
		t.Error("a data set that was there was loaded again")
	}
	r, err := read(t.Context(), connect(t, store, set), set, 7)
	if err != nil || string(r[1]) != "a value of 21 bytes.." {
		t.Errorf("record 7 = %q, %v, want the value that was put there", r, err)
	}
}

func testReplaces(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	other := kv.Dataset{Records: 10, Shape: kv.Shape{Fields: 5, FieldSize: 40}}
	if !prepare(t, store, other) {
		t.Error("another data set was taken for this one")
	}
	if n := count(t, store); n != other.Records {
		t.Errorf("Count = %d, want %d", n, other.Records)
	}
	readAll(t, store, other)
}

func testAddedTo(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, tiny)
	noError(t, connect(t, store, tiny).Insert(t.Context(), tiny.Key(1), tiny.Record(1)))
	if n := count(t, store); n != 2 {
		t.Errorf("Count = %d, want 2", n)
	}
	_, removes := admin(t, store).(kv.Remover)
	if fresh := prepare(t, store, tiny); fresh == removes || count(t, store) != 1 {
		t.Errorf("after an insert: loaded anew %v with %d records, want %v with 1", fresh, count(t, store), !removes)
	}
	// No run inserts this one.
	noError(t, connect(t, store, tiny).Insert(t.Context(), tiny.Key(1<<30), tiny.Record(1)))
	if !prepare(t, store, tiny) || count(t, store) != 1 {
		t.Error("a data set to which another program has added a record was kept")
	}
}

// testInserted: after a run that inserts, a store holds what a fresh one does,
// and the next run can insert the same.
func testInserted(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	session := connect(t, store, set)
	// Two generators, one of them slower, with a gap each.
	var inserted []int64
	for i := range int64(1500) {
		if n := set.Records + i; i != 3 && i != 904 && (i < 1000 || i%2 == 0) {
			inserted = append(inserted, n)
		}
	}
	insert := func() {
		t.Helper()
		for _, n := range inserted {
			noError(t, session.Insert(t.Context(), set.Key(n), set.Record(n)))
		}
	}
	insert()
	if n := count(t, store); n != set.Records+int64(len(inserted)) {
		t.Fatalf("Count = %d, want %d and %d more", n, set.Records, len(inserted))
	}
	prepare(t, store, set)
	if n, d := count(t, store), find(t, store); n != set.Records || d != set.String() {
		t.Errorf("%d records, described as %q; want %d as %q", n, d, set.Records, set)
	}
	readAll(t, store, set)
	session = connect(t, store, set)
	for _, n := range inserted {
		if _, err := read(t.Context(), session, set, n); !errors.Is(err, kv.ErrMissing) {
			t.Fatalf("record %d is still there: %v", n, err)
		}
	}
	insert()
}

// testLost: what a store has lost is counted, whether a run has inserted others or not,
// and loaded again.
func testLost(t *testing.T, s Subject) {
	store := s.Open(t)
	remover, ok := admin(t, store).(kv.Remover)
	if !ok {
		t.Skip("records cannot be removed one by one")
	}
	for _, inserted := range []int64{0, 40} {
		prepare(t, store, set)
		var gone []string
		for i := range int64(7) {
			gone = append(gone, set.Key(300*i))
		}
		if n, err := remover.Remove(t.Context(), gone); err != nil || n != 7 {
			t.Fatalf("Remove = %d, %v, want 7", n, err)
		}
		session := connect(t, store, set)
		for i := range inserted {
			noError(t, session.Insert(t.Context(), set.Key(set.Records+i), set.Record(set.Records+i)))
		}
		if l, err := kv.Load(t.Context(), store, set, 0); err != nil || !l.Fresh || l.Missing != 7 {
			t.Errorf("after 7 were lost and %d inserted: Load = %+v, %v", inserted, l, err)
		}
		readAll(t, store, set)
	}
}

// cutOff is a store that breaks off a load after the first batch.
type cutOff struct {
	kv.Store
	begun  *atomic.Bool
	cancel context.CancelFunc
}

func (c cutOff) Admin(ctx context.Context) (kv.Admin, error) {
	a, err := c.Store.Admin(ctx)
	return cutOffAdmin{a, c}, err
}

type cutOffAdmin struct {
	kv.Admin
	of cutOff
}

func (a cutOffAdmin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	if a.of.begun.Swap(true) {
		<-ctx.Done()
		return ctx.Err()
	}
	defer a.of.cancel()
	return a.Admin.Load(ctx, shape, rows)
}

// testCutOff ends a load after its first batch.
func testCutOff(t *testing.T, s Subject) {
	store := s.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := kv.Load(ctx, cutOff{store, new(atomic.Bool), cancel}, set, 0); err == nil {
		t.Fatal("a load that was cut off says that it is complete")
	}
	if d := find(t, store); d != "" {
		t.Errorf("Find = %q after half a load, want none", d)
	}
	if n := count(t, store); n == 0 || n >= set.Records {
		t.Fatalf("%d of %d records after half a load", n, set.Records)
	}
	if !prepare(t, store, set) {
		t.Error("half a data set was taken for a whole one")
	}
	if d := find(t, store); d != set.String() {
		t.Errorf("Find = %q, want %q", d, set)
	}
	readAll(t, store, set)
}

func testDrops(t *testing.T, s Subject) {
	store := s.Open(t)
	prepare(t, store, set)
	for range 2 { // what is gone can be dropped again
		noError(t, Drop(t.Context(), store))
		if d, n := find(t, store), count(t, store); d != "" || n != 0 {
			t.Errorf("after Drop: Find = %q, Count = %d, want nothing", d, n)
		}
	}
	if !prepare(t, store, tiny) {
		t.Error("nothing was loaded after Drop")
	}
}
