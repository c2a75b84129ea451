package unixbench

import (
	"fmt"
	"strings"
)

// name is the begin of the metrics of the i-th set: "single" for one copy,
// "multi" for the only set with several, and "copies4" where there are more
// sets of several copies.
func name(sets []set, i int) string {
	if sets[i].copies == 1 {
		return "single"
	}
	for j, other := range sets {
		if j != i && other.copies > 1 {
			return fmt.Sprintf("copies%d", sets[i].copies)
		}
	}
	return "multi"
}

// slug makes a metric's name of a test's: "Shell Scripts (8 concurrent)"
// becomes "shell_scripts_8_concurrent".
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "_")
}
