package schedule

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/skip"
)

const (
	minute = unit.Duration(time.Minute)
	hour   = unit.Duration(time.Hour)
	day    = 24 * hour
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	x, err := parseTime(text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// begun is a schedule of a campaign that is made at a time.
func begun(t testing.TB, spec Spec, now time.Time) *Schedule {
	t.Helper()
	if err := spec.Validate(); err != nil {
		t.Fatalf("%+v: %v", spec, err)
	}
	begin, end, err := spec.Bounds(now)
	if err != nil {
		t.Fatalf("%+v: %v", spec, err)
	}
	s, err := New(spec, begin, end, 42)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown are the first times of a schedule in a zone, without the year.
func shown(t *testing.T, s *Schedule, zone string, n int) string {
	t.Helper()
	loc, err := location(zone)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range n {
		due, ok := s.At(i + 1)
		if !ok {
			break
		}
		all = append(all, due.In(loc).Format("01-02 15:04 MST"))
	}
	return strings.Join(all, ", ")
}

// TestTimes: the first times, how many there are, and what is said of them.
func TestTimes(t *testing.T) {
	const now = "2026-11-23 10:07:30"
	for _, tt := range []struct {
		spec     Spec
		now      string // default: the one above
		want     string // the first three
		total    int    // -1: without end
		describe string
	}{
		{Spec{Every: 30 * minute, For: 31 * day}, "", "11-23 10:07 UTC, 11-23 10:37 UTC, 11-23 11:07 UTC", 1488,
			"every 30 minutes, until 2026-12-24 10:07:30 UTC: 1,488 repetitions"},
		{Spec{Every: 30 * minute}, "", "11-23 10:07 UTC, 11-23 10:37 UTC, 11-23 11:07 UTC", -1, "every 30 minutes, without end"},
		{Spec{At: []int{30, 0}, For: 31 * day}, "", "11-23 10:30 UTC, 11-23 11:00 UTC, 11-23 11:30 UTC", 1488,
			"at minutes 0, 30 of every hour (UTC), until 2026-12-24 10:30:00 UTC: 1,488 repetitions"},
		{Spec{At: []int{5}, Repetitions: 2}, "", "11-23 11:05 UTC, 11-23 12:05 UTC", 2,
			"at minute 5 of every hour (UTC), until 2026-11-23 13:05:00 UTC: 2 repetitions"},
		{Spec{At: []int{0}, Repetitions: 1, Zone: "Asia/Kolkata"}, "", "11-23 10:30 UTC", 1, // 16:00 there
			"at minute 0 of every hour (Asia/Kolkata), until 2026-11-23 17:00:00 IST: 1 repetition"},
		{Spec{Cron: "0 3 * * 1-5", Until: "2026-11-26", Zone: "Europe/Berlin"}, "", "11-24 02:00 UTC, 11-25 02:00 UTC", 2,
			`at the times of cron "0 3 * * 1-5" (Europe/Berlin), until 2026-11-26 00:00:00 CET: 2 repetitions`},
		{Spec{Cron: "@daily", Repetitions: 2}, "", "11-24 00:00 UTC, 11-25 00:00 UTC", 2,
			`at the times of cron "@daily" (UTC), until 2026-11-26 00:00:00 UTC: 2 repetitions`},
		{Spec{Every: hour, Begin: "2026-11-24 08:00", Until: "2026-11-24T10:00:00Z"}, "", "11-24 08:00 UTC, 11-24 09:00 UTC", 2,
			"every hour, until 2026-11-24 10:00:00 UTC: 2 repetitions"},
		// Of a time that is past, the distance counts on.
		{Spec{Every: 30 * minute, Begin: "2026-01-01 00:15", Repetitions: 2}, "", "11-23 10:15 UTC, 11-23 10:45 UTC", 2, ""},
		{Spec{Every: 30 * minute, Begin: "2026-01-01 00:15", Repetitions: 2}, "2026-11-23 10:15", "11-23 10:15 UTC, 11-23 10:45 UTC", 2, ""},
		{Spec{At: []int{0}, Begin: "2026-01-01", Repetitions: 1}, "2026-11-23 10:00", "11-23 10:00 UTC", 1, ""},
		{Spec{At: []int{0}, Begin: "2026-12-01 07:30+01:00", Repetitions: 1}, "", "12-01 07:00 UTC", 1, ""},
		{Spec{Every: day, For: day + 1}, "", "11-23 10:07 UTC, 11-24 10:07 UTC", 2, ""},
		{Spec{Cron: "0 0 29 2 *", Repetitions: 3}, "", "02-29 00:00 UTC, 02-29 00:00 UTC, 02-29 00:00 UTC", 3, ""},
		{Spec{Every: 90 * minute, Jitter: 90 * unit.Duration(time.Second), Repetitions: 1}, "", "11-23 10:07 UTC", 1,
			"every 90 minutes, each up to 90 seconds later at random, until 2026-11-23 11:37:30 UTC: 1 repetition"},
	} {
		if tt.now == "" {
			tt.now = now
		}
		s := begun(t, tt.spec, at(t, tt.now))
		if got := shown(t, s, "", 3); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.spec, got, tt.want)
		}
		if total, ok := s.Total(); ok != (tt.total >= 0) || ok && total != tt.total {
			t.Errorf("%+v: Total = %d, %v, want %d", tt.spec, total, ok, tt.total)
		}
		if got := s.Describe(); tt.describe != "" && got != tt.describe {
			t.Errorf("%+v: %s, want %s", tt.spec, got, tt.describe)
		}
	}
}

// TestSummerTime: times that the clock of a zone jumps over, or shows twice.
func TestSummerTime(t *testing.T) {
	const berlin = "Europe/Berlin" // forward on March 29th at 02:00, back on October 25th at 03:00
	for _, tt := range []struct {
		spec      Spec
		now, want string
	}{
		{Spec{Cron: "30 2 * * *", Zone: berlin}, "2026-03-28", "03-28 02:30 CET, 03-29 03:00 CEST, 03-30 02:30 CEST"},
		{Spec{Cron: "*/20 2,3 * * *", Zone: berlin}, "2026-03-29", "03-29 03:00 CEST, 03-29 03:20 CEST, 03-29 03:40 CEST, 03-30 02:00 CEST"},
		{Spec{Cron: "30 2 * * *", Zone: berlin}, "2026-10-24", "10-24 02:30 CEST, 10-25 02:30 CEST, 10-26 02:30 CET"},
		{Spec{Cron: "0 1,2,3 * * *", Zone: berlin}, "2026-10-24 22:30", "10-25 01:00 CEST, 10-25 02:00 CEST, 10-25 03:00 CET"},
		// Asked in the hour that comes twice, or where one was left out.
		{Spec{Cron: "30 2 * * *", Zone: berlin}, "2026-10-25 01:10", "10-26 02:30 CET"},
		{Spec{Cron: "30 2 * * *", Zone: berlin}, "2026-03-29 01:00", "03-29 03:00 CEST, 03-30 02:30 CEST"},
		{Spec{Cron: "30 2 * * *", Zone: berlin}, "2026-03-29 01:00:01", "03-30 02:30 CEST"},
		// Every hour: real hours.
		{Spec{Cron: "*/30 * * * *", Zone: berlin}, "2026-03-29 00:30", "03-29 01:30 CET, 03-29 03:00 CEST, 03-29 03:30 CEST"},
		{Spec{At: []int{0, 30}, Zone: berlin}, "2026-10-25 00:00", "10-25 02:00 CEST, 10-25 02:30 CEST, 10-25 02:00 CET, 10-25 02:30 CET, 10-25 03:00 CET"},
		{Spec{Every: 30 * minute, Zone: berlin}, "2026-10-25 00:30", "10-25 02:30 CEST, 10-25 02:00 CET, 10-25 02:30 CET"},
		// Midnight does not exist on this day.
		{Spec{Cron: "0 0 * * *", Zone: "Africa/Cairo"}, "2026-04-23", "04-24 01:00 EEST, 04-25 00:00 EEST"},
		// The clock goes by half an hour.
		{Spec{At: []int{15}, Zone: "Australia/Lord_Howe"}, "2026-10-03 14:30", "10-04 01:15 +1030, 10-04 03:15 +11, 10-04 04:15 +11"},
		{Spec{Every: day, Begin: "2026-03-29 02:30", Zone: berlin}, "2026-03-01", "03-29 03:00 CEST, 03-30 03:00 CEST"},
		{Spec{Every: day, Begin: "2026-10-25 02:30", Zone: berlin}, "2026-03-01", "10-25 02:30 CEST, 10-26 01:30 CET"},
	} {
		s := begun(t, tt.spec, at(t, tt.now))
		if got := shown(t, s, tt.spec.Zone, strings.Count(tt.want, ",")+1); got != tt.want {
			t.Errorf("%+v from %s: %s, want %s", tt.spec, tt.now, got, tt.want)
		}
	}
}

// TestClock holds the times of a year to what a walk over all its minutes finds.
func TestClock(t *testing.T) {
	begin, end := at(t, "2026-01-01"), at(t, "2027-01-01")
	for _, zone := range []string{"UTC", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "Africa/Casablanca"} {
		loc := mustLoad(t, zone)
		var walls []time.Time // what the clock shows each minute, from two days before
		for x := begin.Add(-48 * time.Hour); x.Before(end); x = x.Add(time.Minute) {
			walls = append(walls, wallOf(x, loc))
		}
		for _, expr := range []string{"0,30 * * * *", "30 0-2 * * *", "15 2 * * 0", "0 0 1 * *", "45 1,2,3 25-31 3,10 *", "*/7 * 1 * *"} {
			c, err := parseCron(expr, loc)
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Time
			for x := c.after(begin); x.Before(end); x = c.after(x) {
				got = append(got, x)
			}
			want := walk(c.(clock), walls, begin)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				i := 0
				for i < min(len(got), len(want)) && got[i].Equal(want[i]) {
					i++
				}
				t.Errorf("%s in %s: %d times, want %d; they differ from %v on, want %v", expr, zone, len(got), len(want), got[i:min(i+2, len(got))], want[i:min(i+2, len(want))])
			}
		}
	}
}

