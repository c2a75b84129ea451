package num

import (
	"fmt"
	"strconv"
	"strings"
)

// Count is a number of things: "1 window", "17 windows", "1,440 windows".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(int64(n)) + " " + noun + "s"
}

// Do is Count with a verb: "1 node does", "2 nodes do".
func Do(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " does"
	}
	return Count(n, noun) + " do"
}

// Sentence begins with a capital and ends with a full stop.
func Sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
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

// Ranges lists ascending numbers, and runs of them by their ends: "4 to 6, 9".
func Ranges(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		k := i
		for k+1 < len(ns) && ns[k+1] == ns[k]+1 {
			k++
		}
		switch k - i {
		case 0:
			parts = append(parts, strconv.Itoa(ns[i]))
		case 1:
			parts = append(parts, strconv.Itoa(ns[i]), strconv.Itoa(ns[k]))
		default:
			parts = append(parts, fmt.Sprintf("%d to %d", ns[i], ns[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}
