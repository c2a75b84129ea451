package telemetry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	jsonHead = `{"sysstat": {"hosts": [{"nodename": "n", "date": "2026-11-27", "statistics": [` + "\n\n"
	textHead = "Linux 6.18 (vm) \t2026-11-27 \t_x86_64_\t(2 CPU)\n\n\n"
	oneDisk  = "254 0 vda 1 0 8 0 0 0 0 0 0 0 0\n"
)

// TestWrong: each kind of bad input is refused with its place and with what to do.
func TestWrong(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // in the message
	}{
		"empty":               {" \n", "f: the file is empty; give what iostat"},
		"too long":            {strings.Repeat("time,ops\n", 20_000), "f: the file has more than 97.7 KiB; give a"},
		"other columns":       {"a,b\n1,2\n", "f:1:1: unknown columns a, b; columns are time"},
		"an unknown column":   {"time,ops,iowait\n1,2,3\n", `f:1:10: unknown column "iowait"`},
		"no time":             {"volume,ops\na,2\n", `f:1:1: the column "time" is missing`},
		"two of a column":     {"time,ops,ops\n1,2,3\n", `f:1:10: the column "ops" appears twice`},
		"bad time":            {"time,ops\nyesterday,2\n", `f:2:1: time is "yesterday"; use a time such as`},
		"negative":            {"time,ops\n1,2\n2,-3\n", `f:3:3: ops is "-3"; use a rate of 0 or more; leave`},
		"unit":                {"time,bytes\n1,2 MiB\n", `f:2:3: bytes is "2 MiB"; use a number such as`},
		"thousands":           {"time,ops\n1,\"1,234\"\n", `f:2:3: ops is "1,234"; use a number`},
		"thousands, decimals": {"time;ops\n1;1.234\n2;2,5\n", `f:2:3: ops is "1.234", which may be thousands; write numbers`},
		"thousands, alone":    {"time;ops\n1;17\n2;1.234\n", `f:3:3: ops is "1.234", which may be thousands`},
		"thousands, commas":   {"time;ops\n1;1,234\n2;2.5\n", `f:2:3: ops is "1,234", which may be thousands`},
		"thousands, tabs":     {"time\tops\n1\t1.234\n2\t2,5\n", `f:2:3: ops is "1.234", which may be thousands`},
		"grouped wrongly":     {"time;ops\n1;1.2345,6\n2;2,5\n", `f:2:3: ops is "1.2345,6"; use a number`},
		"serial dates": {"time,ops\n45000.5,1\n45000.50069,2\n45000.50139,3\n",
			"f:2:1: time is 45000.5, which looks like the serial date of a spreadsheet; use a time such as"},
		"infinite":            {"time,ops\n1,1e999\n", `f:2:3: ops is "1e999"`},
		"percent":             {"time,ops,credits\n1,2,85\n2,2,80\n", "85% if it is in percent, or 0.85"},
		"no volume":           {"time,volume,ops\n1,,2\n", "f:2:3: volume is empty; use the name"},
		"other values":        {"time,ops\n1,2\n2,3\n1,4\n", "f:4:1: f has other values for the time of line 2"},
		"one row":             {"time,ops\n1,2\n", "f:2:1: f has one time only; give at least two"},
		"one row, many cells": {"time,ops\n1,2,3\n", "f:2:1: the line has 3 values; the header has 2"},
		"nothing known":       {"time,ops\n1,n/a\n2,NaN\n", "no period of the file can be used"},
		"quotes":              {"time,ops\n1,\"2\n3,4\n", "quot"},
		"unclear then clear":  {"time,ops\n01/02/2026 10:00,2\n01/13/2026 10:00,2\n", `f:3:1: time is "01/13/2026`},

		"other JSON":  {`{"status": "success"}`, "f:1:1: the JSON has no reports of iostat"},
		"broken JSON": {jsonHead + "{]}", "f:3:1: this is no JSON of iostat: invalid character"},
		"JSON, text":  {jsonHead + `{"timestamp": 7}]}]}}`, "f:3:1: this is no JSON of iostat: json: cannot"},
		"JSON, no time": {
			jsonHead + `{"disk":[{"disk_device":"a","r/s":1}]}]}]}}`,
			"f:3:1: the reports have no times; record with iostat -t",
		},
		"JSON, bad time": {
			jsonHead + `{"timestamp":"x","disk":[]}]}]}}`,
			`f:3:1: "x" is no time of a report; record`,
		},
		"JSON, one report": {
			jsonHead + `{"timestamp":"2026-11-27 10:00:00","disk":[{"disk_device":"a","r/s":1}]}]}]}}`,
			"of at least 2 reports",
		},

		"text, human": {
			textHead + "2026-11-27 10:00:00\nDevice r/s rkB/s\nvda 1.00 8.0k\n",
			`f:6:1: rkB/s is "8.0k"; record without -h`,
		},
		"text, few values": {
			textHead + "2026-11-27 10:00:00\nDevice r/s rkB/s\nvda 1.00\n",
			"f:6:1: the line has 2 values; the header has 3 columns",
		},
		"text, other line": {textHead + "command not found\n", `f:4:1: "command not found" is no time of a report`},
		"text, no times": {
			textHead + "Device r/s rkB/s\nvda 1.00 8.0\n\nDevice r/s rkB/s\nvda 1.00 8.0\n\n",
			"f:4:1: the reports have no times",
		},
		"text, long line": {textHead + strings.Repeat("x", longestLine+1), "f:4:1: the line is longer than"},

		"diskstats, no time":  {oneDisk, "f:1:1: the line has no time; write each block"},
		"diskstats, bad time": {"noon " + oneDisk, `f:1:1: "noon" is no time; use`},
		"diskstats, other line": {
			"1\n" + oneDisk + "vda 1 2\n",
			"f:3:1: the line is no time, and none of /proc/diskstats",
		},
		"diskstats, few numbers": {"1\n" + oneDisk + "254 0 vda 1 0 8\n", "f:3:1: the line is no time"},
		"diskstats, negative": {
			"1\n" + oneDisk + "254 0 vda -1 0 8 0 0 0 0 0 0 0 0\n",
			"f:3:1: the line is no time",
		},
		"diskstats, one reading": {"1\n" + oneDisk, "no period of the file can be used"},
		"diskstats, always reset": {
			"1\n254 0 vda 9 0 8 0 0 0 0 0 0 0 0\n2\n254 0 vda 1 0 1 0 0 0 0 0 0 0 0\n",
			"no period",
		},
	} {
		_, err := Read(t.Context(), "f", strings.NewReader(c.text), Options{Limit: 100_000})
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestMany: of many problems the first are told, and how many more there are.
func TestMany(t *testing.T) {
	text := "time,ops\n" + strings.Repeat("1,x\n", 60)
	_, err := Read(t.Context(), "f", strings.NewReader(text), Options{})
	if err == nil || !strings.Contains(err.Error(), "and 10 more") {
		t.Errorf("%v", err)
	}
}

// TestStamps reads times as locales and programs write them.
func TestStamps(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	want := time.Date(2026, 11, 27, 20, 15, 58, 0, time.UTC)
	for _, c := range []struct {
		text string
		zone *time.Location
		want time.Time // zero: refused
	}{
		{"2026-11-27T20:15:58+0000", berlin, want},
		{"2026-11-27T21:15:58+01:00", time.UTC, want},
		{"2026-11-27T15:45:58-04:30", time.UTC, want},
		{"2026-11-27T20:15:58Z", berlin, want},
		{"2026-11-27 20:15:58 UTC", berlin, want},
		{"2026-11-27 20:15:58", time.UTC, want},
		{"2026-11-27 21:15:58", berlin, want},
		{"2026-11-27 20:15:58.250", time.UTC, want.Add(250 * time.Millisecond)},
		{"2026-11-27 20:15", time.UTC, want.Add(-58 * time.Second)},
		{"27.11.2026 20:15:58", time.UTC, want},
		{"27-11-26 20:15:58", time.UTC, want},
		{"11/27/26 20:15:58", time.UTC, want},
		{"27/11/26 20:15:58", time.UTC, want},
		{"11/27/2026 08:15:58 PM", time.UTC, want},
		{"11/27/2026 8:15:58\u202fp.m.", time.UTC, want},
		{"11/27/2026 12:15:58 AM", time.UTC, want.Add(-20 * time.Hour)},
		{"2026年11月27日 20時15分58秒", time.UTC, want},
		{"2026.11.27. 20:15:58", time.UTC, want},
		{"27.11.2026 20.15.58", time.UTC, want},
		{"1795810558", berlin, want},
		{"1795810558000", berlin, want},
		{"1795810558000000", berlin, want},
		{"1795810558000000000", berlin, want},
		{"1795810558.25", berlin, want.Add(250 * time.Millisecond)},
		{"2026-02-30 20:15:58", time.UTC, time.Time{}},
		{"2026-11-27 24:15:58", time.UTC, time.Time{}},
		{"2026-11-27 20:61:58", time.UTC, time.Time{}},
		{"11/27/2026 13:15:58 PM", time.UTC, time.Time{}},
		{"11/27/226 13:15:58", time.UTC, time.Time{}},
		{"2026-11-27 20:15:58 CET", time.UTC, time.Time{}}, // which of several zones of this name is not known
		{"2026-11-27", time.UTC, time.Time{}},
		{"-5", time.UTC, time.Time{}},
		{"1e30", time.UTC, time.Time{}},
		{"", time.UTC, time.Time{}},
	} {
		clock := clock{zone: c.zone}
		got, ok := clock.read(c.text)
		if ok != !c.want.IsZero() || ok && got != float64(c.want.UnixMilli())/1e3 {
			t.Errorf("read(%q) = %v, %v, want %v", c.text, got, ok, float64(c.want.UnixMilli())/1e3)
		}
		if clock.guessed {
			t.Errorf("read(%q) guesses, and the date is clear", c.text)
		}
	}
}

// TestDates: the order of day and month is that of the first clear date; until then it is
// guessed, and that is remarked.
func TestDates(t *testing.T) {
	for _, c := range []struct {
		dates   []string
		order   order
		guessed bool
	}{
		{[]string{"05/06/26 10:00"}, monthFirst, true},         // C
		{[]string{"05/06/2026 10:00"}, dayFirst, true},         // fr
		{[]string{"05/06/2026 10:00:00 AM"}, monthFirst, true}, // en_US
		{[]string{"13/06/26 10:00", "05/07/26 10:00"}, dayFirst, false},
		{[]string{"05.06.26 10:00:00"}, "", false},
	} {
		clock := clock{zone: time.UTC}
		for _, date := range c.dates {
			if _, ok := clock.read(date); !ok {
				t.Errorf("%s is refused", date)
			}
		}
		if clock.order != c.order || clock.guessed != c.guessed {
			t.Errorf("%v: %s, guessed %v, want %s, %v", c.dates, clock.order, clock.guessed, c.order, c.guessed)
		}
	}
	list := read(t, "time,ops\n05/06/2026 10:00,1\n05/06/2026 10:01,1\n", Options{})
	if r := list[0].Remarks; len(r) != 1 || r[0].Code != DatesGuessed || r[0].Of != string(dayFirst) {
		t.Errorf("remarks %v", r)
	}
}
