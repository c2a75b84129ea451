package unit

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
	}{
		{"5s", 5 * time.Second},
		{"2m", 2 * time.Minute},
		{"1h30m", 90 * time.Minute},
		{"250ms", 250 * time.Millisecond},
		{"1.5h", 90 * time.Minute},
		{"10us", 10 * time.Microsecond},
		{"10µs", 10 * time.Microsecond},
		{"0s", 0},
		{"720h", 720 * time.Hour},
		{"31d", 31 * 24 * time.Hour},
		{"1.5d6h0.1d", 44*time.Hour + 24*time.Minute},
	} {
		got, err := ParseDuration(c.in)
		if err != nil || got.Std() != c.want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
}

func TestParseDurationErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":          "use a number",
		"5":         "it has no unit",
		"0":         "it has no unit",
		"-5s":       "must not be negative",
		"5 s":       `did you mean "5s"`,
		"5sec":      `did you mean "5s"`,
		"2 minutes": `did you mean "2m"`,
		"3H":        `did you mean "3h"`,
		"1w":        "use a number",
		"2 days":    `did you mean "2d"`,
		"999999d":   "too long",
		"5s ":       "use a number",
		"1:30":      "use a number",
		".5s":       "use a number",
		"9999999h":  "too long",
	} {
		if got, err := ParseDuration(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error with %q", in, got, err, want)
		}
	}
}

func TestDurationString(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "0s",
		2 * time.Minute:                 "2m",
		time.Hour:                       "1h",
		90 * time.Minute:                "1h30m",
		time.Hour + time.Second:         "1h0m1s",
		100 * time.Minute:               "1h40m",
		1500 * time.Millisecond:         "1.5s",
		10 * time.Second:                "10s",
		20*time.Minute + 10*time.Second: "20m10s",
		1234567 * time.Nanosecond:       "1.234567ms",
		30*time.Hour + 10*time.Minute:   "30h10m",
		10*time.Microsecond + 1:         "10.001µs",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("Duration(%d).String() = %q, want %q", int64(d), got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Size
	}{
		{"0B", 0},
		{"512B", 512},
		{"1kB", 1000},
		{"1KiB", 1024},
		{"64KiB", 65536},
		{"5.3MB", 5_300_000},
		{"1.5GiB", 1_610_612_736},
		{"1 TB", 1e12},
		{"7EiB", 7 << 60},
		{"9223372036854775807B", math.MaxInt64},
		{"0.5KiB", 512},
	} {
		if got, err := ParseSize(c.in); err != nil || got != c.want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", c.in, got, err, c.want)
		}
	}
}

func TestParseSizeErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "use a number",
		"64":                           "it has no unit",
		"64KB":                         "write 64kB or 64KiB",
		"64K":                          "write 64kB or 64KiB",
		"2G":                           "write 2GB or 2GiB",
		"2mb":                          `did you mean "2MB"`,
		"2mib":                         `did you mean "2MiB"`,
		"-1MB":                         "must not be negative",
		"0.3B":                         "not a whole number of bytes",
		"0.3KiB":                       "not a whole number of bytes",
		"8EiB":                         "too large",
		"1e3B":                         "use a number",
		"1Mbit":                        "use a number",
		"1  MB":                        "did you mean",
		"1MB\n":                        "use a number",
		strings.Repeat("9", 500) + "B": "too long",
	} {
		if got, err := ParseSize(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%.20q) = %d, %v, want an error with %q", in, got, err, want)
		}
	}
}

