package jobs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// opened is a queue of n items with leases of 10 s and three tries.
func opened(t *testing.T, o Open) *Queue {
	t.Helper()
	o.Lease, o.Tries = 10*time.Second, 3
	q := New()
	if err := q.Open(o); err != nil {
		t.Fatal(err)
	}
	return q
}

func take(t *testing.T, q *Queue, owner string, n int, now time.Time) []Lease {
	t.Helper()
	leases, err := q.Take(owner, n, now)
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

func keys(leases []Lease) (out []string) {
	for _, l := range leases {
		out = append(out, l.Key+"="+l.Name)
	}
	return out
}

func TestItems(t *testing.T) {
	names := Add{Names: []string{"a", "b"}, Last: true}
	for name, c := range map[string]struct {
		open     Open
		add      *Add
		names    []string
		over     []Over
		want     []string
		drained  bool
		setAside int64
	}{
		"count":             {open: Open{Count: 2}, want: []string{"0=0", "1=1"}},
		"names":             {add: &names, want: []string{"0=a", "1=b"}},
		"not all are known": {add: &Add{Names: []string{"a"}}},
		"none":              {add: &Add{Last: true}, drained: true},
		"endless names":     {open: Open{Endless: true}, add: &names, want: []string{"0=a", "1=b", "2=a"}},
		"endless, of none":  {open: Open{Endless: true}, add: &Add{Last: true}, drained: true},
		"endless numbers":   {open: Open{Endless: true, Count: 1}, want: []string{"0=0", "1=1", "2=2"}},
		"some are over":     {open: Open{Count: 3}, over: []Over{{"1", Done}}, want: []string{"0=0", "2=2"}},
		"all are over":      {open: Open{Count: 1}, over: []Over{{"0", SetAside}}, drained: true, setAside: 1},
		"endless goes on": {open: Open{Endless: true, Count: 1}, over: []Over{{"1", Done}},
			want: []string{"2=2", "3=3", "4=4"}},
		"names of a past attempt": {names: []string{"x"}, add: &names, want: []string{"0=x"}},
	} {
		q := New()
		q.Restore(c.names, c.names != nil, c.over)
		c.open.Lease, c.open.Tries = time.Second, 1
		if err := q.Open(c.open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.add != nil {
			if err := q.Add(*c.add); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		got := keys(take(t, q, "o", 3, start))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: leases (-want +got):\n%s", name, diff)
		}
		if s := q.State(); s.Drained != c.drained || s.SetAside != c.setAside || s.Leased != int64(len(got)) {
			t.Errorf("%s: state %+v", name, s)
		}
	}
}

func TestAddReplacesWhatStoodThere(t *testing.T) {
	q := opened(t, Open{})
	for _, a := range []Add{{Names: []string{"a", "b"}}, {From: 1, Names: []string{"c"}}, {From: 1, Names: []string{"c"}},
		{From: 2, Last: true}, {Names: []string{"late"}}} {
		if err := q.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"0=a", "1=c"}, keys(take(t, q, "o", 9, start))); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	if err := opened(t, Open{}).Add(Add{From: 1}); err == nil {
		t.Error("a gap was added")
	}
}

// TestLateResult: a worker was silent for longer than its lease; what it says then does
// not count, and another's result does.
func TestLateResult(t *testing.T) {
	q := opened(t, Open{Count: 1})
	first := take(t, q, "a", 1, at(0))[0]
	if lost := q.Renew("a", []uint64{first.ID}, at(9)); lost != nil {
		t.Errorf("Renew in time lost %v", lost)
	}
	if aside := q.Expire(at(18)); aside != nil || len(take(t, q, "b", 1, at(18))) > 0 {
		t.Error("a lease that was renewed ended")
	}
	q.Expire(at(20))
	second := take(t, q, "b", 1, at(20))[0]
	if want := (Lease{ID: 2, Key: "0", Name: "0", Try: 2}); second != want {
		t.Errorf("second lease %+v, want %+v", second, want)
	}
	if lost := q.Renew("a", []uint64{first.ID}, at(21)); !slices.Equal(lost, []uint64{1}) {
		t.Errorf("Renew of a lease that is over: lost %v, want 1", lost)
	}
	done := func(l Lease, owner string) ([]Record, []uint64) {
		return q.Finish(owner, []Record{{Lease: l.ID, Outcome: Done}}, at(22))
	}
	if store, refused := done(first, "a"); store != nil || !slices.Equal(refused, []uint64{1}) {
		t.Errorf("late Finish: %v, refused %v", store, refused)
	}
	if store, refused := done(second, "a"); store != nil || !slices.Equal(refused, []uint64{2}) {
		t.Errorf("Finish of another's lease: %v, refused %v", store, refused)
	}
	store, _ := done(second, "b")
	if len(store) != 1 || store[0].Key != "0" || store[0].Try != 2 {
		t.Fatalf("Finish hands out %+v", store)
	}
	if aside := q.Expire(at(99)); aside != nil || q.State().Drained {
		t.Error("an item whose result is being stored ended")
	}
	q.Settle(store[0], Stored, at(99))
	if want := (State{Items: 1, Done: 1, Ready: true, Drained: true}); q.State() != want {
		t.Errorf("state %+v, want %+v", q.State(), want)
	}
	if store, refused := done(second, "b"); store != nil || refused != nil {
		t.Errorf("a Finish that came twice: %v, refused %v", store, refused)
	}
}

func TestSetAside(t *testing.T) {
	for name, c := range map[string]struct {
		errors []string // "": the lease ends
		want   string
	}{
		"fails":         {[]string{"one", "two", "three"}, "three"},
		"is lost":       {[]string{"", "", ""}, lostError},
		"fails, lost":   {[]string{"one", "", ""}, "one"},
		"lost and fail": {[]string{"", "two", "three"}, "three"},
	} {
		q := opened(t, Open{Count: 1})
		now, store := start, []Record(nil)
		for try, text := range c.errors {
			l := take(t, q, "o", 1, now)
			if len(l) != 1 || l[0].Try != try+1 {
				t.Fatalf("%s: leases %+v for try %d", name, l, try+1)
			}
			if text != "" {
				store, _ = q.Finish("o", []Record{{Lease: l[0].ID, Outcome: Failed, Error: text}}, now)
				continue
			}
			now, store = now.Add(11*time.Second), nil
			for _, e := range q.Expire(now) {
				store = append(store, e.Record)
			}
		}
		if len(store) != 1 || store[0].Outcome != SetAside || store[0].Error != c.want {
			t.Fatalf("%s: set aside by %+v, want the error %q", name, store, c.want)
		}
		q.Settle(store[0], Stored, now)
		if s := q.State(); s.SetAside != 1 || !s.Drained {
			t.Errorf("%s: state %+v", name, s)
		}
	}
}

// TestPardon: who heard nobody for a while ends no lease for that.
func TestPardon(t *testing.T) {
	q := opened(t, Open{Count: 2})
	take(t, q, "a", 1, at(0))
	l := take(t, q, "b", 1, at(0))[0]
	q.Pardon("", at(60))
	if aside := q.Expire(at(61)); aside != nil || q.State().Leased != 2 {
		t.Errorf("after a pardon %d of 2 leases are left", q.State().Leased)
	}
	if lost := q.Renew("b", []uint64{l.ID}, at(69)); lost != nil {
		t.Errorf("lease %v is lost", lost)
	}
	if q.Expire(at(71)); q.State().Leased != 1 {
		t.Errorf("%d leases are left, and one was renewed", q.State().Leased)
	}
}

// TestHear: only a silence of all tasks is a pardon, and one of half a lease.
func TestHear(t *testing.T) {
	for name, c := range map[string]struct {
		heard []float64 // s
		left  int64     // of the lease, at the last of these
	}{
		"one in time":         {[]float64{5, 10, 11}, 0},
		"nobody for a while":  {[]float64{5, 11}, 1},
		"nobody for long":     {[]float64{60}, 1},
		"silence that was":    {[]float64{1, 7, 12, 17, 18}, 0},
		"silence, once again": {[]float64{1, 7, 12, 18}, 1},
	} {
		q := opened(t, Open{Count: 1})
		q.Hear(at(0))
		take(t, q, "o", 1, at(0))
		for _, s := range c.heard {
			q.Hear(at(s))
			q.Expire(at(s))
		}
		if got := q.State().Leased; got != c.left {
			t.Errorf("%s: %d leases are left, want %d", name, got, c.left)
		}
	}
}

// TestClockSteps: a clock that is set back ends no lease; one that is set forward, as when
// its computer slept, ends none of tasks that are heard again.
func TestClockSteps(t *testing.T) {
	for name, step := range map[string]float64{"back": -3600, "forward": 3600} {
		q := opened(t, Open{Count: 1})
		q.Hear(at(0))
		l := take(t, q, "a", 1, at(0))[0]
		for _, s := range []float64{0, 4, 8} {
			now := at(3 + step + s)
			q.Hear(now)
			if expired := q.Expire(now); len(expired) > 0 {
				t.Errorf("%s: %+v", name, expired)
			}
			if lost := q.Renew("a", []uint64{l.ID}, now); len(lost) > 0 {
				t.Errorf("%s: a lease is lost after %v s", name, s)
			}
		}
		q.Hear(at(3 + step + 12))
		if store, refused := q.Finish("a", []Record{{Lease: l.ID, Outcome: Done}}, at(3+step+12)); len(store) != 1 ||
			len(refused) > 0 {
			t.Errorf("%s: the result is %v, refused %v", name, store, refused)
		}
	}
}

// TestQueueOfOthers: tasks use the server's queue, or one that is not ours; records without
// a lease are for the latter alone.
func TestQueueOfOthers(t *testing.T) {
	record := Call{Finish: []Record{{Key: "0", Try: 1, Outcome: Done}}}
	open := Call{Open: &Open{Count: 2, Lease: time.Minute, Tries: 1}}
	for name, calls := range map[string][2]Call{"ours first": {open, record}, "ours last": {record, open}} {
		q := New()
		turn, _, err := q.Begin("a", 1, calls[0], at(0))
		if err != nil {
			t.Fatal(err)
		}
		before, err := q.End(turn, true, slices.Repeat([]Storage{Stored}, len(turn.Records)), at(0))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := q.Begin("b", 1, calls[1], at(0)); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before.State, q.State()); diff != "" {
			t.Errorf("%s: a call that is refused changes\n%s", name, diff)
		}
	}
}

