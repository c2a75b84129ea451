package load

import (
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
)

// course is a window in which so many operations were due in each second, and so
// many ended well; of those due in a second, late are not answered.
func course(due int64, replies []int64, late ...int64) Window {
	w := Window{Load: float64(due), Scored: time.Duration(len(replies)) * time.Second, Latencies: histogram.New(int64(Longest))}
	for i, r := range replies {
		ok := due
		if i < len(late) {
			ok -= late[i]
		}
		w.Counts.Due, w.Counts.OK, w.Replies = w.Counts.Due+due, w.Counts.OK+ok, w.Replies+r
		s := &w.Seconds
		s.Index, s.Due, s.OK, s.Replies = append(s.Index, 2+i), append(s.Due, due), append(s.OK, ok), append(s.Replies, r)
	}
	histogram.RecordMany(w.Latencies, int64(time.Millisecond), w.Counts.OK)
	return w
}

func TestStall(t *testing.T) {
	refusing := course(100, []int64{100, 0, 0, 100}, 0, 100, 100, 0)
	refusing.Counts.Errors[ErrConnect] = 200
	waiting := course(100, []int64{100, 0, 0, 100}, 0, 100, 100, 0)
	waiting.Counts.Errors[ErrTimeout] = 200
	for name, c := range map[string]struct {
		w    Window
		want time.Duration
	}{
		"answers all the time":     {course(100, []int64{100, 60, 1, 100}), 0},
		"none for three seconds":   {course(100, []int64{100, 0, 0, 0, 400}), 3 * time.Second},
		"the longer of two":        {course(100, []int64{0, 200, 0, 0, 300}), 2 * time.Second},
		"to the end":               {course(20, []int64{20, 20, 0, 0}), 2 * time.Second},
		"too few to tell":          {course(2, []int64{2, 0, 0, 6}), 0},
		"few, but for long":        {course(2, []int64{2, 0, 0, 0, 0, 0, 0, 12}), 6 * time.Second},
		"refused at once":          {refusing, 0},
		"given up after a timeout": {waiting, 2 * time.Second},
		"no seconds":               {Window{}, 0},
	} {
		if got := c.w.Stall(); got != c.want {
			t.Errorf("%s: Stall() = %v, want %v", name, got, c.want)
		}
	}
}

// Operations that have not ended are as old as they are, and not as old as the
// wait for them.
func TestAtLeast(t *testing.T) {
	w := course(100, make([]int64, 10), 0, 0, 100, 100, 100, 100, 100, 100, 100, 100)
	const drain = 300 * time.Millisecond
	for q, want := range map[float64]time.Duration{.1: time.Millisecond, .3: drain, .5: drain + 2*time.Second, .95: drain + 7*time.Second} {
		if got := w.AtLeast(q, drain); got < want || got > want+want/50 {
			t.Errorf("AtLeast(%v) = %v, want %v", q, got, want)
		}
	}
	if got := (Window{Counts: Counts{Due: 10}}).AtLeast(.9, drain); got != drain {
		t.Errorf("without seconds: %v, want %v", got, drain)
	}
}

func TestTail(t *testing.T) {
	for name, c := range map[string]struct {
		w        Window
		replies  []int64
		onset    time.Duration
		hopeless bool
	}{
		"keeps up":           {course(100, []int64{100, 100, 98, 100, 101, 100}), []int64{101, 100}, 6 * time.Second, false},
		"a bucket runs out":  {course(130, []int64{130, 130, 120, 100, 100, 100}), []int64{100, 100, 100}, 2 * time.Second, false},
		"at the end":         {course(130, []int64{130, 130, 120}), []int64{}, 2 * time.Second, false},
		"from the beginning": {course(300, []int64{100, 100, 100}), []int64{100, 100}, 0, true},
		"no seconds":         {Window{}, nil, 0, false},
	} {
		replies, onset := c.w.Tail()
		if !slices.Equal(replies, c.replies) || onset != c.onset || c.w.Hopeless() != c.hopeless {
			t.Errorf("%s: %v from %v on, hopeless %v; want %v from %v on, %v", name, replies, onset, c.w.Hopeless(), c.replies, c.onset, c.hopeless)
		}
	}
}
