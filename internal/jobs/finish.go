package jobs

import (
	"cmp"
	"container/heap"
	"time"
)

// Finish ends executions of a task. It returns the records to be stored, and the leases
// of results that do not count. A record with lease 0 is always to be stored, if it is
// the last of its item.
func (q *Queue) Finish(owner string, records []Record, now time.Time) (store []Record, refused []uint64) {
	for _, r := range records {
		if r.Lease == 0 {
			if r.Outcome == Done || r.Outcome == SetAside {
				store = append(store, r)
			}
			continue
		}
		l := q.leases[r.Lease]
		switch {
		case q.settled[r.Lease]: // said twice
		case l == nil || l.owner != owner || l.storing != nil || q.late(l, now):
			if r.Outcome == Done {
				refused = append(refused, r.Lease)
			}
		case r.Outcome == Returned:
			q.giveBack(l)
		case r.Outcome == Failed:
			if aside, ok := q.fail(l, r); ok {
				store = append(store, aside)
			}
		default:
			store = append(store, q.claim(l, r))
		}
	}
	return store, refused
}

// claim makes a record one of the lease's item, and keeps the lease until it is settled.
func (q *Queue) claim(l *held, r Record) Record {
	r.Key, r.Name, r.Try = l.Key, l.Name, l.Try
	l.storing = &r
	return r
}

// fail uses up a try of an item. If it was the last, the record that sets the item aside
// is returned.
func (q *Queue) fail(l *held, r Record) (Record, bool) {
	q.errors[l.item] = cmp.Or(r.Error, q.errors[l.item])
	if l.Try >= q.open.Tries {
		r.Outcome, r.Error = SetAside, q.errors[l.item]
		return q.claim(l, r), true
	}
	q.tries[l.item] = l.Try
	q.giveBack(l)
	return Record{}, false
}

func (q *Queue) giveBack(l *held) {
	delete(q.leases, l.ID)
	q.again = append(q.again, l.item)
}

// Expired is a record that sets an item aside whose last lease ended, and who had that.
// It has no times, as nobody told any.
type Expired struct {
	Owner string
	Record
}

// Expire ends the leases that were not renewed in time. Their items are tried again, or
// set aside by the records that are returned to be stored.
func (q *Queue) Expire(now time.Time) (store []Expired) {
	for len(q.ends) > 0 && now.After(q.ends[0].at) {
		l := q.leases[q.ends[0].lease]
		switch {
		case l == nil:
			heap.Pop(&q.ends)
		case !q.late(l, now): // renewed since, or waiting for the store
			q.ends[0].at = l.ends
			if !now.Before(l.ends) {
				q.ends[0].at = now.Add(leastAgain)
			}
			heap.Fix(&q.ends, 0)
		default:
			heap.Pop(&q.ends)
			lost := Record{Lease: l.ID, Outcome: Failed}
			if q.errors[l.item] == "" && l.Try >= q.open.Tries {
				lost.Error = lostError
			}
			if aside, ok := q.fail(l, lost); ok {
				store = append(store, Expired{l.owner, aside})
			}
		}
	}
	return store
}

// lostError is the error of an item whose executions were all lost.
const lostError = "each execution was lost: its lease ended before a result came"

// Storage is what became of a record that was to be stored.
type Storage int

// What can become of a record.
const (
	NotStored Storage = iota // the store failed: ask again
	Stored                   // it counts
	Known                    // the item has another record, which counts
)

// Settle says what became of a record that Finish or Expire handed out. A lease whose
// record was not stored begins anew, so that its task can finish it again.
func (q *Queue) Settle(r Record, s Storage, now time.Time) {
	l := q.leases[r.Lease]
	if r.Lease == 0 {
		q.count(r.Outcome, s == Stored, now)
		return
	}
	if l == nil || l.storing == nil {
		return
	}
	if s == NotStored {
		l.storing, l.ends = nil, now.Add(q.open.Lease)
		return
	}
	delete(q.leases, l.ID)
	delete(q.tries, l.item)
	delete(q.errors, l.item)
	if s == Stored && r.Outcome == Done && !q.open.Endless {
		q.settled[l.ID] = true
	}
	q.count(r.Outcome, true, now)
}

func (q *Queue) count(o Outcome, counts bool, now time.Time) {
	if !counts {
		return
	}
	if q.counted = now; o == SetAside {
		q.aside++
	} else {
		q.done++
	}
}

// deadlines is a heap of when leases end, at the earliest.
type deadlines []deadline

type deadline struct {
	lease uint64
	at    time.Time
}

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].at.Before(d[j].at) }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deadlines) Push(x any)        { *d = append(*d, x.(deadline)) }
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