func TestReturnedUsesUpNoTry(t *testing.T) {
	q := opened(t, Open{Count: 1})
	for range 9 {
		l := take(t, q, "o", 1, start)[0]
		if l.Try != 1 {
			t.Fatalf("try %d of an item that was never begun", l.Try)
		}
		q.Finish("o", []Record{{Lease: l.ID, Outcome: Returned}}, start)
	}
}

func TestDifferentQueuesOfOneStep(t *testing.T) {
	q := opened(t, Open{Count: 1})
	if err := q.Open(Open{Count: 1, Lease: 10 * time.Second, Tries: 3}); err != nil {
		t.Error(err)
	}
	if err := q.Open(Open{Count: 2, Lease: 10 * time.Second, Tries: 3}); err == nil {
		t.Error("a different queue was opened")
	}
	if _, err := New().Take("o", 1, start); !errors.Is(err, ErrClosed) {
		t.Errorf("Take before Open: %v", err)
	}
}

// fleet is a simple model of a queue beside the real one: what each lease is, and what
// became of each item.
type fleet struct {
	t       *testing.T
	rand    *rand.Rand
	q       *Queue
	now     time.Time
	seq     map[string]uint64
	leases  map[uint64]*lent // not over
	tries   map[string]int
	stored  map[string]Record
	past    []Record // said before: may be said again
	settled map[uint64]string
}