func mustLoad(t *testing.T, zone string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// walk looks at the clock every minute, and takes the times after begin.
func walk(c clock, walls []time.Time, begin time.Time) (all []time.Time) {
	matches := func(wall time.Time) bool {
		has := func(field uint64, x int) bool { return field>>uint(x)&1 == 1 }
		f := c.fields
		if !has(f.Minute, wall.Minute()) || !has(f.Hour, wall.Hour()) || !has(f.Month, int(wall.Month())) {
			return false
		}
		dom, dow := has(f.Dom, wall.Day()), has(f.Dow, int(wall.Weekday()))
		if f.Dom&starBit == 0 && f.Dow&starBit == 0 {
			return dom || dow
		}
		return dom && dow
	}
	x := begin.Add(-48 * time.Hour)
	last, latest := walls[0], time.Time{} // latest that the clock has shown
	for _, wall := range walls {
		hit := matches(wall)
		if c.fields.Hour&everyHour != everyHour {
			hit = hit && wall.After(latest)
			for jumped := last.Add(time.Minute); jumped.Before(wall); jumped = jumped.Add(time.Minute) {
				hit = hit || matches(jumped)
			}
		}
		if hit && x.After(begin) {
			all = append(all, x)
		}
		if last = wall; wall.After(latest) {
			latest = wall
		}
		x = x.Add(time.Minute)
	}
	return all
}

// TestNumbers: times and numbers agree, in any order and from many goroutines.
func TestNumbers(t *testing.T) {
	for _, spec := range []Spec{
		{Every: 30 * minute, For: 365 * day},
		{Every: 30 * minute, For: 365 * day, Jitter: 30 * minute},
		{At: []int{0, 30}, For: 100 * day, Jitter: 5 * minute, Zone: "Europe/Berlin"},
		{Cron: "0,30 * * * *", For: 100 * day, Zone: "America/New_York"},
	} {
		s := begun(t, spec, at(t, "2026-02-03 04:05:06"))
		total := int(48 * spec.For / day)
		if n, ok := s.Total(); n != total || !ok {
			t.Errorf("%+v: Total = %d, %v, want %d", spec, n, ok, total)
		}
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() { s.check(t, rand.New(rand.NewPCG(uint64(worker), 1)), total) })
		}
		wg.Wait()
		last := time.Time{}
		for number := 1; number <= total; number++ {
			due, ok := s.At(number)
			if !ok || !due.After(last) {
				t.Fatalf("%+v: number %d is due at %v, %v, after %v", spec, number, due, ok, last)
			}
			last = due
		}
		if _, ok := s.At(total + 1); ok {
			t.Errorf("%+v: there is a number %d", spec, total+1)
		}
		longer := extended(t, s, s.end.Add(time.Hour))
		if n, ok := longer.Total(); n != total+2 || !ok {
			t.Errorf("%+v: extended by an hour it has %d, want %d", spec, n, total+2)
		}
		if a, b := due(t, s, 777), due(t, longer, 777); !a.Equal(b) {
			t.Errorf("%+v: extended, number 777 moves from %v to %v", spec, a, b)
		}
		if end, err := s.EndAfter(total + 2); err != nil || !end.Equal(longer.end) {
			t.Errorf("%+v: EndAfter = %v, %v, want %v", spec, end, err, longer.end)
		}
	}
}

