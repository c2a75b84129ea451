package queue

import "sync"

// How many messages may wait in one lane. An agent sends a handful at a time;
// whoever sends more waits for a reply that never comes, and repeats. Bulk
// messages are large.
const (
	maxLane         = 256
	maxBulkLane     = 16
	maxPresenceLane = 8 // more are repetitions
)

// lanes runs functions one after another for equal keys, and at the same time
// for different ones. A key costs a goroutine only while it has work.
type lanes struct {
	mu      sync.Mutex
	waiting map[string][]func()
	closed  bool
	running sync.WaitGroup
}

func newLanes() *lanes { return &lanes{waiting: make(map[string][]func())} }

// do queues f; it reports false, and does nothing, if limit functions wait in
// the lane already or all are closed.
func (l *lanes) do(key string, limit int, f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue, busy := l.waiting[key]
	if l.closed || len(queue) >= limit {
		return false
	}
	l.waiting[key] = append(queue, f)
	if !busy {
		l.running.Add(1)
		go l.run(key)
	}
	return true
}

func (l *lanes) run(key string) {
	defer l.running.Done()
	for {
		f := l.next(key)
		if f == nil {
			return
		}
		f()
	}
}

// next takes the first function of a lane; nil ends the lane.
func (l *lanes) next(key string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[key]
	if len(queue) == 0 || l.closed {
		delete(l.waiting, key)
		return nil
	}
	f := queue[0]
	l.waiting[key] = queue[1:]
	return f
}

// close drops what waits and returns when nothing runs any more.
func (l *lanes) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}