type lent struct {
	Lease
	owner string
	ends  time.Time
}

const (
	fleetItems = 40
	fleetLease = 5 * time.Second
	fleetTries = 4
)

// call makes a call, stores what it says or fails to, and makes it again, as an agent
// does. It returns the leases of Renew that are over in the model, too.
func (f *fleet) call(owner string, c Call) (r Reply, lost []uint64) {
	f.seq[owner]++
	for {
		turn, _, err := f.q.Begin(owner, f.seq[owner], c, f.now)
		if err != nil {
			f.t.Fatal(err)
		}
		lost = f.begin(owner, c)
		if _, _, err := f.q.Begin(owner, f.seq[owner], c, f.now); !errors.Is(err, ErrBusy) {
			f.t.Fatalf("the same call while it is executed: %v", err)
		}
		ok := f.rand.IntN(4) > 0
		if f.rand.IntN(5) == 0 { // storing takes long: no lease of a result ends meanwhile
			f.now = f.now.Add(fleetLease * 2)
			f.expire(owner)
			f.pardon(owner)
		}
		if !ok && len(turn.Records) > 0 {
			f.pardon(owner)
		}
		reply, err := f.q.End(turn, ok, f.store(turn.Records, ok), f.now)
		if wrong := !ok && len(turn.Records) > 0; wrong != (err != nil) {
			f.t.Fatalf("End = %v, stored: %v", err, ok)
		}
		if err != nil {
			f.now = f.now.Add(fleetLease * 9 / 10)
			f.expire("")
			continue
		}
		again, same, err := f.q.Begin(owner, f.seq[owner], c, f.now)
		if again != nil || err != nil || !cmp.Equal(same, reply) {
			f.t.Fatalf("the call that came twice: %+v, %v, want %+v", same, err, reply)
		}
		if _, _, err := f.q.Begin(owner, f.seq[owner]-1, c, f.now); !errors.Is(err, ErrOld) {
			f.t.Fatalf("an old call: %v", err)
		}
		return reply, lost
	}
}

