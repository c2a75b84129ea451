package jobs

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Bounds of a call. A task with more to say makes several calls.
const (
	MaxFinish = 1000       // records
	MaxRenew  = 10_000     // leases
	MaxTake   = 2000       // items
	MaxAdd    = 1000       // names
	MaxItems  = 10_000_000 // in a queue; of one that is not ours, records
	MaxNames  = 256 << 20  // bytes of all names of a queue
	MaxTries  = 1000
	MinLease  = 100 * time.Millisecond
	MaxLease  = 7 * 24 * time.Hour
	MaxKey    = 256  // bytes
	MaxName   = 1024 // bytes: those of a key of S3; a record's output, too
	MaxError  = 1024 // bytes
)

// Check reports what makes a call unusable.
func (c Call) Check() error {
	if c.Take < 0 || c.Take > MaxTake || len(c.Renew) > MaxRenew || len(c.Finish) > MaxFinish {
		return fmt.Errorf("a call takes %d items, renews %d leases and finishes %d; it may take %d, renew %d, finish %d",
			c.Take, len(c.Renew), len(c.Finish), MaxTake, MaxRenew, MaxFinish)
	}
	if c.Open != nil {
		if err := c.Open.Check(); err != nil {
			return err
		}
	}
	if c.Add != nil {
		if err := c.Add.check(); err != nil {
			return err
		}
	}
	for i := range c.Finish {
		if err := c.Finish[i].check(); err != nil {
			return fmt.Errorf("record of item %.40q: %w", c.Finish[i].Key, err)
		}
	}
	return nil
}

// Check reports what makes a queue impossible.
func (o Open) Check() error {
	switch {
	case o.Count < 0 || o.Count > MaxItems:
		return fmt.Errorf("a queue of %d items; it may have %d", o.Count, MaxItems)
	case o.Numbers && (o.Count > 0 || !o.Endless):
		return fmt.Errorf("numbers without end, and %d items that come once; a queue has one of them", o.Count)
	case o.Lease < MinLease || o.Lease > MaxLease:
		return fmt.Errorf("lease %s; it may be %s to %s", o.Lease, MinLease, MaxLease)
	case o.Tries < 1 || o.Tries > MaxTries:
		return fmt.Errorf("%d tries; there may be 1 to %d", o.Tries, MaxTries)
	}
	return nil
}

func (a Add) check() error {
	if a.From < 0 || len(a.Names) > MaxAdd || a.From+int64(len(a.Names)) > MaxItems {
		return fmt.Errorf("%d names from position %d; a call may add %d, and a queue may have %d",
			len(a.Names), a.From, MaxAdd, MaxItems)
	}
	for _, n := range a.Names {
		if n == "" || len(n) > MaxName {
			return fmt.Errorf("the name %.40q has %d bytes; it may have 1 to %d", n, len(n), MaxName)
		}
	}
	return nil
}

func (r *Record) check() error {
	switch {
	case r.Key == "" || len(r.Key) > MaxKey || len(r.Name) > MaxName || len(r.Output) > MaxName || len(r.Error) > MaxError:
		return fmt.Errorf("key, name, output or error has %d, %d, %d, %d bytes; they may have 1 to %d, %d, %d, %d",
			len(r.Key), len(r.Name), len(r.Output), len(r.Error), MaxKey, MaxName, MaxName, MaxError)
	case !r.Outcome.Valid():
		return fmt.Errorf("unknown outcome %.40q", r.Outcome)
	case r.Outcome == SetAside && r.Lease != 0:
		return errors.New("only its queue sets an item aside")
	case r.Try < 1 || r.Slot < 0 || r.In < 0 || r.Out < 0:
		return errors.New("try, slot or bytes are less than they can be")
	}
	for _, s := range []float64{r.Begin, r.End, r.Wait, r.Get, r.Compute, r.Put, r.CPU} {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return errors.New("a time is not a number")
		}
	}
	return nil
}
