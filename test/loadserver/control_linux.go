package loadserver

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// set changes the behaviour and returns since when.
func (l *loop) set(b Behaviour) (since time.Duration, err error) {
	if err := b.Check(); err != nil {
		return 0, err
	}
	err = l.do(func() {
		since = l.clock.now()
		l.desk.set(b, since)
		l.answers = newAnswers(b)
	})
	return since, err
}

// take returns what was done since it was last called.
func (l *loop) take() (rec Record, err error) {
	used, err := processorTime()
	if err != nil {
		return Record{}, err
	}
	err = l.do(func() {
		rec = l.journal.take()
		rec.Outstanding = len(l.departing.items)
		rec.CPU, l.used = used-l.used, used
	})
	return rec, err
}

// stop ends the loop.
func (l *loop) stop() error { return l.do(func() { l.stopped = true }) }

// processorTime is what this process has used since it was started.
func processorTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("reading the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
