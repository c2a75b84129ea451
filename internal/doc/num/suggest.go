package num

import "strings"

// Suggest returns the candidate that a misspelt word most likely means; empty
// when none is close.
func Suggest(word string, candidates []string) string {
	best, bestDistance := "", 0
	for _, c := range candidates {
		limit := max(1, min(len(word), len(c))/3)
		d := distance(strings.ToLower(word), strings.ToLower(c), limit)
		if d <= limit && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return plural(word, candidates)
	}
	return best
}

// plural catches "thread" for "threads" and the other way round in words too
// short for an edit distance, and beginnings: "desc" for "description".
func plural(word string, candidates []string) string {
	found := ""
	for _, c := range candidates {
		if len(word) >= 3 && strings.HasPrefix(c, strings.ToLower(word)) {
			if found != "" {
				return "" // not clear which
			}
			found = c
		}
	}
	return found
}

// distance is the number of edits (insert, delete, replace, swap neighbours)
// between two words: the optimal string alignment distance. Above the limit
// any larger number is returned early.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int // the row two above
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(above[j], row[j-1], above[j-1]) + 1
			if a[i-1] == b[j-1] {
				row[j] = min(row[j], above[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
