package jobs

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Queue holds the items of one attempt of a step, who has leased them, and which of them
// are over. What its methods return as records must be stored before anyone is told, and
// Settle says how that went. Begin and End execute whole calls. A Queue is used by one
// goroutine at a time.
type Queue struct {
	open    *Open
	foreign bool // it has records with lease 0: its items are those of another queue
	names   []string
	letters int // bytes of names
	ready   bool
	next    int64          // first item that was never taken
	over    map[int64]bool // items at or after next that have a record of an earlier attempt
	again   []int64        // items that wait to be taken once more, oldest first
	tries   map[int64]int  // executions used up, of items that are not over
	leases  map[uint64]*held
	ends    deadlines
	last    uint64 // lease given last
	done    int64
	aside   int64
	errors  map[int64]string // last error, of items that are not over
	settled map[uint64]bool  // leases whose records count, of a queue with an end
	callers map[string]*caller
	heard   time.Time // when a task was heard last
}

// held is a lease that is not over.
type held struct {
	Lease
	item    int64
	owner   string
	ends    time.Time
	storing *Record // handed out to be stored; such a lease does not end
}

// New makes a queue that is not open, of items that are not known.
func New() *Queue {
	return &Queue{
		over: make(map[int64]bool), tries: make(map[int64]int), leases: make(map[uint64]*held),
		errors: make(map[int64]string), settled: make(map[uint64]bool), callers: make(map[string]*caller),
	}
}

// Over is an item that a store has a record of.
type Over struct {
	Key     string
	Outcome Outcome // Done or SetAside
}

// Restore puts into a new queue what earlier attempts of its step left: names, whether
// they are all, and the items that are over. An endless queue goes on after the last.
func (q *Queue) Restore(names []string, all bool, over []Over) {
	q.names, q.ready = slices.Clone(names), all
	q.letters = sizeOf(names)
	for _, o := range over {
		if o.Outcome == SetAside {
			q.aside++
		} else {
			q.done++
		}
		if item, err := strconv.ParseInt(o.Key, 10, 64); err == nil && item >= 0 {
			q.over[item] = true
		}
	}
}

// Open says what the queue is, the first time, and checks that it is so, at later ones.
func (q *Queue) Open(o Open) error {
	if err := o.Check(); err != nil {
		return err
	}
	switch {
	case q.foreign:
		return errForeign
	case q.open != nil && *q.open != o:
		return fmt.Errorf("tasks of one step open different queues: %+v and %+v", *q.open, o)
	case q.open != nil:
		return nil
	}
	q.open = &o
	q.ready = q.ready || o.Count > 0
	if o.Endless {
		for item := range q.over {
			q.next = max(q.next, item+1)
		}
		clear(q.over)
	}
	return nil
}

// Add names items. It changes nothing once all are known.
func (q *Queue) Add(a Add) error {
	switch {
	case q.open == nil:
		return ErrClosed
	case q.ready:
		return nil
	}
	if err := q.canAdd(a); err != nil {
		return err
	}
	q.letters += sizeOf(a.Names) - sizeOf(q.names[a.From:])
	q.names = append(q.names[:a.From], a.Names...)
	q.ready = a.Last
	return nil
}

func (q *Queue) canAdd(a Add) error {
	if a.From > int64(len(q.names)) {
		return fmt.Errorf("items are added from position %d, and there are %d", a.From, len(q.names))
	}
	if q.letters+sizeOf(a.Names) > MaxNames {
		return fmt.Errorf("the names of all items have more than %d bytes: use shorter ones, or several queues", MaxNames)
	}
	return nil
}

func sizeOf(names []string) (bytes int) {
	for _, n := range names {
		bytes += len(n)
	}
	return bytes
}

// errForeign means that a task says of an item what only its lease allows.
var errForeign = errors.New("a record without a lease is for a queue that is not the server's, " +
	"and the tasks of one step use one queue")

// ErrClosed means that no task has said yet what queue this is.
var ErrClosed = fmt.Errorf("the queue is not open: the first call of a task opens it")