// extended is the schedule of a campaign with another end.
func extended(t *testing.T, s *Schedule, end time.Time) *Schedule {
	t.Helper()
	longer, err := New(s.spec, s.begin, end, s.seed)
	if err != nil {
		t.Fatal(err)
	}
	return longer
}

func due(t *testing.T, s *Schedule, number int) time.Time {
	t.Helper()
	x, ok := s.At(number)
	if !ok {
		t.Errorf("there is no number %d", number)
	}
	return x
}

func (s *Schedule) check(t *testing.T, r *rand.Rand, total int) {
	for range 60 {
		number := 1 + r.IntN(total-1)
		due, ok := s.At(number)
		after, more := s.At(number + 1)
		again, _ := s.At(number)
		if !ok || more != (number < total) || more && !after.After(due) || !again.Equal(due) {
			t.Errorf("number %d is due at %v, %v, then at %v; the next is at %v, %v", number, due, ok, again, after, more)
			return
		}
		nominal := s.time(number)
		s.mu.Lock()
		before, with := s.upTo(nominal.Add(-1)), s.upTo(nominal)
		s.mu.Unlock()
		if before != number-1 || with != number {
			t.Errorf("before number %d are %d, and up to it %d", number, before, with)
		}
	}
}

// TestJitter: it is the same after a restart, another with another seed, and
// spread evenly, each independent of the one before.
func TestJitter(t *testing.T) {
	spec := Spec{Every: 30 * minute, Jitter: 2 * minute}
	begin := at(t, "2026-11-23")
	s, again, other := begun(t, spec, begin), begun(t, spec, begin), begun(t, spec, begin)
	other.seed++
	const n = 20000
	var parts []float64
	differ := 0
	for number := 1; number <= n; number++ {
		a := due(t, s, number)
		if !a.Equal(due(t, again, number)) {
			t.Fatalf("number %d: %v, then %v", number, a, due(t, again, number))
		}
		if !a.Equal(due(t, other, number)) {
			differ++
		}
		parts = append(parts, a.Sub(s.time(number)).Seconds()/120)
	}
	if differ < n-10 {
		t.Errorf("with another seed %d of %d are different", differ, n)
	}
	var sum, lag float64
	tenths := make([]int, 10)
	for i, x := range parts {
		if x < 0 || x >= 1 {
			t.Fatalf("a part of %v of the jitter", x)
		}
		tenths[int(10*x)]++
		sum += x
		if i > 0 {
			lag += (x - 0.5) * (parts[i-1] - 0.5)
		}
	}
	// Five standard errors of a uniform distribution.
	if mean := sum / n; math.Abs(mean-0.5) > 5*math.Sqrt(1./12/n) {
		t.Errorf("their mean is %v", mean)
	}
	if r := lag / n * 12; math.Abs(r) > 5/math.Sqrt(n) {
		t.Errorf("they follow each other with a correlation of %v", r)
	}
	for i, k := range tenths {
		if math.Abs(float64(k)-n/10) > 5*math.Sqrt(n*0.09) {
			t.Errorf("%d of %d are in tenth %d", k, n, i+1)
		}
	}
}

