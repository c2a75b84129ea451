package load

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// Statuses is a set of HTTP statuses. The zero value is 200 to 299: a server
// that redirects has not done what it was asked to, and costs far less.
type Statuses struct{ ranges []statusRange }

// statusRange includes both ends.
type statusRange struct{ from, to int }

// The statuses of final answers (RFC 9110, section 15); what is below 200 is
// followed by another.
const (
	firstStatus, lastStatus = 200, 599
	firstRedirect           = 300
)

// ParseStatuses reads a list such as "200", "2xx" or "200-299,404"; the empty
// list is the zero value. The error is model.ErrUsage.
func ParseStatuses(text string) (Statuses, error) {
	var s Statuses
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		r, ok := parseRange(strings.TrimSpace(part))
		if !ok {
			return Statuses{}, fmt.Errorf("%w: %q in the statuses %q; they are from 200 to 599, as in 200, 2xx, or 200-299,404",
				model.ErrUsage, strings.TrimSpace(part), text)
		}
		s.ranges = append(s.ranges, r)
	}
	return s, nil
}

func parseRange(part string) (statusRange, bool) {
	if class, ok := strings.CutSuffix(strings.ToLower(part), "xx"); ok {
		part = class + "00-" + class + "99"
	}
	first, last, isRange := strings.Cut(part, "-")
	if !isRange {
		last = first
	}
	from, okFrom := parseStatus(first)
	to, okTo := parseStatus(last)
	return statusRange{from, to}, okFrom && okTo && from <= to
}

// parseStatus takes three digits and nothing else.
func parseStatus(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err == nil && len(text) == 3 && n >= firstStatus && n <= lastStatus
}

// Match reports whether a status is in the set.
func (s Statuses) Match(status int) bool {
	if len(s.ranges) == 0 {
		return status >= firstStatus && status < firstRedirect
	}
	for _, r := range s.ranges {
		if status >= r.from && status <= r.to {
			return true
		}
	}
	return false
}

// String is the list that ParseStatuses reads; empty for the zero value.
func (s Statuses) String() string {
	parts := make([]string, len(s.ranges))
	for i, r := range s.ranges {
		parts[i] = strconv.Itoa(r.from)
		if r.to > r.from {
			parts[i] += "-" + strconv.Itoa(r.to)
		}
	}
	return strings.Join(parts, ",")
}

// MarshalText is for files and messages.
func (s Statuses) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseStatuses.
func (s *Statuses) UnmarshalText(text []byte) error {
	parsed, err := ParseStatuses(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}
