package num

import (
	"fmt"
	"strconv"
	"strings"
)

// Count is a number of things: "1 window", "17 windows".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Grouped is a whole number with its thousands apart: "14,080".
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	least := 0
	if n < 0 {
		least = 1
	}
	for i := len(digits) - 3; i > least; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// List joins names, no more than fit in a sentence: "a, b, c, d, e and 12
// more".
func List[T ~string](names []T) string {
	const most = 5
	shown := make([]string, min(len(names), most))
	for i := range shown {
		shown[i] = string(names[i])
	}
	text := strings.Join(shown, ", ")
	if rest := len(names) - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
