package load

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

// StatusCount is how many answers had one status.
type StatusCount struct {
	Status int
	Count  int64
}

// StatusCounts are answers with a status that was not expected, by that status.
// It is an array, so that [Counts] can be copied. Servers that fail know few
// statuses; answers with one that finds no room are in [Counts.Errors] alone.
type StatusCounts [8]StatusCount

// Add counts n more answers with a status.
func (s *StatusCounts) Add(status int, n int64) {
	for i := range s {
		if c := &s[i]; c.Status == status || c.Count == 0 {
			c.Status, c.Count = status, c.Count+n
			return
		}
	}
}

// Counted are the statuses that were counted, the most frequent first.
func (s StatusCounts) Counted() []StatusCount {
	all := slices.DeleteFunc(slices.Clone(s[:]), func(c StatusCount) bool { return c.Count == 0 })
	slices.SortFunc(all, func(a, b StatusCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Status, b.Status))
	})
	return all
}

// kindWords say to people in what way operations failed.
var kindWords = [Kinds]string{"no connection", "no answer in time", "connection closed", "answer not understood", "refused", "wrong answer", "no such record"}

// Failures says in what ways operations did not end well, and how many in each
// of all that were due, the most frequent first: "status 429: 312 of 3,000, no
// answer in time: 4". Empty where all ended well.
func (c Counts) Failures() string {
	const most = 4 // further ones tell nothing
	type way struct {
		words string
		count int64
	}
	ways := []way{{"not sent", c.Dropped}, {"not finished", c.Unfinished}}
	unknown := c.Errors[ErrStatus]
	for _, s := range c.Statuses.Counted() {
		ways = append(ways, way{"status " + strconv.Itoa(s.Status), s.Count})
		unknown -= s.Count
	}
	for kind, n := range c.Errors {
		if Kind(kind) == ErrStatus {
			n = unknown
		}
		ways = append(ways, way{kindWords[kind], n})
	}
	ways = slices.DeleteFunc(ways, func(w way) bool { return w.count <= 0 })
	slices.SortStableFunc(ways, func(a, b way) int { return cmp.Compare(b.count, a.count) })
	var parts []string
	for i, w := range ways[:min(len(ways), most)] {
		text := w.words + ": " + num.Grouped(w.count)
		if i == 0 {
			text += " of " + num.Grouped(c.Due)
		}
		parts = append(parts, text)
	}
	if n := len(ways) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("and in %d more ways", n))
	}
	return strings.Join(parts, ", ")
}
