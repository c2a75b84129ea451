package kv

import (
	"sync"
	"sync/atomic"

	"github.com/scalebench/scalebench/internal/load"
)

// inserts hands out records to insert, and knows how many there are without a
// gap, as YCSB's AcknowledgedCounterGenerator does: what is not known to be
// stored is not read.
//
// It counts by places: the records loaded have the places up to loaded, then
// come this generator's own inserts. Of several generators that share a run
// each inserts records of its own, and knows no others.
type inserts struct {
	loaded int64
	share  load.Share
	known  atomic.Int64 // places without a gap

	mu    sync.Mutex
	next  int64              // the first place that was never handed out
	again []int64            // places whose insert failed
	ahead map[int64]struct{} // stored, beyond a gap
}

func newInserts(loaded int64, share load.Share) *inserts {
	c := &inserts{loaded: loaded, share: share, next: loaded, ahead: map[int64]struct{}{}}
	c.known.Store(loaded)
	return c
}

// record is the number of the record in a place.
func (c *inserts) record(place int64) int64 {
	if place < c.loaded {
		return place
	}
	return c.loaded + (place-c.loaded)*int64(c.share.Of) + int64(c.share.Index)
}

// take hands out a place. One that failed before is handed out again, so that
// the gap closes; it may have been stored nevertheless.
func (c *inserts) take() (place int64, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.again) - 1; last >= 0 {
		place, c.again = c.again[last], c.again[:last]
		return place, true
	}
	c.next++
	return c.next - 1, false
}

// failed gives a place back.
func (c *inserts) failed(place int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = append(c.again, place)
}

// stored says that the record in a place is there.
func (c *inserts) stored(place int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead[place] = struct{}{}
	known := c.known.Load()
	for {
		if _, ok := c.ahead[known]; !ok {
			break
		}
		delete(c.ahead, known)
		known++
	}
	c.known.Store(known)
}