// begin is what a call changes at once.
func (f *fleet) begin(owner string, c Call) (lost []uint64) {
	for _, record := range c.Finish {
		l := f.leases[record.Lease]
		if l == nil || l.owner != owner || record.Outcome == Done || record.Outcome == Failed && l.Try == fleetTries {
			continue
		}
		if record.Outcome == Failed {
			f.tries[l.Key] = l.Try
		}
		delete(f.leases, record.Lease)
	}
	for _, id := range c.Renew {
		if l := f.leases[id]; l != nil {
			l.ends = f.now.Add(fleetLease)
		} else if f.settled[id] == "" {
			lost = append(lost, id)
		}
	}
	return lost
}

func (f *fleet) store(records []Record, ok bool) []Storage {
	out := make([]Storage, len(records))
	for i, r := range records {
		l := f.leases[r.Lease]
		if l == nil {
			f.t.Fatalf("a record of lease %d is to be stored, which is over", r.Lease)
		}
		if !ok {
			l.ends = f.now.Add(fleetLease)
			continue
		}
		if _, twice := f.stored[r.Key]; twice {
			f.t.Fatalf("item %s is stored twice", r.Key)
		}
		if out[i], f.stored[r.Key] = Stored, r; r.Outcome == Done {
			f.settled[r.Lease] = r.Key
		}
		delete(f.leases, r.Lease)
	}
	return out
}

// pardon begins the leases of a task anew in the model.
func (f *fleet) pardon(owner string) {
	for _, l := range f.leases {
		if l.owner == owner {
			l.ends = f.now.Add(fleetLease)
		}
	}
}

// expire ends leases in the model and in the queue, but those of a task that waits for
// the store.
func (f *fleet) expire(busy string) {
	aside := map[string]bool{}
	for id, l := range f.leases {
		if !f.now.After(l.ends) || l.owner == busy {
			continue
		}
		f.tries[l.Key] = l.Try
		if l.Try < fleetTries {
			delete(f.leases, id)
		} else {
			aside[l.Key] = true
		}
	}
	expired := f.q.Expire(f.now)
	if len(expired) != len(aside) {
		f.t.Fatalf("Expire sets %v aside, want %v", expired, aside)
	}
	var records []Record
	for _, e := range expired {
		if l := f.leases[e.Lease]; l == nil || l.owner != e.Owner {
			f.t.Fatalf("Expire says that lease %d was of %q, in the model %+v", e.Lease, e.Owner, l)
		}
		records = append(records, e.Record)
	}
	for i, s := range f.store(records, true) {
		f.q.Settle(records[i], s, f.now)
	}
}

