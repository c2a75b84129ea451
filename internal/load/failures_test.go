package load_test

import (
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
)

// TestFailures: the most frequent comes first, and a status that no room was
// left for is counted all the same.
func TestFailures(t *testing.T) {
	var many load.Counts
	many.Due, many.Errors[load.ErrStatus] = 2000, 9*10+45
	for status := 400; status < 409; status++ {
		many.Statuses.Add(status, 10+int64(status-400))
	}
	for _, c := range []struct {
		name   string
		counts load.Counts
		want   string
	}{
		{"none", load.Counts{Due: 10, OK: 10}, ""},
		{"dropped and late", load.Counts{Due: 3000, OK: 2000, Dropped: 1, Unfinished: 999}, "not finished: 999 of 3,000, not sent: 1"},
		{"a store refuses", load.Counts{Due: 10, OK: 8, Errors: [load.Kinds]int64{load.ErrStatus: 2}}, "refused: 2 of 10"},
		{"more statuses than there is room for", many, "refused: 27 of 2,000, status 407: 17, status 406: 16, status 405: 15, and in 5 more ways"},
	} {
		if got := c.counts.Failures(); got != c.want {
			t.Errorf("%s: Failures() = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestStatusesAddUp: counts of several generators are added up status by status,
// and a copy of counts is one.
func TestStatusesAddUp(t *testing.T) {
	var a, b load.Counts
	a.Statuses.Add(429, 3)
	b.Statuses.Add(503, 2)
	b.Statuses.Add(429, 4)
	before := a
	a.Add(b)
	want := []load.StatusCount{{Status: 429, Count: 7}, {Status: 503, Count: 2}}
	if got := a.Statuses.Counted(); !slices.Equal(got, want) {
		t.Errorf("the sum is %v, want %v", got, want)
	}
	if got := before.Statuses.Counted(); !slices.Equal(got, []load.StatusCount{{Status: 429, Count: 3}}) {
		t.Errorf("the copy became %v", got)
	}
}