// Take leases up to n items to a task. Those that were tried before go first.
func (q *Queue) Take(owner string, n int, now time.Time) ([]Lease, error) {
	if q.open == nil {
		return nil, ErrClosed
	}
	if !q.ready {
		return nil, nil
	}
	var taken []Lease
	for len(taken) < n {
		item, ok := q.pick()
		if !ok {
			break
		}
		taken = append(taken, q.lease(item, owner, now))
	}
	return taken, nil
}

// pick takes an item out of those that wait.
func (q *Queue) pick() (int64, bool) {
	if len(q.again) > 0 {
		item := q.again[0]
		q.again = q.again[1:]
		return item, true
	}
	for q.next < q.end() {
		item := q.next
		q.next++
		if !q.over[item] {
			return item, true
		}
		delete(q.over, item)
	}
	return 0, false
}

// end is the number after the last item.
func (q *Queue) end() int64 {
	if q.open.Endless && (q.open.Count > 0 || len(q.names) > 0) {
		return 1<<63 - 1
	}
	return cmp.Or(q.open.Count, int64(len(q.names)))
}

func (q *Queue) lease(item int64, owner string, now time.Time) Lease {
	q.last++
	key := strconv.FormatInt(item, 10)
	l := &held{item: item, owner: owner, ends: now.Add(q.open.Lease),
		Lease: Lease{ID: q.last, Key: key, Name: key, Try: q.tries[item] + 1}}
	if len(q.names) > 0 {
		l.Name = q.names[item%int64(len(q.names))]
	}
	q.leases[l.ID] = l
	heap.Push(&q.ends, deadline{l.ID, l.ends})
	return l.Lease
}

// Renew prolongs leases of a task, and returns those that are over.
func (q *Queue) Renew(owner string, ids []uint64, now time.Time) (lost []uint64) {
	for _, id := range ids {
		l := q.leases[id]
		if l == nil || l.owner != owner || q.late(l, now) {
			if !q.settled[id] {
				lost = append(lost, id)
			}
			continue
		}
		l.ends = now.Add(q.open.Lease)
	}
	return lost
}

// late reports whether a lease is over. While its result is being stored, or a call of its
// task waits for the store, it does not end: neither is the task's fault.
func (q *Queue) late(l *held, now time.Time) bool {
	return l.storing == nil && now.After(l.ends) && !q.callers[l.owner].busy()
}

// Hear notes that a task calls, before anything ends. After a time in which none did, who
// keeps the queue may have stood still: renewals of leases that seem to have ended may
// wait unread.
func (q *Queue) Hear(now time.Time) {
	if q.open != nil && now.Sub(q.heard) > q.open.Lease/2 {
		q.Pardon("", now)
	}
	q.heard = now
}

// Pardon begins all leases of a task anew, or of all tasks ("").
func (q *Queue) Pardon(owner string, now time.Time) {
	for _, l := range q.leases {
		if owner == "" || l.owner == owner {
			l.ends = now.Add(q.open.Lease) // it is open: there are leases
		}
	}
}

// State is what the queue holds.
func (q *Queue) State() State {
	s := State{
		Items: int64(len(q.names)), Done: q.done, SetAside: q.aside,
		Leased: int64(len(q.leases)), Queued: int64(len(q.again)), Ready: q.ready,
	}
	if q.open == nil {
		return s
	}
	if !q.open.Endless {
		s.Items = q.end()
		s.Queued += max(0, q.end()-q.next-int64(len(q.over)))
	}
	s.Drained = q.ready && s.Queued == 0 && s.Leased == 0 && (!q.open.Endless || q.end() == 0)
	return s
}

// Again is how long a task waits that found nothing to take.
func (q *Queue) Again() time.Duration {
	if q.open == nil {
		return leastAgain
	}
	return min(max(q.open.Lease/10, leastAgain), mostAgain)
}

const (
	leastAgain = 50 * time.Millisecond
	mostAgain  = time.Second
)
