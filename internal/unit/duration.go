package unit

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Duration is a span of time in nanoseconds that is text in files: "5s",
// "250ms", "1h30m". A duration in a file is never negative.
type Duration time.Duration

// DurationPattern is the form of a duration as an ECMA 262 regular expression,
// for JSON Schema. It is exactly what ParseDuration accepts, range apart.
const DurationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$`

// DurationAllowed says in words what ParseDuration accepts.
const DurationAllowed = `a number with a unit ns, us, ms, s, m, h or d, such as "500ms", "5s", "2m" or "1h30m"`

var durationRE = regexp.MustCompile(DurationPattern)

// dayRE finds the days in a duration: Go's notation has none.
var dayRE = regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)d`)

// ParseDuration reads a duration in Go's notation, without a sign and always
// with a unit; "d" is a day of 24 hours. The error says what is allowed.
func ParseDuration(s string) (Duration, error) {
	if err := checkLength(s); err != nil {
		return 0, err
	}
	if !durationRE.MatchString(s) {
		return 0, fmt.Errorf("%q is not a duration: %s", s, durationProblem(s))
	}
	// Twenty-four times so many hours: the sum of as many terms is exact where a
	// product of floats is not.
	d, err := time.ParseDuration(dayRE.ReplaceAllStringFunc(s, func(days string) string {
		return strings.Repeat(strings.TrimSuffix(days, "d")+"h", 24)
	}))
	if err != nil { // the form is right, so it is the range
		return 0, fmt.Errorf("%q is too long a duration: at most 2562047h (292 years)", s)
	}
	return Duration(d), nil
}

// longUnits are spellings that people try, with what to write instead.
var longUnits = []struct{ re, unit string }{
	{`(?i)^(s|secs?|seconds?)$`, "s"},
	{`(?i)^(m|mins?|minutes?)$`, "m"},
	{`(?i)^(h|hrs?|hours?)$`, "h"},
	{`(?i)^(ms|msecs?|milliseconds?)$`, "ms"},
	{`(?i)^(d|days?)$`, "d"},
}

var numberUnitRE = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)$`)

// durationProblem explains a string that has not the form of a duration, with
// a correction where the meaning is clear.
func durationProblem(s string) string {
	m := numberUnitRE.FindStringSubmatch(s)
	switch {
	case strings.HasPrefix(s, "-"):
		return "it must not be negative; use " + DurationAllowed
	case m == nil:
		return "use " + DurationAllowed
	case m[2] == "":
		return "it has no unit; use " + DurationAllowed
	}
	for _, l := range longUnits {
		if regexp.MustCompile(l.re).MatchString(m[2]) {
			return fmt.Sprintf("did you mean %q? Use %s", m[1]+l.unit, DurationAllowed)
		}
	}
	return "use " + DurationAllowed
}

// String prints the shortest form that ParseDuration reads back: "2m", not
// "2m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Std returns the duration as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText implements encoding.TextMarshaler; it makes the duration a
// string in JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}
