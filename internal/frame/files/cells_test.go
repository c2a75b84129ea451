package files

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/tabular"
)

// FuzzNumber: a number is bit for bit what strconv reads, and nothing else is a
// number.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "+1.5", ".5", "5.", ".", "-", "", "1e5", "1.2.3", "123456789012345", "1234567890123456", "0.1", "9007199254740993", "0.000000000000001",
		"1e999", "inf", "NaN", "0x1p3", "1_000", "00000000000000000001", "2.2250738585072011e-308", "179769313486231580793728971405301e277"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := number([]byte(s))
		want, wantOK := tabular.Number(s)
		if ok != wantOK || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("number(%q) = %v, %v, want %v, %v", s, got, ok, want, wantOK)
		}
	})
}

// TestNumbers: the same for many numbers as programs write them.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		v := (random.Float64() - .5) * math.Pow(10, float64(random.IntN(30)-12))
		for _, s := range []string{strconv.FormatFloat(v, 'f', random.IntN(12), 64), strconv.FormatFloat(v, 'g', -1, 64)} {
			got, ok := number([]byte(s))
			if want, err := strconv.ParseFloat(s, 64); !ok || err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("number(%q) = %v, %v, want %v, %v", s, got, ok, want, err)
			}
		}
	}
}

// FuzzTime: what is a time in RFC 3339 is the time that Go's library reads.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-01-31T12:00:00Z", "2026-02-30T12:00:00Z", "1999-12-31T23:59:59.999999999+14:00", "2026-01-31t12:00:00z", "2026-01-31T24:00:00Z", "2026-1-31T12:00:00Z", "2262-01-01T00:00:00Z", "2026-01-31T12:00:00.1234567891-00:30", "0001-01-01T00:00:00Z", "2026-01-31T12:00:60Z"} {
		f.Add(s)
	}
	c := newClock(time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		ns, form, _, ok := c.read([]byte(s))
		want, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || s[13] != ':' { // there are other forms, and the library takes hours of one digit
			return
		}
		if inRange := want.Year() > firstYear && want.Year() < lastYear; inRange && !ok || ok && inRange && (ns != want.UnixNano() || form != formZoned) {
			t.Errorf("read(%q) = %s, %v, want %s", s, stamp(ns), ok, want)
		}
	})
}

func TestTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2026-01-31T12:00:00Z":               "2026-01-31T12:00:00Z dates and times with a zone",
		"2026-01-31 12:00:00.5+0130":         "2026-01-31T10:30:00.5Z dates and times with a zone",
		"2026-01-31 12:00:00 +0000":          "2026-01-31T12:00:00Z dates and times with a zone",
		"2026-01-31 12:00:00-05":             "2026-01-31T17:00:00Z dates and times with a zone",
		"2026-01-31 12:00:00 UTC":            "2026-01-31T12:00:00Z dates and times with a zone",
		"2026-01-31 12:00":                   "2026-01-31T11:00:00Z dates and times without a zone",
		"2026-07-31 12:00:00,25":             "2026-07-31T10:00:00.25Z dates and times without a zone",
		"2026-07-31":                         "2026-07-30T22:00:00Z dates",
		"1767225600":                         "2026-01-01T00:00:00Z Unix seconds",
		"1767225600.123456789":               "2026-01-01T00:00:00.123456789Z Unix seconds",
		"1.7672256e9":                        "2026-01-01T00:00:00Z Unix seconds",
		"-1.5":                               "1969-12-31T23:59:58.5Z Unix seconds",
		"1767225600123":                      "2026-01-01T00:00:00.123Z Unix milliseconds",
		"1767225600123456":                   "2026-01-01T00:00:00.123456Z Unix microseconds",
		"1767225600123456789":                "2026-01-01T00:00:00.123456789Z Unix nanoseconds",
		"2026-03-29 01:59:59":                "2026-03-29T00:59:59Z dates and times without a zone",
		"2026-03-29 02:30:00":                "2026-03-29T01:30:00Z dates and times without a zone 1",
		"2026-03-29 03:00:00":                "2026-03-29T01:00:00Z dates and times without a zone",
		"2026-10-25 01:59:59":                "2026-10-24T23:59:59Z dates and times without a zone",
		"2026-10-25 02:30:00":                "2026-10-25T00:30:00Z dates and times without a zone 2",
		"2026-10-25 03:00:00":                "2026-10-25T02:00:00Z dates and times without a zone",
		"2026-02-29":                         "no time",
		"2026-13-01":                         "no time",
		"2026-01-31T12:00:00X":               "no time",
		"2026-01-31T12":                      "no time",
		"2026-01-31 12:60":                   "no time",
		"31.01.2026":                         "2026-01-30T23:00:00Z dates",
		"31.1.2026 12:00":                    "2026-01-31T11:00:00Z dates and times without a zone",
		"1.07.2026 12:00:00.5":               "2026-07-01T10:00:00.5Z dates and times without a zone",
		"30.02.2026":                         "no time",
		"1.13.2026":                          "no time",
		"31.01.26":                           "no time",
		"01.02.20261":                        "no time",
		"03/04/2026":                         "no time",
		"12:00":                              "no time",
		"9223372036854775807000":             "no time",
		"17000000000":                        "no time",
		"17000000000000":                     "no time",
		"17000000000000000":                  "no time",
		"yesterday, at noon (or afterwards)": "no time",
	} {
		got := "no time"
		if ns, f, odd, ok := newClock(berlin).read([]byte(text)); ok {
			got = stamp(ns) + " " + formNames[f]
			if odd != steady {
				got += fmt.Sprint(" ", odd)
			}
		}
		if got != want {
			t.Errorf("read(%q) = %s, want %s", text, got, want)
		}
	}
}

