package explain

import (
	"testing"
	"time"
)

// TestCalendar: hours and days are those of the zone, through the nights in which
// clocks are turned, and in zones that are half an hour off.
func TestCalendar(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		for at := time.Date(2026, 3, 20, 0, 7, 0, 0, time.UTC); at.Month() < 12; at = at.Add(13 * time.Minute) {
			times = append(times, at.UnixNano())
		}
		facts := calendar(times, zone)
		for i, at := range times {
			local := time.Unix(0, at).In(zone)
			want := []string{hourName(local.Hour()), local.Weekday().String(), local.Format(time.DateOnly)}
			for k := range want {
				if got := facts[k].Level(i); got != want[k] {
					t.Fatalf("%s of %v = %q, want %q", facts[k].Name, local, got, want[k])
				}
			}
		}
		codes, k := hours(times, zone)
		for i := 1; i < len(times); i++ {
			a, b := time.Unix(0, times[i-1]).In(zone), time.Unix(0, times[i]).In(zone)
			same := codes[i] == codes[i-1]
			if _, before := a.Zone(); same && a.Hour() != b.Hour() {
				if _, after := b.Zone(); before == after {
					t.Fatalf("%v and %v are one hour", a, b)
				}
			}
		}
		if k < 24*250 {
			t.Errorf("%d hours in nine months", k)
		}
	}
}
