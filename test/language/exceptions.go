package language

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An exception is a text that broke a rule when the check began.
type exception struct {
	file, rule string
	hash       string // of the text, with single spaces
}

// excuses reports whether e is an exception for f. Files do not count: a text
// that moves takes its exception along.
func (e exception) excuses(f finding) bool { return e.rule == f.rule && e.hash == f.hash }

func parseExceptions(text string) ([]exception, error) {
	var list []exception
	for row := range strings.Lines(text) {
		fields := strings.Fields(row)
		if len(fields) != 3 {
			return nil, fmt.Errorf("exception %d: %q is not \"file rule hash\"", len(list)+1, row)
		}
		list = append(list, exception{fields[0], fields[1], fields[2]})
	}
	return list, nil
}

func formatExceptions(list []exception) string {
	list = slices.SortedFunc(slices.Values(list), func(a, b exception) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.rule, b.rule), cmp.Compare(a.hash, b.hash))
	})
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintln(&b, e.file, e.rule, e.hash)
	}
	return b.String()
}

// match holds findings to a list of exceptions, each of which excuses one.
// It returns the findings without an exception, the exceptions without a
// finding, and the others, with the file where the text is now.
func match(found []finding, list []exception) (fresh []finding, unused, kept []exception) {
	left := map[exception]int{}
	for _, e := range list {
		left[e]++
	}
	take := func(e exception) bool {
		if left[e] == 0 {
			return false
		}
		left[e]--
		return true
	}
	var moved []finding // or new
	for _, f := range found {
		if take(f.exception) {
			kept = append(kept, f.exception)
		} else {
			moved = append(moved, f)
		}
	}
	// What is left may excuse a text that moved.
	for _, e := range list {
		if take(e) {
			unused = append(unused, e)
		}
	}
	for _, f := range moved {
		from := slices.IndexFunc(unused, func(e exception) bool { return e.excuses(f) })
		if from < 0 {
			fresh = append(fresh, f)
			continue
		}
		unused = slices.Delete(unused, from, from+1)
		kept = append(kept, f.exception)
	}
	return fresh, unused, kept
}
