package load

import "time"

// alarm lets one goroutine sleep for an exact time, or until another has
// something for it to do.
type alarm interface {
	// sleep returns after d, or at once when wake was called since the last
	// sleep, or a little early for no reason.
	sleep(d time.Duration)
	// wake ends the sleep of now, or else the next one; also after close.
	wake()
	close()
}

// timerAlarm is what every platform has. It wakes up to a millisecond late,
// for the runtime waits for its timers and for the network in one call, which
// counts in milliseconds.
type timerAlarm struct {
	timer *time.Timer
	ring  chan struct{}
}

func newTimerAlarm() (alarm, error) {
	return &timerAlarm{timer: time.NewTimer(time.Hour), ring: make(chan struct{}, 1)}, nil
}

func (a *timerAlarm) sleep(d time.Duration) {
	a.timer.Reset(d)
	select {
	case <-a.timer.C:
	case <-a.ring:
	}
}

func (a *timerAlarm) wake() {
	select {
	case a.ring <- struct{}{}:
	default: // it rings already
	}
}

func (a *timerAlarm) close() { a.timer.Stop() }