func TestSizeString(t *testing.T) {
	for s, want := range map[Size]string{
		0:             "0B",
		1:             "1B",
		1000:          "1kB",
		1024:          "1KiB",
		65536:         "64KiB",
		5_300_000:     "5300kB",
		1_024_000:     "1000KiB",
		math.MaxInt64: "9223372036854775807B",
	} {
		if got := s.String(); got != want {
			t.Errorf("Size(%d).String() = %q, want %q", int64(s), got, want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Rate
	}{
		{"125MB/s", Rate{125e6, Bytes}},
		{"1.1MB/s", Rate{1.1e6, Bytes}},
		{"1MiB/s", Rate{1 << 20, Bytes}},
		{"10Gbit/s", Rate{10e9, Bits}},
		{"300op/s", Rate{300, Operations}},
		{"1.5kop/s", Rate{1500, Operations}},
		{"0B/s", Rate{0, Bytes}},
	} {
		if got, err := ParseRate(c.in); err != nil || got != c.want {
			t.Errorf("ParseRate(%q) = %v, %v, want %v", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "5", "5MB", "5Mb/s", "5Mbps", "-5MB/s", "5KB/s", "5Kibit/s", "5MB/h", "99999999999999999999B/s"} {
		if got, err := ParseRate(in); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", in, got)
		}
	}
}

func TestBytesPerSecond(t *testing.T) {
	if got, err := (Rate{8e9, Bits}).BytesPerSecond(); err != nil || got != 1e9 {
		t.Errorf("8Gbit/s = %g B/s, %v, want 1e9", got, err)
	}
	if got, err := (Rate{5, Bytes}).BytesPerSecond(); err != nil || got != 5 {
		t.Errorf("5B/s = %g B/s, %v, want 5", got, err)
	}
	if got, err := (Rate{5, Operations}).BytesPerSecond(); err == nil {
		t.Errorf("5op/s = %g B/s, want an error", got)
	}
}

// Printing and parsing are inverse, for every value.
func TestRoundTrip(t *testing.T) {
	duration := func(n int64) bool {
		d := Duration(n & math.MaxInt64)
		got, err := ParseDuration(d.String())
		return err == nil && got == d
	}
	size := func(n int64, shift uint8) bool {
		s := Size((n & math.MaxInt64) >> (shift % 63))
		got, err := ParseSize(s.String())
		return err == nil && got == s
	}
	rate := func(x float64, which uint8) bool {
		r := Rate{math.Mod(math.Abs(x), maxRate), []Base{Bytes, Bits, Operations}[which%3]}
		got, err := ParseRate(r.String())
		return err == nil && got == r
	}
	for name, f := range map[string]any{"duration": duration, "size": size, "rate": rate} {
		if err := quick.Check(f, &quick.Config{MaxCount: 2000}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJSON(t *testing.T) {
	type all struct {
		D Duration `json:"d"`
		S Size     `json:"s"`
		R Rate     `json:"r"`
	}
	const text = `{"d":"1h30m","s":"64KiB","r":"1Gbit/s"}`
	var v all
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if want := (all{Duration(90 * time.Minute), 64 * KiB, Rate{1e9, Bits}}); v != want {
		t.Errorf("decoded %+v, want %+v", v, want)
	}
	if b, err := json.Marshal(v); err != nil || string(b) != text {
		t.Errorf("encoded %s, %v, want %s", b, err, text)
	}
	for _, bad := range []string{`{"d":5}`, `{"s":5}`, `{"r":5}`, `{"d":"5"}`, `{"s":"5K"}`, `{"r":"5MB"}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("Unmarshal(%s) succeeded, want an error", bad)
		}
	}
}

// The patterns in the JSON Schema accept exactly what the parsers accept.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"5s", "1h30m", "1.5GiB", "64 KiB", "5.3MB", "10Gbit/s", "1kop/s", "µs", "-1s", "8EiB", "0.1B", "5KB", "1.h"} {
		f.Add(s)
	}
	duration, size, rate := regexp.MustCompile(DurationPattern), regexp.MustCompile(SizePattern), regexp.MustCompile(RatePattern)
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			back, err := ParseDuration(d.String())
			if err != nil || back != d || d < 0 || !duration.MatchString(s) {
				t.Errorf("%q is %v, printed %q, back %v, %v", s, int64(d), d, back, err)
			}
		}
		if b, err := ParseSize(s); err == nil {
			back, err := ParseSize(b.String())
			if err != nil || back != b || b < 0 || !size.MatchString(s) {
				t.Errorf("%q is %d, printed %q, back %v, %v", s, int64(b), b, back, err)
			}
		}
		if r, err := ParseRate(s); err == nil {
			back, err := ParseRate(r.String())
			if err != nil || back != r || r.Value < 0 || !rate.MatchString(s) {
				t.Errorf("%q is %v, printed %q, back %v, %v", s, r.Value, r, back, err)
			}
		}
	})
}
