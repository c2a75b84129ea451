package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reportsAt is what iostat prints as text at these times of a day, with as many operations as
// the report's number.
func reportsAt(times ...string) string {
	var b strings.Builder
	b.WriteString("Linux 6.18 (vm) \t2026-11-27 \t_x86_64_\t(2 CPU)\n\n\n")
	for i, at := range times {
		fmt.Fprintf(&b, "2026-11-27 %s\nDevice r/s rkB/s\nvda %d.00 0.00\n\n\n", at, i+1)
	}
	return b.String()
}

// TestReportTimes: a report is about the time since the one before, whatever whole second it
// shows; a clock that is set makes a gap.
func TestReportTimes(t *testing.T) {
	day := float64(time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC).Unix())
	for name, c := range map[string]struct {
		times      []string
		begin, end []float64 // s after 10:00:00
		ops        Numbers
		codes      []string
	}{
		"even": {[]string{"10:00:01", "10:00:02", "10:00:03"}, []float64{0, 1, 2}, []float64{1, 2, 3}, Numbers{1, 2, 3}, nil},
		"a second twice, one missing": {[]string{"10:00:01", "10:00:02", "10:00:02", "10:00:04", "10:00:05"},
			[]float64{0, 1, 2, 3, 4}, []float64{1, 2, 3, 4, 5}, Numbers{1, 2, 3, 4, 5}, nil},
		"one late": {[]string{"10:00:01", "10:00:02", "10:00:06", "10:00:07"},
			[]float64{0, 1, 2, 6}, []float64{1, 2, 6, 7}, Numbers{1, 2, 3, 4}, nil},
		"clock far ahead": {[]string{"10:00:01", "10:00:02", "10:01:00", "10:01:01"},
			[]float64{0, 1, 60}, []float64{1, 2, 61}, Numbers{1, 2, 4}, []string{"clock_set"}},
		"clock back": {[]string{"10:00:11", "10:00:12", "10:00:08", "10:00:09", "10:00:10"},
			[]float64{8, 9, 10, 11}, []float64{9, 10, 11, 12}, Numbers{4, 5, 1, 2}, []string{"clock_set", "sorted_times"}},
	} {
		got := read(t, reportsAt(c.times...), Options{})[0]
		want := drawn{c.begin, c.end, map[Measure]Numbers{ReadOps: c.ops, ReadBytes: make(Numbers, len(c.ops))}}
		for i := range got.Begin {
			got.Begin[i] -= day
			got.End[i] -= day
		}
		if diff := cmp.Diff(want, drawn{got.Begin, got.End, got.Rates}, cmp.AllowUnexported(drawn{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		var codes []string
		for _, x := range got.Remarks {
			codes = append(codes, string(x.Code))
		}
		if !slices.Equal(codes, c.codes) {
			t.Errorf("%s: remarks %v, want %v", name, codes, c.codes)
		}
	}
}

// TestSeveral: runs of iostat that follow each other in a file, hosts, and devices that vanish.
func TestSeveral(t *testing.T) {
	twice := reportsAt("10:00:01", "10:00:02") + reportsAt("11:00:01", "11:00:02", "11:00:03")
	list := read(t, twice, Options{})
	if len(list) != 1 || len(list[0].Begin) != 5 || list[0].End[2]-list[0].End[1] != 3599 || len(list[0].Remarks) > 0 {
		t.Errorf("two runs: %v", list)
	}
	gone := strings.Replace(reportsAt("10:00:01", "10:00:02", "10:00:03"), "vda 2.00 0.00\n", "", 1)
	r := read(t, gone, Options{})[0]
	if len(r.Begin) != 2 || count(r, "absent") != 1 || r.Begin[1]-r.End[0] != 1 {
		t.Errorf("a device vanished: %v", r)
	}
	r = read(t, strings.Replace(reportsAt("10:00:01", "10:00:02"), "2.00", "18446744073709.55", 1), Options{})[0]
	if len(r.Begin) != 2 || count(r, "reset") != 1 || r.Rates[ReadOps][1] == r.Rates[ReadOps][1] {
		t.Errorf("a rate that no device has: %v", r)
	}
	cut := reportsAt("10:00:01", "10:00:02", "10:00:03") + "2026-11-27 10:00:04\nDevice r/s rkB/s\nvda 1."
	r = read(t, cut, Options{})[0]
	if len(r.Begin) != 3 || count(r, "cut_file") != 1 {
		t.Errorf("a line is cut: %v", r)
	}
}

// TestExports reads names of columns as those of metrics of Azure and GCP.
func TestExports(t *testing.T) {
	for _, text := range []string{
		"Timestamp,LUN,Data Disk Read Operations/Sec (Avg),Data Disk Read Bytes/sec (Avg)\n" +
			"2026-11-27T10:00:00Z,0,12.5,51200\n2026-11-27T10:01:00Z,0,25,102400\n",
		"time,device_name,compute.googleapis.com/instance/disk/read_ops_count," +
			"compute.googleapis.com/instance/disk/read_bytes_count\n" +
			"2026-11-27T10:00:00Z,0,12.5,51200\n2026-11-27T10:01:00Z,0,25,102400\n",
	} {
		r := read(t, text, Options{})[0]
		want := map[Measure]Numbers{ReadOps: {12.5, 25}, ReadBytes: {51200, 102400}}
		if diff := cmp.Diff(want, r.Rates); diff != "" || r.Service != "0" {
			t.Errorf("%s: %v\n%s", text, r, diff)
		}
		if assumed := count(r, "rates_assumed") == 2; assumed != strings.Contains(text, "_count") {
			t.Errorf("%s: %v", text, r.Remarks)
		}
	}
}
