package num

import (
	"fmt"
	"strings"
	"time"
)

// Span is how long something took: "14 s", and from two days on "3.5 days".
func Span(d time.Duration) string {
	if days := d.Hours() / 24; days >= 2 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", days), ".0") + " days"
	}
	return Seconds(d.Seconds())
}

// Clock is a time with its zone, with seconds where it has any: "2026-03-20 14:30
// UTC".
func Clock(t time.Time) string {
	if t.Second() != 0 || t.Nanosecond() != 0 {
		return t.Format("2006-01-02 15:04:05 MST")
	}
	return t.Format("2006-01-02 15:04 MST")
}