// TestImpossible: what a file cannot ask for, and what it says.
func TestImpossible(t *testing.T) {
	for _, tt := range []struct {
		spec      Spec
		key, want string
	}{
		{Spec{}, "", "it has 0 of every, at and cron"},
		{Spec{Every: minute, Cron: "* * * * *"}, "", "it has 2 of every, at and cron"},
		{Spec{Every: minute, For: hour, Repetitions: 3}, "", "it has 2 of for, until and repetitions"},
		{Spec{Every: 1}, "every", "1ns is not possible"},
		{Spec{Every: unit.Duration(math.MaxInt64)}, "every", "is not possible"},
		{Spec{Every: minute, For: unit.Duration(math.MaxInt64)}, "for", "too long"},
		{Spec{Every: minute, Jitter: minute + 1}, "jitter", "longer than the 1m between two repetitions"},
		{Spec{At: []int{0, 5}, Jitter: 6 * minute}, "jitter", "longer than the 5m between"},
		{Spec{At: []int{50, 5}, Jitter: 20 * minute}, "jitter", "longer than the 15m between"},
		{Spec{Cron: "0 1,2,9 * * *", Jitter: 2 * hour}, "jitter", "longer than the 1h between"},
		{Spec{Cron: "0 1,3 * * *", Jitter: 119 * minute, Zone: "Europe/Berlin"}, "jitter", "longer than the 1h between"}, // in March
		{Spec{At: []int{0}, Zone: "Berlin"}, "zone", `unknown time zone "Berlin"`},
		{Spec{At: []int{0}, Zone: "Local"}, "zone", `unknown time zone "Local"`},
		{Spec{Every: minute, Until: "tomorrow"}, "until", `"tomorrow" is not a time`},
		{Spec{Every: minute, Begin: "1926-01-01"}, "begin", "not between the years 1970 and 2200"},
		{Spec{Every: minute, Begin: "2026-02-30"}, "begin", `"2026-02-30" is not a time`},
		{Spec{Cron: "0 30 2 * *", Zone: "UTC"}, "cron", "above maximum"},
		{Spec{Cron: "61 * * * *"}, "cron", "above maximum"},
		{Spec{Cron: "* * * *"}, "cron", "expected exactly 5 fields"},
		{Spec{Cron: "* * * * * *"}, "cron", "expected exactly 5 fields"},
		{Spec{Cron: "@every 1h"}, "cron", "stands in every"},
		{Spec{Cron: "TZ=UTC"}, "cron", "stands in zone"},
		{Spec{Cron: "CRON_TZ=UTC * * * * *"}, "cron", "stands in zone"},
		{Spec{Cron: "0 0 30 2 *"}, "cron", "no day of any year"},
	} {
		err := tt.spec.Validate()
		e, ok := errors.AsType[*model.InputError](err)
		if !ok || e.Path != tt.key || !strings.Contains(e.Problem, tt.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%+v: %v, want %q of %q", tt.spec, err, tt.want, tt.key)
		}
		if _, err := New(tt.spec, time.Time{}, time.Time{}, 1); err == nil {
			t.Errorf("New(%+v) succeeds", tt.spec)
		}
	}
	for _, tt := range []struct {
		spec Spec
		want string
	}{
		{Spec{Every: minute, Until: "2026-11-23"}, "would be due at 2026-11-23 10:00:00 UTC, which is not before it"},
		{Spec{At: []int{0}, Begin: "2027-01-01", Until: "2026-12-31"}, "would be due at 2027-01-01 00:00:00 UTC"},
		{Spec{Every: minute, Begin: "2200-12-31", For: day}, "beyond the year 2200"},
		{Spec{Every: 20000 * day, Repetitions: 10}, "there are no 10 such times"},
		{Spec{Cron: "0 0 1 1 *", Repetitions: 1000}, "there are no 1000 such times"},
	} {
		if err := tt.spec.Validate(); err != nil {
			t.Errorf("%+v: %v", tt.spec, err)
		}
		if _, _, err := tt.spec.Bounds(at(t, "2026-11-23 10:00")); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%+v: %v, want %q", tt.spec, err, tt.want)
		}
	}
}

