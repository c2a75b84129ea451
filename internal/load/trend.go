package load

import (
	"math"
	"time"
)

// Stall is the longest stretch of scored seconds in which nothing was answered
// although operations were due; 0 if there is none. Few operations may have no
// answer for a second by chance, and errors that come at once are answers: a
// target that refuses does not stand still.
func (w Window) Stall() time.Duration {
	_, longest := w.stall()
	return time.Duration(longest) * time.Second
}

// StalledIdle reports whether the longest stall began while nothing was queued: the
// target had kept up, and less was under way than is due in a second. In one that
// begins within two scored seconds this cannot be seen.
func (w Window) StalledIdle() bool {
	s := w.Seconds
	first, length := w.stall()
	if length == 0 || first < 2 {
		return false
	}
	var due, replies int64
	for i := range first - 1 { // the target may have stopped within the next
		due, replies = due+s.Due[i], replies+s.Replies[i]
	}
	partly := s.Due[first-1]
	return float64(replies) >= AchievedAtLeast*float64(due) && due+partly-replies-s.Replies[first-1] <= partly
}

// stall is the longest stretch of Stall: its first second, by column, and how many.
func (w Window) stall() (first, longest int) {
	s := w.Seconds
	refused := w.Counts.Refused()
	length, due := 0, int64(0)
	for i, replies := range s.Replies {
		if replies > 0 || s.Due[i] == 0 || i > 0 && s.Index[i] != s.Index[i-1]+1 {
			length, due = 0, 0
			continue
		}
		length, due = length+1, due+s.Due[i]
		if due > few && 2*refused < due && length > longest {
			first, longest = i+1-length, length
		}
	}
	return first, longest
}

// AtLeast is how long a share q of the operations due took at least: the latency
// within which they were answered or, where fewer were, the age of those that had
// not ended when the wait for answers was over, drain after the last was due.
func (w Window) AtLeast(q float64, drain time.Duration) time.Duration {
	if d, known := w.Latency(q); known {
		return d
	}
	s := w.Seconds
	left := int64(math.Ceil(q*float64(w.Counts.Due))) - w.Counts.OK
	for i := s.Len() - 1; i >= 0; i-- { // the youngest first
		if left -= s.Due[i] - s.OK[i]; left <= 0 {
			return drain + time.Duration(s.Index[s.Len()-1]-s.Index[i])*time.Second
		}
	}
	return drain
}

// fallsBehind is the share of what was due in a second below which its answers show
// that the target does not keep up.
const fallsBehind = AchievedAtLeast

// Tail is how many operations ended well in each second after the one in which a
// target first fell behind, or in those of the last third if it never did: what it
// does once it has used up what it had in reserve. onset is when it fell behind,
// since the scored seconds began.
func (w Window) Tail() (replies []int64, onset time.Duration) {
	s := w.Seconds
	for i, r := range s.Replies {
		if float64(r) < fallsBehind*float64(s.Due[i]) {
			return s.Replies[i+1:], time.Duration(i) * time.Second
		}
	}
	n := len(s.Replies)
	return s.Replies[n-(n+2)/3:], w.Scored
}

// hopeless is the share of what is due up to which answers in every second leave
// no doubt that a load is too large.
const hopeless = .75

// Hopeless reports whether a target did far less than was due in each scored
// second: no disturbance that comes and goes does that.
func (w Window) Hopeless() bool {
	s := w.Seconds
	for i, r := range s.Replies {
		if float64(r) > hopeless*float64(s.Due[i]) {
			return false
		}
	}
	return len(s.Replies) > 1 && w.Counts.Due > few
}