// work is one call of a task: it finishes some of its leases, old ones too, renews others
// and takes more.
func (f *fleet) work(owner string) {
	f.expire("")
	c := Call{Open: &Open{Count: fleetItems, Lease: fleetLease, Tries: fleetTries}, Take: f.rand.IntN(4)}
	said := map[uint64]bool{}
	for id, l := range f.leases {
		if l.owner != owner {
			continue
		}
		switch f.rand.IntN(6) {
		case 0, 1:
			outcome := []Outcome{Done, Failed, Returned}[f.rand.IntN(3)]
			c.Finish = append(c.Finish, Record{Lease: id, Key: l.Key, Try: l.Try, Outcome: outcome})
			said[id] = true
		case 2:
			c.Renew = append(c.Renew, id)
		}
	}
	for range min(len(f.past), f.rand.IntN(3)) {
		r := f.past[f.rand.IntN(len(f.past))]
		if l := f.leases[r.Lease]; !said[r.Lease] && (l == nil || l.owner != owner) {
			c.Finish = append(c.Finish, r)
			said[r.Lease] = true
		}
	}
	reply, lost := f.call(owner, c)
	f.check(owner, c, reply, lost)
}

func (f *fleet) check(owner string, c Call, r Reply, lost []uint64) {
	var refused []uint64
	for _, record := range c.Finish {
		f.past = append(f.past, record)
		if record.Outcome == Done && f.settled[record.Lease] == "" {
			refused = append(refused, record.Lease)
		}
	}
	if !slices.Equal(r.Refused, refused) || !slices.Equal(r.Lost, lost) {
		f.t.Fatalf("refused %v, want %v; lost %v, want %v", r.Refused, refused, r.Lost, lost)
	}
	waiting := fleetItems - len(f.stored) - len(f.leases)
	if len(r.Leases) != min(c.Take, waiting) {
		f.t.Fatalf("%d items of %d waiting for a Take of %d", len(r.Leases), waiting, c.Take)
	}
	for _, l := range r.Leases {
		for _, other := range f.leases {
			if other.Key == l.Key {
				f.t.Fatalf("item %s has leases %d and %d", l.Key, other.ID, l.ID)
			}
		}
		if _, over := f.stored[l.Key]; over || l.Try != f.tries[l.Key]+1 {
			f.t.Fatalf("lease %+v of an item with %d tries, over: %v", l, f.tries[l.Key], over)
		}
		f.leases[l.ID] = &lent{l, owner, f.now.Add(fleetLease)}
	}
	want := State{Items: fleetItems, Leased: int64(len(f.leases)), Ready: true}
	for _, s := range f.stored {
		if s.Outcome == Done {
			want.Done++
		} else {
			want.SetAside++
		}
	}
	want.Queued = want.Items - want.Done - want.SetAside - want.Leased
	want.Drained = want.Leased+want.Queued == 0
	if r.State != want {
		f.t.Fatalf("state %+v, want %+v", r.State, want)
	}
}

// TestQueueAgainstModel: random tasks that die, are silent, speak twice and late, over a
// store that fails: each item is stored once, and none is lost.
func TestQueueAgainstModel(t *testing.T) {
	for seed := range uint64(100) {
		f := &fleet{t: t, rand: rand.New(rand.NewPCG(seed, 1)), q: New(), now: start, seq: map[string]uint64{},
			leases: map[uint64]*lent{}, tries: map[string]int{}, stored: map[string]Record{}, settled: map[uint64]string{}}
		for range 2000 {
			if len(f.stored) == fleetItems {
				break
			}
			f.now = f.now.Add(time.Duration(f.rand.Int64N(int64(fleetLease) / 2)))
			f.work(fmt.Sprint("task ", f.rand.IntN(5)))
		}
		if len(f.stored) != fleetItems || !f.q.State().Drained {
			t.Fatalf("seed %d: %d items are over, state %+v", seed, len(f.stored), f.q.State())
		}
		for i := range fleetItems {
			if r := f.stored[strconv.Itoa(i)]; r.Outcome == SetAside && r.Try != fleetTries {
				t.Errorf("seed %d: item %d was set aside after %d tries", seed, i, r.Try)
			}
		}
	}
}
