package kv_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSuite: the store that stands for others here is as they are.
func TestSuite(t *testing.T) {
	kvtest.Run(t, kvtest.Subject{
		Open:  func(*testing.T) kv.Store { return kvtest.NewMemory() },
		Stall: func(_ *testing.T, s kv.Store) func() { return s.(*kvtest.Memory).Stall() },
		Stop:  func(_ *testing.T, s kv.Store) { s.(*kvtest.Memory).Stop() },
	})
}

var small = kv.Dataset{Records: 1000, Shape: kv.Shape{Fields: 2, FieldSize: 16}}

// spy is a store that tells which keys are used, and changes what comes of it.
type spy struct {
	*kvtest.Memory
	keys   []string
	values []string // of updates
	// insert is called after an insert, with what came of it.
	insert func(error) error
	// load is called with rows before they are written.
	load func([]kv.Row) []kv.Row
}

func (s *spy) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	session, err := s.Memory.Connect(ctx, shape)
	return &spySession{session, s}, err
}

func (s *spy) Admin(ctx context.Context) (kv.Admin, error) {
	admin, err := s.Memory.Admin(ctx)
	return &spyAdmin{admin, s}, err
}

type spySession struct {
	kv.Session
	spy *spy
}

func (s *spySession) Read(ctx context.Context, key string, into kv.Record) error {
	s.spy.keys = append(s.spy.keys, key)
	return s.Session.Read(ctx, key, into)
}

func (s *spySession) Update(ctx context.Context, key string, field int, value []byte) error {
	s.spy.keys, s.spy.values = append(s.spy.keys, key), append(s.spy.values, string(value))
	return s.Session.Update(ctx, key, field, value)
}

func (s *spySession) Insert(ctx context.Context, key string, r kv.Record) error {
	s.spy.keys = append(s.spy.keys, key)
	err := s.Session.Insert(ctx, key, r)
	if s.spy.insert != nil {
		err = s.spy.insert(err)
	}
	return err
}

type spyAdmin struct {
	kv.Admin
	spy *spy
}

func (a *spyAdmin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	if a.spy.load != nil {
		rows = a.spy.load(rows)
	}
	return a.Admin.Load(ctx, shape, rows)
}

