package loadserver

import "time"

// Stall is a periodic pause: in every period of length Every, counted from when
// the behaviour was set, no worker works in the last For. The server still reads
// requests, but answers none: it does the work later.
type Stall struct{ Every, For time.Duration }

// working is the share of the time in which work is done.
func (s Stall) working() float64 {
	if s.For == 0 {
		return 1
	}
	return 1 - float64(s.For)/float64(s.Every)
}

// resume is the first moment from t on that is not in a stall.
func (s Stall) resume(t time.Duration) time.Duration {
	if s.For == 0 {
		return t
	}
	if in := t % s.Every; in >= s.Every-s.For {
		return t - in + s.Every
	}
	return t
}

// after is when work is done that was begun at t; times are counted from the
// beginning of a period.
func (s Stall) after(t, work time.Duration) time.Duration {
	t = s.resume(t)
	if s.For == 0 {
		return t + work
	}
	period := s.Every - s.For // of work
	in := t % s.Every
	if work <= period-in {
		return t + work
	}
	work -= period - in
	last := (work-1)%period + 1 // what is left for the last period
	periods := int64((work - last) / period)
	return t - in + s.Every + time.Duration(periods)*s.Every + last
}