// TestPattern: the schema has the form that is checked.
func TestPattern(t *testing.T) {
	for _, name := range []string{"Begin", "Until"} {
		f, _ := reflect.TypeFor[Spec]().FieldByName(name)
		if want := "format=scalebench-time,pattern=" + timePattern; f.Tag.Get("jsonschema") != want {
			t.Errorf("the tag of %s is %q, want %q", name, f.Tag.Get("jsonschema"), want)
		}
	}
}

// TestTooManyToCount: a schedule of a hundred years of minutes is described at
// once, and one of ten million by the clock is refused.
func TestTooManyToCount(t *testing.T) {
	skip.IfShort(t)
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s, err := New(Spec{Cron: "* * * * *"}, begin, begin.AddDate(100, 0, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := s.Total(); ok || !strings.HasSuffix(s.Describe(), "UTC: more than 1,000,000 repetitions") {
		t.Errorf("Total() = %d, %v; %s", n, ok, s.Describe())
	}
	if n, ok := extended(t, s, begin.AddDate(1, 0, 0)).Total(); n != 365*24*60 || !ok {
		t.Errorf("Total() of a year = %d, %v", n, ok)
	}
	if _, _, err := (Spec{At: []int{0}, Repetitions: 10_000_000}).Bounds(begin); err == nil {
		t.Error("ten million times by the clock are counted")
	}
}

// FuzzCron: no text makes the parser panic or the search for a time endless.
func FuzzCron(f *testing.F) {
	for _, text := range []string{"0,30 * * * *", "@hourly", "TZ=", "CRON_TZ=x", "*/0 * * * *", "1-60/7 * * * sun", "0 0 31 2,4 *", ""} {
		f.Add(text, int64(1e18))
	}
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, ns int64) {
		c, err := parseCron(text, loc)
		from := time.Unix(0, ns)
		if err != nil || from.Year() > LastYear {
			return
		}
		if next := c.after(from); !next.IsZero() && !next.After(from) {
			t.Errorf("after %v comes %v", from, next)
		}
	})
}

// BenchmarkYears: what a server asks at its start, after three years.
func BenchmarkYears(b *testing.B) {
	for _, spec := range []Spec{{Every: 30 * minute}, {At: []int{0, 30}, Zone: "Europe/Berlin"}} {
		b.Run(fmt.Sprint(spec.rule()), func(b *testing.B) {
			now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				if s := begun(b, spec, now); s.upTo(now.AddDate(3, 0, 0)) == 0 {
					b.Fatal("there is none")
				}
			}
		})
	}
}
