package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/unit"
)

// Schedule numbers the times of a campaign from 1. The same Spec, bounds and seed
// give the same times. It is safe for concurrent use.
type Schedule struct {
	spec       Spec
	times      timetable
	begin, end time.Time // end is zero without end
	seed       int64

	mu sync.Mutex
	// marks[i] is the time with number 1 + i·markEvery, as far as it was asked
	// for. last is the one that was asked for last, with its number: most often
	// the next one follows.
	marks  []time.Time
	last   time.Time
	number int
}

// markEvery is the distance of the times that are remembered, so that any number
// is found in so many steps.
const markEvery = 512

// New makes the schedule of a campaign: begin is when the first repetition is due,
// and none is at end or later; zero: without end. Both are those of Spec.Bounds,
// or end a later one. seed is that of the jitter.
func New(spec Spec, begin, end time.Time, seed int64) (*Schedule, error) {
	if err := spec.Validate(); err != nil {
		return nil, fmt.Errorf("reading the schedule: %w", err)
	}
	times, err := spec.times(begin)
	if err != nil {
		return nil, fmt.Errorf("reading the schedule: %w", err)
	}
	return &Schedule{spec: spec, times: times, begin: begin, end: end, seed: seed}, nil
}

// At returns when a number, from 1, is due. ok is false where the schedule has no
// such number.
func (s *Schedule) At(number int) (due time.Time, ok bool) {
	at, ok := s.Time(number)
	// The jitter is a part of the Spec's, at random, and less than what is left until
	// the next time: repetitions keep their order.
	most := s.spec.Jitter.Std()
	if !ok || most <= 0 {
		return at, ok
	}
	if next := s.times.after(at); !next.IsZero() {
		most = min(most, next.Sub(at))
	}
	return at.Add(time.Duration(rand.New(rand.NewPCG(uint64(s.seed), uint64(number))).Int64N(int64(most)))), true
}

// Time is At without the jitter.
func (s *Schedule) Time(number int) (at time.Time, ok bool) {
	at = s.time(number)
	if at.IsZero() || !s.end.IsZero() && !at.Before(s.end) {
		return time.Time{}, false
	}
	return at, true
}

// mostCounted is how many times of a crontab are counted: more take too long.
const mostCounted = 1_000_000

// Total is how many repetitions there are; ok is false without end, and where the
// times of a crontab are more than a million.
func (s *Schedule) Total() (n int, ok bool) {
	if s.end.IsZero() {
		return 0, false
	}
	if _, ok := s.times.(steady); !ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := 0; s.mark(i) && s.marks[i].Before(s.end); i++ {
			if i*markEvery >= mostCounted {
				return 0, false
			}
		}
	}
	return s.upTo(s.end.Add(-1)), true
}

// EndAfter is the end with which the schedule has so many repetitions.
func (s *Schedule) EndAfter(repetitions int) (end time.Time, err error) {
	if _, ok := s.times.(steady); !ok && repetitions > mostCounted {
		return end, fmt.Errorf("%s are too many for at and cron", num.Grouped(int64(repetitions)))
	}
	end = s.time(repetitions + 1)
	if end.IsZero() {
		return end, fmt.Errorf("there are no %d such times before the year %d", repetitions, LastYear)
	}
	return end, nil
}

// Least is the shortest time between two repetitions, jitter apart; one of cron
// is looked for among the times of its first weeks.
func (s *Schedule) Least() time.Duration { return leastGap(s.times) }

// Describe says in words when repetitions are due, and until when.
func (s *Schedule) Describe() string {
	text := s.spec.rule()
	if s.spec.Jitter > 0 {
		text += fmt.Sprintf(", each up to %s later at random", words(s.spec.Jitter.Std()))
	}
	if s.end.IsZero() {
		return text + ", without end"
	}
	total, ok := s.Total()
	if !ok {
		return text + fmt.Sprintf(", until %s: more than %s repetitions", s.Show(s.end), num.Grouped(mostCounted))
	}
	text += fmt.Sprintf(", until %s: %s repetition", s.Show(s.end), num.Grouped(int64(total)))
	if total != 1 {
		text += "s"
	}
	return text
}

// Show is a time for people, in the zone of the schedule.
func (s *Schedule) Show(t time.Time) string {
	loc, err := location(s.spec.Zone)
	if err != nil {
		loc = time.UTC
	}
	return show(t, loc)
}

// rule says when repetitions are due, without begin and end.
func (s Spec) rule() string {
	zone := s.Zone
	if zone == "" {
		zone = "UTC"
	}
	switch {
	case s.Every != 0:
		return "every " + strings.TrimPrefix(words(s.Every.Std()), "1 ")
	case len(s.At) == 1:
		return fmt.Sprintf("at minute %d of every hour (%s)", s.At[0], zone)
	case s.At != nil:
		var minutes []string
		for _, minute := range slices.Sorted(slices.Values(s.At)) {
			minutes = append(minutes, strconv.Itoa(minute))
		}
		return fmt.Sprintf("at minutes %s of every hour (%s)", strings.Join(minutes, ", "), zone)
	}
	return fmt.Sprintf("at the times of cron %q (%s)", s.Cron, zone)
}

// words is a duration in the largest unit that it is a whole number of: "31
// days", "90 minutes".
func words(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d%u.of == 0 {
			return num.Count(int(d/u.of), u.name)
		}
	}
	return unit.Duration(d).String()
}

// time is when a number is due without its jitter; zero: there is none.
func (s *Schedule) time(number int) time.Time {
	if number < 1 {
		return time.Time{}
	}
	if t, ok := s.times.(steady); ok {
		if at := t.begin.Add(time.Duration(number-1) * t.every); number-1 <= int(longest/t.every) && at.Year() <= LastYear {
			return at
		}
		return time.Time{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := (number - 1) / markEvery
	if !s.mark(i) {
		return time.Time{}
	}
	from, at := 1+i*markEvery, s.marks[i]
	if s.number > from && s.number <= number {
		from, at = s.number, s.last
	}
	if at = s.step(at, number-from); !at.IsZero() {
		s.number, s.last = number, at
	}
	return at
}

// upTo is the number of the last time that is not after t; 0: all are. s.mu is held.
func (s *Schedule) upTo(t time.Time) int {
	if t.Before(s.begin) {
		return 0
	}
	if st, ok := s.times.(steady); ok {
		return int(t.Sub(st.begin)/st.every) + 1
	}
	for i := max(len(s.marks)-1, 0); s.mark(i) && !s.marks[i].After(t); i++ {
	}
	i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].After(t) }) - 1
	number, at := 1+i*markEvery, s.marks[i]
	if s.number > number && !s.last.After(t) {
		number, at = s.number, s.last
	}
	for {
		next := s.step(at, 1)
		if next.IsZero() || next.After(t) {
			s.number, s.last = number, at
			return number
		}
		number, at = number+1, next
	}
}

// mark remembers the marks up to this one; false: there are none up to there.
func (s *Schedule) mark(i int) bool {
	if len(s.marks) == 0 {
		s.marks = []time.Time{s.begin}
	}
	for len(s.marks) <= i {
		next := s.step(s.marks[len(s.marks)-1], markEvery)
		if next.IsZero() {
			return false
		}
		s.marks = append(s.marks, next)
	}
	return true
}

// step is the n-th time after one; zero: there is none.
func (s *Schedule) step(at time.Time, n int) time.Time {
	for range n {
		if at = s.times.after(at); at.IsZero() || at.Year() > LastYear {
			return time.Time{}
		}
	}
	return at
}
