package chart

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // as the program has it
)

func at3339(t *testing.T, s string) float64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return float64(at.UnixNano()) / 1e9
}

// Ticks are round on the clock and in the calendar of the zone, also where an
// hour is missing or twice there; what they leave out stands beside the axis.
func TestTimeTicks(t *testing.T) {
	for _, c := range []struct {
		name, zone, from, to string
		ticks                int
		want                 string
		label                string
	}{
		{"seconds", "", "2026-03-14T09:28:23.5Z", "2026-03-14T09:28:41Z", 5, "09:28:25=25 09:28:30=30 09:28:35=35 09:28:40=40", "at, 14 March 2026, UTC"},
		{"a night", "", "2026-03-14T22:00:00Z", "2026-03-15T03:00:00Z", 5, "22:00=22:00Z 23:00=23:00Z 15 Mar=00:00Z 01:00=01:00Z 02:00=02:00Z 03:00=03:00Z", "at, 2026, UTC"},
		{"an hour is missing", "Europe/Berlin", "2026-03-28T22:30:00Z", "2026-03-29T03:00:00Z", 5, "29 Mar=23:00Z 01:00=00:00Z 03:00=01:00Z 04:00=02:00Z 05:00=03:00Z", "at, 2026, Europe/Berlin"},
		{"an hour is twice there", "Europe/Berlin", "2026-10-24T22:30:00Z", "2026-10-25T03:00:00Z", 5, "01:00=23:00Z 02:00=00:00Z 02:00=01:00Z 03:00=02:00Z 04:00=03:00Z", "at, 25 October 2026, Europe/Berlin"},
		{"quarters of a short day", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T15:00:00Z", 5, "18:00=17:00Z 29 Mar=23:00Z 06:00=04:00Z 12:00=10:00Z", "at, 2026, Europe/Berlin"},
		{"quarters of a long day", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T15:00:00Z", 5, "18:00=16:00Z 25 Oct=22:00Z 06:00=05:00Z 12:00=11:00Z", "at, 2026, Europe/Berlin"},
		{"two hours over the gap", "America/New_York", "2026-03-08T05:00:00Z", "2026-03-08T14:00:00Z", 5, "8 Mar=05:00Z 04:00=08:00Z 06:00=10:00Z 08:00=12:00Z 10:00=14:00Z", "at, 8 March 2026, America/New_York"},
		{"days", "Asia/Kolkata", "2026-12-29T20:00:00Z", "2027-01-02T20:00:00Z", 5, "31 Dec=18:30Z 1 Jan 2027=18:30Z 2 Jan=18:30Z 3 Jan=18:30Z", "at, 2026 to 2027, Asia/Kolkata"},
		{"weeks begin on Monday", "Europe/Berlin", "2026-03-16T12:00:00Z", "2026-04-16T12:00:00Z", 5, "23 Mar=23:00Z 30 Mar=22:00Z 6 Apr=22:00Z 13 Apr=22:00Z", "at, 2026, Europe/Berlin"},
		{"months", "", "2025-11-12T00:00:00Z", "2026-04-16T12:00:00Z", 6, "Dec 2025=00:00Z Jan 2026=00:00Z Feb=00:00Z Mar=00:00Z Apr=00:00Z", "at, 2025 to 2026, UTC"},
		{"years", "", "2013-11-12T00:00:00Z", "2026-04-16T12:00:00Z", 7, "2014=00:00Z 2016=00:00Z 2018=00:00Z 2020=00:00Z 2022=00:00Z 2024=00:00Z 2026=00:00Z", "at, UTC"},
		{"not a zone", "Mars/Olympus", "2026-03-14T09:00:00Z", "2026-03-14T10:00:00Z", 4, "09:00=09:00Z 09:15=09:15Z 09:30=09:30Z 09:45=09:45Z 10:00=10:00Z", "at, 14 March 2026, UTC"},
	} {
		s := newScale(Axis{Kind: Time, Zone: c.zone, Label: "at"}, []float64{at3339(t, c.from), at3339(t, c.to)}, c.ticks, false)
		var got []string
		for _, tick := range s.timeTicks() {
			layout := "15:04Z"
			if c.name == "seconds" {
				layout = "05"
			}
			got = append(got, tick.Text+"="+instant(tick.At, time.UTC).Format(layout))
		}
		if got := strings.Join(got, " "); got != c.want || s.label() != c.label {
			t.Errorf("%s: ticks %s, label %q\nwant %s, %q", c.name, got, s.label(), c.want, c.label)
		}
	}
}

// Whatever the span and the zone, ticks ascend, say the local time at their place,
// are about as many as wanted, and leave no gap.
func TestTimeTicksOfAnySpan(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Asia/Beirut"}
	for range 3000 {
		from := float64(time.Date(1995+rng.IntN(35), 1, 1+rng.IntN(365), 0, 0, rng.IntN(86400), 0, time.UTC).Unix())
		axis := Axis{Kind: Time, Zone: zones[rng.IntN(len(zones))]}
		s := newScale(axis, []float64{from, from + 4*math.Pow(10, 7*rng.Float64())}, 5, false)
		pace, ticks := choosePace(s.hi-s.lo, 5), s.timeTicks()
		if len(ticks) < 1 || len(ticks) > 8 {
			t.Fatalf("%s from %v over %v s: %d ticks of %+v", axis.Zone, instant(s.lo, s.zone()), s.hi-s.lo, len(ticks), pace)
		}
		last := s.lo
		for _, tick := range ticks {
			local := instant(tick.At, s.zone())
			if pace.seconds > 0 && (local.Hour()*3600+local.Minute()*60+local.Second())%pace.seconds != 0 {
				t.Errorf("%s: a tick of every %d s at %v", axis.Zone, pace.seconds, local)
			}
			if said := local.Format("15:04:05 2 Jan 2006"); pace.seconds > 0 && !strings.Contains(said, tick.Text) {
				t.Errorf("%s: %q stands at %s", axis.Zone, tick.Text, said)
			}
			if pace.seconds == 0 && local.Hour() > 1 && local.Hour() < 23 { // where midnight is missing, an hour beside it
				t.Errorf("%s: a day begins at %v", axis.Zone, local)
			}
			if tick.At < last || tick.At-last > 1.1*pace.length()+2*86400*float64(min(pace.days+pace.months, 1))+3600 {
				t.Errorf("%s: from %v to %v with %+v", axis.Zone, instant(last, s.zone()), local, pace)
			}
			last = tick.At
		}
	}
}

// Times that no calendar has are left out, and one moment alone has an axis.
func TestTimeAxisOfOddValues(t *testing.T) {
	for _, values := range [][]float64{nil, {math.NaN()}, {1e300, -1e300}, {1.7e9}, {1.7e9, 1.7e9 + 1e-6}} {
		s := newScale(Axis{Kind: Time}, values, 5, false)
		if !(s.hi > s.lo) || len(s.ticks()) == 0 || strings.Contains(s.label(), "-") {
			t.Errorf("%v: from %v to %v, ticks %v, label %q", values, s.lo, s.hi, s.ticks(), s.label())
		}
	}
}
