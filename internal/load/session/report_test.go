package session

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// recorded is a report with known content, of a generator of two.
func recorded(t *testing.T, share load.Share) Report {
	t.Helper()
	c := board(t, BrowseOnly, 11)
	c.RampUp, c.From, c.To, c.End = 2*time.Second, 2*time.Second, 4*time.Second, 5*time.Second
	w, rng := Watch(c, share), rand.New(rand.NewPCG(uint64(share.Index), 1))
	collector := load.NewCollector(1, len(c.Site), w.Add)
	shard := collector.Shard(0)
	for i := range 500 {
		due := time.Duration(i) * 10 * time.Millisecond
		op := rng.IntN(3)
		shard.Due(op, due)
		if i%50 == 49 {
			shard.Unfinish(op, due)
			continue
		}
		shard.Sent(op, due, 0, due)
		if i%20 == 10 {
			shard.Refuse(op, due, 503)
			continue
		}
		shard.OK(op, due, due, due+time.Millisecond*time.Duration(1+rng.IntN(5)))
	}
	shard.Close()
	collector.Wait()
	u := &Users{tally: Tally{Thought: 14 * time.Second, Thinks: 2, Sessions: 4, Visits: 10, NoLink: map[[2]int]int64{{7, 10}: 3}}}
	return w.Report(load.Usage{Loaded: 5 * time.Second, Busy: .25}, []*Users{u, u})
}

// TestReport: what is published can be read, and what generators report adds up.
func TestReport(t *testing.T) {
	var sum Report
	var results []model.Result
	for i := range 2 {
		r := recorded(t, load.Share{Index: i, Of: 2})
		record := &workloadtest.Record{T: t}
		if err := r.Publish(record); err != nil {
			t.Fatal(err)
		}
		results = append(results, record.Result())
		got, err := Read(results[i])
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.Total()
		if err != nil {
			t.Fatal(err)
		}
		total, err := got.Total()
		if err != nil {
			t.Fatal(err)
		}
		if total.Due != 200 || total.Due != want.Due || total.OK != want.OK || total.Failed() != want.Failed() || total.Unfinished != 4 ||
			got.Replies != r.Replies || got.After != 2 || total.Latency.TotalCount() != total.OK || total.Latency.Mean() != want.Latency.Mean() {
			t.Errorf("read %+v of %+v, %d and %d after", total.Counts, want.Counts, got.After, r.After)
		}
		if law := got.Law(total); math.Abs(law-r.Law(want)) > 1e-9 || got.Think() != 7 {
			t.Errorf("X(R+Z)/N = %v, want %v; Z = %v", law, r.Law(want), got.Think())
		}
		values := make(map[string]float64)
		for _, s := range record.Samples {
			values[s.Key()] = s.Value
		}
		for key, want := range map[string]float64{
			MetricUsers: float64(6 - i), MetricNoLink: 6, "no_link{from=ViewStory,to=ViewComment}": 6, MetricLength: 2.5, MetricSessions: 8,
			"errors{kind=status 503}": 10, "errors{kind=status}": 10, "errors{kind=timeout}": 0, MetricScored: 2, load.MetricBusy: .25,
		} {
			if values[key] != want {
				t.Errorf("%s = %v, want %v", key, values[key], want)
			}
		}
		if got := record.Recordings; len(got) != 4 || len(got[1].Values) != 5 || got[0].Values[4] != float64(6-i) || got[0].Values[0] != 3 {
			t.Errorf("by second: %+v", got)
		}
		if i == 0 {
			sum = got
		} else if err := sum.Add(got); err != nil {
			t.Fatal(err)
		}
	}
	total, err := sum.Total()
	if err != nil {
		t.Fatal(err)
	}
	if sum.Users != 11 || total.Due != 400 || total.Due != total.Settled() || total.Latency.TotalCount() != total.OK || sum.Think() != 7 {
		t.Errorf("the sum is %+v of %d users", total.Counts, sum.Users)
	}
	came, err := Sum(results)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(came.Throughput-sum.Throughput()) > 1e-9 || math.Abs(came.Response*1e9/total.Latency.Mean()-1) > 1e-9 || came.Latencies.TotalCount() != total.OK || math.Abs(came.Think-7) > 1e-9 {
		t.Errorf("the outcome is %+v, the sum of reports %v/s", came, sum.Throughput())
	}
	if failed := 1 - float64(total.OK)/400; math.Abs(came.Errors-failed) > 1e-9 || came.NoLink != 12./400 || came.Unfinished != 8 || len(came.Generators) != 2 || came.Generators[1].Busy != .25 {
		t.Errorf("the outcome is %+v, want %v of errors, 12 pages of 400 without a link, 8 unfinished, generators a quarter busy", came, failed)
	}
	if err := sum.Add(Report{Scored: time.Hour}); err == nil {
		t.Error("reports of different lengths add up")
	}
	if _, err := Read((&workloadtest.Record{}).Result()); err == nil {
		t.Error("an empty result is of users")
	}
}

// TestReportNothing: where nothing ended well, what is not known is missing.
func TestReportNothing(t *testing.T) {
	c := board(t, BrowseOnly, 3)
	c.To, c.End = time.Second, time.Second
	record := &workloadtest.Record{T: t}
	r := Watch(c, load.All).Report(load.Usage{}, nil)
	r.Lag = hdr.New(1, 1000, 3)
	if err := r.Publish(record); err != nil {
		t.Fatal(err)
	}
	for _, s := range record.Samples {
		switch s.Metric {
		case MetricResponse, MetricThink, MetricLaw, MetricLag, MetricLength:
			t.Errorf("%s is %v, and nothing is known", s.Key(), s.Value)
		}
	}
	if len(record.Histograms) > 0 {
		t.Errorf("%d histograms of nothing", len(record.Histograms))
	}
}
