package objectstore

import "time"

// Fractions counts things that take long, each as done evenly over its time: a reading
// has the share of each that lies before it. What turns out not to count is in none.
type Fractions struct{ ledger *ledger }

// NewFractions is for publish, which gets the readings once they are final, in order.
func NewFractions(publish func(after time.Duration, done float64)) *Fractions {
	return &Fractions{newLedger(func(after time.Duration, n int64) { publish(after, float64(n)/Parts) })}
}

// Begin enters a thing, and returns what is to be called once it is known when it began
// and ended, since the start, and whether it counts.
func (f *Fractions) Begin() (end func(begun, ended time.Duration, counts bool)) {
	one := f.ledger.begin(Parts)
	return func(begun, ended time.Duration, counts bool) { f.ledger.endEvenly(one, begun, ended, counts) }
}

// Read takes a reading, so long after the start.
func (f *Fractions) Read(after time.Duration) { f.ledger.read(after) }

// ReadOften calls read ten times a second, the finest that a series keeps, and right at the
// deadline (0: there is none), until ended is closed. read gets the time since the start.
func ReadOften(ended <-chan struct{}, start time.Time, deadline time.Duration, read func(after time.Duration)) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var due <-chan time.Time
	if deadline > 0 {
		timer := time.NewTimer(time.Until(start.Add(deadline)))
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-tick.C:
		case <-due:
		case <-ended:
			return
		}
		read(time.Since(start))
	}
}

// Until passes readings of a counter on up to a deadline. The last one lies at it,
// interpolated between the readings around it.
type Until struct {
	Deadline time.Duration // 0: none
	Publish  func(after time.Duration, n float64)
	// After and N are the reading that was passed on last.
	After time.Duration
	N     float64
}

// Add takes the next reading.
func (u *Until) Add(after time.Duration, n float64) {
	if u.Deadline > 0 && after > u.Deadline {
		if u.After >= u.Deadline {
			return
		}
		share := float64(u.Deadline-u.After) / float64(after-u.After)
		after, n = u.Deadline, u.N+share*(n-u.N)
	}
	u.After, u.N = after, n
	u.Publish(after, n)
}
