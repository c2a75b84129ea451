package workloadtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// judge takes the errors of a test instead of the test.
type judge struct {
	testing.TB

	said []string
}

func (j *judge) Errorf(format string, args ...any) {
	j.said = append(j.said, fmt.Sprintf(format, args...))
}

// TestRecordNotices: each breach of the contract is noticed, and what keeps it
// is not.
func TestRecordNotices(t *testing.T) {
	for name, c := range map[string]struct {
		report func(*Record)
		want   []string
	}{
		"nothing wrong": {func(r *Record) {
			r.Progress("m", "op", 0)
			r.Progress("m", "op", 5)
			r.ProgressAt("n", "byte", time.Millisecond, 1)
			r.ProgressAt("n", "byte", time.Millisecond, 1)
			r.Sample(model.Sample{Metric: "m", Labels: map[string]string{"op": "a"}})
			r.Sample(model.Sample{Metric: "m", Labels: map[string]string{"op": "b"}})
			r.Histogram(model.Histogram{Metric: "h"})
			r.Histogram(model.Histogram{Metric: "h", Second: 1})
			r.Recording(model.HostSeries{Metric: "h"})
		}, nil},
		"a counter goes down": {func(r *Record) {
			r.ProgressAt("m", "op", 0, 2)
			r.ProgressAt("m", "op", time.Second, 1)
		}, []string{"progress of m goes from 2 at 0s to 1 at 1s"}},
		"time goes back": {func(r *Record) {
			r.ProgressAt("m", "op", time.Second, 1)
			r.ProgressAt("m", "op", 0, 2)
		}, []string{"progress of m goes from 1 at 1s to 2 at 0s"}},
		"the future": {func(r *Record) { r.ProgressAt("m", "op", 3*time.Hour, 1) },
			[]string{"progress of m at 3h0m0s is not in the past"}},
		"another unit": {func(r *Record) {
			r.ProgressAt("m", "op", 0, 1)
			r.ProgressAt("m", "byte", 0, 1)
		}, []string{"progress of m changes its unit from op to byte"}},
		"two samples": {func(r *Record) {
			r.Sample(model.Sample{Metric: "m"})
			r.Sample(model.Sample{Metric: "m"})
		}, []string{"two samples of m map[]"}},
		"two histograms": {func(r *Record) {
			r.Histogram(model.Histogram{Metric: "m"})
			r.Histogram(model.Histogram{Metric: "m"})
		}, []string{"two histograms of m, second 0"}},
		"two recordings": {func(r *Record) {
			r.Recording(model.HostSeries{Metric: "m"})
			r.Recording(model.HostSeries{Metric: "m"})
		}, []string{"two recordings of m"}},
	} {
		j := &judge{}
		c.report(&Record{T: j, Start: time.Now().Add(-time.Hour)})
		if diff := cmp.Diff(c.want, j.said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRecordKeeps: what is reported can be found again.
func TestRecordKeeps(t *testing.T) {
	seen := 0.
	r := &Record{Seen: func(_ string, v float64) { seen += v }}
	r.Progress("m", "op", 3)
	r.ProgressAt("m", "op", time.Second, 4)
	r.Sample(model.Sample{Metric: "m", Value: 4})
	r.Sample(model.Sample{Metric: "other", Value: 1})
	r.Histogram(model.Histogram{Metric: "h", Unit: "ns"})
	r.Recording(model.HostSeries{Metric: "rtt"})
	r.ExitCode(7)
	want := &Record{
		Readings:   map[string][]Reading{"m": {{0, 3}, {time.Second, 4}}},
		Units:      map[string]string{"m": "op"},
		Samples:    []model.Sample{{Metric: "m", Value: 4}, {Metric: "other", Value: 1}},
		Histograms: []model.Histogram{{Metric: "h", Unit: "ns"}},
		Recordings: []model.HostSeries{{Metric: "rtt"}},
		ExitCodes:  []int{7},
	}
	if diff := cmp.Diff(want.Readings, r.Readings); diff != "" || seen != 7 || r.Units["m"] != "op" {
		t.Errorf("readings, %v of them seen (-want +got):\n%s", seen, diff)
	}
	if diff := cmp.Diff(want.Result(), r.Result()); diff != "" || r.ExitCodes[0] != 7 {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"m": 4}, r.Values("other")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if r.Find("m").Value != 4 || r.Find("none").Metric != "" || r.FindHistogram("h").Unit != "ns" || r.FindHistogram("none").Unit != "" {
		t.Errorf("found %v and %v, %v and %v", r.Find("m"), r.Find("none"), r.FindHistogram("h"), r.FindHistogram("none"))
	}
}
