// Package jobs is the vocabulary of a fleet that takes items from a queue, and the
// queue itself as a state machine: which item is leased to whom, for how long, and which
// execution of it counts. It does no I/O: the clock is an argument, and what must be
// durable is handed out to be stored.
//
//  1. jobs.go: items, leases, records, and the call of a task to its queue.
//  2. check.go: the bounds of a call.
//  3. queue.go: the queue: open, add, take, renew, and what it tells.
//  4. finish.go: results of executions, leases that end, items that are set aside.
//  5. turn.go: whole calls, which may come twice and must be stored before they are answered.
package jobs

import "time"

// Outcome is what became of one execution of an item.
type Outcome string

// The outcomes of executions.
const (
	Done     Outcome = "done"     // its result is kept under Record.Output, if it has one
	Failed   Outcome = "failed"   // the item may be tried again
	Returned Outcome = "returned" // it was not begun: no try is used up
	// SetAside is an item that failed as often as it may. The builtin queue sets items
	// aside itself; only a queue that is not ours says it in a record.
	SetAside Outcome = "set_aside"
)

// Valid reports whether o is a known outcome.
func (o Outcome) Valid() bool {
	return o == Done || o == Failed || o == Returned || o == SetAside
}

// Open says what queue the tasks of a step use. The first call of each task has it, and
// it is equal in all.
type Open struct {
	// Count is the number of items, which are named by their numbers; 0: they are the names
	// of Add, or numbers without end.
	Count int64 `json:"count,omitempty"`
	// Endless has the items come again and again: the i-th is the one with number i mod n.
	Endless bool `json:"endless,omitempty"`
	// Numbers are the items of an Endless queue, each once: there is neither a Count nor an
	// Add.
	Numbers bool          `json:"numbers,omitempty"`
	Lease   time.Duration `json:"lease"` // silence about an item after which another may take it
	Tries   int           `json:"tries"` // executions that fail or are lost before an item is set aside
}

// Add names items. The task with part 0 adds all of them, in order, before any is taken.
type Add struct {
	From  int64    `json:"from"` // position of the first name; what stood at and after it is replaced
	Names []string `json:"names,omitempty"`
	Last  bool     `json:"last,omitempty"` // there are no more; later additions change nothing
}

// Lease is one item that a slot works on, as long as it is renewed.
type Lease struct {
	ID   uint64 `json:"id"`   // what renews and finishes it; never 0
	Key  string `json:"key"`  // of the item: unique in its queue
	Name string `json:"name"` // what it is: key of an object, path, line of the list; Key where there is no list
	Try  int    `json:"try"`  // from 1
}

// Record is what became of one execution of an item. Times are in seconds.
type Record struct {
	Lease   uint64  `json:"lease,omitempty"` // 0: of a queue that is not ours; Key alone says which item
	Key     string  `json:"key"`
	Name    string  `json:"name"`
	Try     int     `json:"try"`
	Slot    int     `json:"slot"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"` // why it failed: short
	Begin   float64 `json:"begin"`           // since the task's start, of the whole job, waiting included
	End     float64 `json:"end"`
	Wait    float64 `json:"wait,omitempty"`
	Get     float64 `json:"get,omitempty"`
	Compute float64 `json:"compute,omitempty"`
	Put     float64 `json:"put,omitempty"`
	CPU     float64 `json:"cpu,omitempty"` // processor time
	In      int64   `json:"in,omitempty"`  // bytes
	Out     int64   `json:"out,omitempty"` // bytes
	// Output is the key under which this execution wrote what counts.
	Output string `json:"output,omitempty"`
}

// Call is one call of a task to its queue. It says everything at once, so that a slot
// costs one round trip a job. A queue executes it in the order of the fields.
type Call struct {
	Open   *Open    `json:"open,omitempty"`
	Add    *Add     `json:"add,omitempty"`
	Finish []Record `json:"finish,omitempty"`
	Renew  []uint64 `json:"renew,omitempty"`
	Take   int      `json:"take,omitempty"` // so many more items are wanted
}

// Reply answers a Call. It comes after what the call finished is durable.
type Reply struct {
	Leases []Lease `json:"leases,omitempty"`
	// Lost are leases of Renew that are over: end these executions, as their results
	// would be refused.
	Lost []uint64 `json:"lost,omitempty"`
	// Refused are leases of Finish whose results do not count: another execution's does or
	// will. Delete what these executions wrote.
	Refused []uint64 `json:"refused,omitempty"`
	// Known are keys of Finish with lease 0 that had a record before: this one does not
	// count.
	Known []string      `json:"known,omitempty"`
	State State         `json:"state"`
	Again time.Duration `json:"again,omitempty"` // there is nothing to take now: ask again after so long
}

// State is what a queue holds.
type State struct {
	Items    int64 `json:"items"` // that differ; 0 of numbers without end
	Done     int64 `json:"done"`
	SetAside int64 `json:"set_aside"`
	Leased   int64 `json:"leased"`
	Queued   int64 `json:"queued"` // that wait; of an endless queue those that are tried again
	Ready    bool  `json:"ready"`  // all items are known: they can be taken
	Drained  bool  `json:"drained"`
	// Ago is how long ago an item was over last; 0: that is not known.
	Ago time.Duration `json:"ago,omitempty"`
}
