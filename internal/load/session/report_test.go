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

// TestReport: what is published can be read, and what generators publish adds up.
func TestReport(t *testing.T) {
	var results []model.Result
	rate, due, ok, latencies := 0.0, int64(0), int64(0), 0.0
	for i := range 2 {
		r := recorded(t, load.Share{Index: i, Of: 2})
		record := &workloadtest.Record{T: t}
		if err := r.Publish(record); err != nil {
			t.Fatal(err)
		}
		results = append(results, record.Result())
		want, err := r.Total()
		if err != nil {
			t.Fatal(err)
		}
		if want.Due != 200 || want.Due != want.Settled() || want.Latency.TotalCount() != want.OK || r.Think() != 7 {
			t.Errorf("%+v, Z = %v", want.Counts, r.Think())
		}
		rate, due, ok, latencies = rate+r.Throughput(), due+want.Due, ok+want.OK,
			latencies+float64(want.OK)*want.Latency.Mean()
		values := make(map[string]float64)
		for _, s := range record.Samples {
			values[s.Key()] = s.Value
		}
		for key, want := range map[string]float64{
			MetricUsers: float64(6 - i), MetricNoLink: 6, "no_link{from=ViewStory,to=ViewComment}": 6, MetricLength: 2.5, MetricSessions: 8,
			"errors{kind=status 503}": 10, "errors{kind=status}": 10, "errors{kind=timeout}": 0, MetricScored: 2, load.MetricBusy: .25,
			MetricDue: 200, MetricOK: float64(want.OK), MetricErrors: float64(want.Failed()), MetricUnfinished: 4,
			MetricAfter:      2,
			MetricThroughput: float64(r.Replies) / 2, MetricThink: 7, MetricLaw: r.Law(want),
		} {
			if values[key] != want {
				t.Errorf("%s = %v, want %v", key, values[key], want)
			}
		}
		if got := record.Recordings; len(got) != 4 || len(got[1].Values) != 5 || got[0].Values[4] != float64(6-i) || got[0].Values[0] != 3 {
			t.Errorf("by second: %+v", got)
		}
	}
	came, err := Sum(results)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(came.Throughput-rate) > 1e-9 || math.Abs(came.Response*1e9*float64(ok)/latencies-1) > .01 ||
		came.Latencies.TotalCount() != ok || math.Abs(came.Think-7) > 1e-9 {
		t.Errorf("the outcome is %+v, want %v/s", came, rate)
	}
	if failed := 1 - float64(ok)/400; math.Abs(came.Errors-failed) > 1e-9 || came.NoLink != 12./400 ||
		came.Unfinished != 8 || len(came.Generators) != 2 || came.Generators[1].Busy != .25 {
		t.Errorf("the outcome is %+v, want %v of errors, 12 pages of 400 without a link, 8 unfinished, generators a quarter busy", came, failed)
	}
	// A result without the time that is scored is not of users.
	all, err := Interactions(append(results,
		model.Result{Samples: []model.Sample{{Metric: MetricDue, Value: 5,
			Labels: map[string]string{LabelInteraction: "Other"}}}}), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		due, rate = due-x.Due, rate-2*x.Rate
		if x.Mean == nil || x.Errors == 0 {
			t.Errorf("%+v, want a response time, and errors", x)
		}
	}
	if len(all) != 3 || due != 0 || math.Abs(rate) > 2 {
		t.Errorf("interactions %+v, want three with all of 400 requests", all)
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