// TestLocalTimes: every quarter of an hour of a year, in zones with odd
// changes of the clock, as a clock that remembers reads them. What time.Date makes
// of a time that was there once is the oracle.
func TestLocalTimes(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		c := newClock(zone)
		odd := map[shift]int{}
		for at := time.Date(2011, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2012; at = at.Add(15 * time.Minute) {
			text := at.Format("2006-01-02 15:04:05")
			ns, _, is, ok := c.read([]byte(text))
			odd[is]++
			y, m, d := at.Date()
			want := time.Date(y, m, d, at.Hour(), at.Minute(), 0, 0, zone)
			shown := time.Unix(0, ns).In(zone).Format("2006-01-02 15:04:05")
			if !ok || is == steady && (ns != want.UnixNano() || shown != text) || is == twice && shown != text || is == gap && shown == text {
				t.Errorf("%s in %s: %s, odd %d, want %s", text, name, stamp(ns), is, want.UTC())
			}
		}
		if name == "Asia/Kolkata" || name == "Asia/Kathmandu" {
			if odd[gap]+odd[twice] > 0 {
				t.Errorf("%s: %v, want no change of the clock", name, odd)
			}
		} else if odd[gap] < 2 || odd[twice] < 2 {
			t.Errorf("%s: %v, want changes of the clock", name, odd)
		}
	}
}

// TestLevels: numbers of texts are those of their first appearance, whatever
// texts share a place among the recent ones.
func TestLevels(t *testing.T) {
	l := newLevels()
	random := rand.New(rand.NewPCG(3, 4))
	want := map[string]uint16{"": 0}
	for range 100_000 {
		text := strings.Repeat("x", random.IntN(12)) + strconv.Itoa(random.IntN(3000))
		code, fresh := l.of([]byte(text))
		known, ok := want[text]
		if !ok {
			known = uint16(len(want))
			want[text] = known
		}
		if code != known || fresh == ok || l.all[code] != text {
			t.Fatalf("of(%q) = %d, %v, want %d, %v", text, code, fresh, known, !ok)
		}
	}
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		from, to string
		v, want  float64
		ok       bool
	}{
		{"ms", "s", 1100, 1.1, true}, {"s", "ms", 1.1, 1100, true}, {"kB/s", "MB/s", 118300, 118.3, true}, {"MiB/s", "MB/s", 1, 1.048576, true}, {"h", "min", 1, 1, false},
		{"ms", "MB/s", 1, 1, false}, {"", "s", 1, 1, false}, {"points", "points", 3, 3, true}, {"kB", "B", 2, 2000, true}, {"Mbit/s", "MB/s", 8, 8, false},
	} {
		r, ok := convert(c.from, c.to)
		if got := r.times(c.v); got != c.want || ok != c.ok {
			t.Errorf("%v %s in %s = %v, %v, want %v, %v", c.v, c.from, c.to, got, ok, c.want, c.ok)
		}
	}
}