// loaded is a spy with a data set in it.
func loaded(t *testing.T, set kv.Dataset) *spy {
	t.Helper()
	s := &spy{Memory: kvtest.NewMemory()}
	if _, err := kv.Load(t.Context(), s, set, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

func newTarget(t *testing.T, s kv.Store, workload string, seed uint64, share load.Share) *kv.Target {
	t.Helper()
	w, err := kv.Preset(workload)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kv.NewTarget(s, kv.Config{Dataset: small, Workload: w, Seed: seed, Share: share})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// use opens client i and does operation 0 so many times; it returns the keys.
func use(t *testing.T, s *spy, x *kv.Target, i, times int) []string {
	t.Helper()
	client, err := x.Open(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	s.keys = nil
	for range times {
		if err := client.Do(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	return s.keys
}

// TestRepeatable: a client chooses the same records with the same seed, and
// other ones otherwise: than other clients, other generators, and itself before
// it was opened anew.
func TestRepeatable(t *testing.T) {
	s := loaded(t, small)
	x := newTarget(t, s, "w2", 5, load.All)
	first := use(t, s, x, 0, 50)
	if again := use(t, s, newTarget(t, s, "w2", 5, load.All), 0, 50); !slices.Equal(first, again) {
		t.Errorf("the same seed chose %v and %v", first, again)
	}
	for name, keys := range map[string][]string{
		"another time":      use(t, s, x, 0, 50),
		"another client":    use(t, s, x, 1, 50),
		"another seed":      use(t, s, newTarget(t, s, "w2", 6, load.All), 0, 50),
		"another generator": use(t, s, newTarget(t, s, "w2", 5, load.Share{Index: 1, Of: 2}), 0, 50),
	} {
		if slices.Equal(first, keys) {
			t.Errorf("%s: chose the same records", name)
		}
	}
}

// TestUpdatesDiffer: the same seed updates the same records, and never to what
// is there: not writing at all would do for that.
func TestUpdatesDiffer(t *testing.T) {
	s := loaded(t, small)
	first := use(t, s, newTarget(t, s, "w1", 5, load.All), 0, 200)
	if again := use(t, s, newTarget(t, s, "w1", 5, load.All), 0, 200); !slices.Equal(first, again) {
		t.Errorf("the same seed chose %v and %v", first, again)
	}
	slices.Sort(s.values)
	if n := len(slices.Compact(s.values)); n != 400 {
		t.Errorf("%d different values in 400 updates", n)
	}
}

// TestInsertedAreRead: workload D reads what it has inserted, the newest most.
func TestInsertedAreRead(t *testing.T) {
	s := loaded(t, small)
	x := newTarget(t, s, "d", 1, load.All)
	client, err := x.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := client.Do(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	inserted := slices.Clone(s.keys)
	if want := small.Key(small.Records + 99); inserted[99] != want {
		t.Fatalf("the last insert was of %s, want %s", inserted[99], want)
	}
	keys := use(t, s, x, 1, 1000)
	newest := 0
	for _, key := range keys {
		if key == inserted[99] {
			newest++
		}
	}
	// An exact zipfian distribution over 1100 gives the newest 13 % of reads.
	if newest < 90 || newest > 170 {
		t.Errorf("%d of %d reads were of the newest record, want about 130", newest, len(keys))
	}
}

// TestLostInsert: an insert that was done although its answer was lost is found
// out about, and costs no more than its own error.
func TestLostInsert(t *testing.T) {
	s := loaded(t, small)
	x := newTarget(t, s, "d", 1, load.All)
	client, err := x.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	lost := &load.Error{Kind: load.ErrTimeout}
	s.insert = func(error) error { return lost }
	if err := client.Do(t.Context(), 1); !errors.Is(err, lost) {
		t.Errorf("Do = %v, want %v", err, lost)
	}
	s.insert = nil
	for range 2 {
		if err := client.Do(t.Context(), 1); err != nil {
			t.Errorf("Do after that = %v", err)
		}
	}
	if s.keys[0] != s.keys[1] || s.keys[1] == s.keys[2] {
		t.Errorf("records %v were inserted, want the first one twice", s.keys)
	}
}

// TestRecordIsThere: a record that another client has inserted is a refusal.
func TestRecordIsThere(t *testing.T) {
	s := loaded(t, small)
	session, err := s.Connect(t.Context(), small.Shape)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Insert(t.Context(), small.Key(small.Records), small.Record(small.Records)); err != nil {
		t.Fatal(err)
	}
	client, err := newTarget(t, s, "d", 1, load.All).Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), 1); !errors.Is(err, kv.ErrExists) || load.KindOf(err) != load.ErrStatus {
		t.Errorf("Do = %v, want ErrExists of kind status", err)
	}
}

// TestRecordIsMissing: a record that was loaded and is gone is missing, and no wrong
// answer.
func TestRecordIsMissing(t *testing.T) {
	s := loaded(t, small)
	if err := kvtest.Drop(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	client, err := newTarget(t, s, "w3", 1, load.All).Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for op := range 2 {
		if err := client.Do(t.Context(), op); !errors.Is(err, kv.ErrMissing) || load.KindOf(err) != load.ErrMissing {
			t.Errorf("Do(%d) = %v, want ErrMissing of kind missing", op, err)
		}
	}
}

func TestNewTargetRefuses(t *testing.T) {
	w, err := kv.Preset("a")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]kv.Config{
		"data set": {Workload: w},
		"workload": {Dataset: small},
		"share":    {Dataset: small, Workload: w, Share: load.Share{Index: 2, Of: 2}},
	} {
		if _, err := kv.NewTarget(kvtest.NewMemory(), c); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: NewTarget = %v, want ErrUsage", name, err)
		}
	}
}

// TestLoadCounts: a store that loses records is not measured.
func TestLoadCounts(t *testing.T) {
	s := &spy{Memory: kvtest.NewMemory(), load: func(rows []kv.Row) []kv.Row { return rows[1:] }}
	_, err := kv.Load(t.Context(), s, small, 0)
	if !errors.Is(err, model.ErrInvalid) {
		t.Errorf("Load = %v, want ErrInvalid", err)
	}
	s.load = nil
	if l, err := kv.Load(t.Context(), s, small, 0); err != nil || !l.Fresh {
		t.Errorf("Load after that = %+v, %v, want a fresh data set", l, err)
	}
}
