package num

import "strconv"

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
