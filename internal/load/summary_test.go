package load_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// score collects so many seconds with so many operations each, answered after
// about 20 ms, and scores them but for the first.
func score(seconds, each int) *load.Scorer {
	scorer := load.NewScorer(2, time.Second, time.Duration(seconds-1)*time.Second)
	c := load.NewCollector(1, 2, scorer.Add)
	s, rng := c.Shard(0), rand.New(rand.NewPCG(1, 2))
	for i := range seconds * each {
		due := time.Duration(i) * time.Second / time.Duration(each)
		op := i % 2
		s.Due(op, due)
		s.Sent(op, due, due, due)
		s.OK(op, due, due, due+time.Duration(20e6*rng.ExpFloat64()))
		s.Read(due, time.Duration(30e3*rng.ExpFloat64()))
		s.Flush(due)
	}
	s.Flush(time.Duration(seconds)*time.Second - 1)
	s.Close()
	c.Wait()
	return scorer
}

// TestSummaryIsReadAsReported: what is read from a result is what was reported,
// and what its seconds add up to.
func TestSummaryIsReadAsReported(t *testing.T) {
	want := score(4, 500).Summary([]string{"a", "b"}, load.Usage{Busy: .25, Opened: 7, Rejected: 3})
	want.RTT = []load.Handshake{{At: 1500 * time.Millisecond, Took: 300 * time.Microsecond}}
	for _, status := range []int{429, 429, 503} {
		want.Ops[0].Statuses.Add(status, 2)
	}
	want.Segments, want.Unrecovered = load.Segments{In: 1000, OutOfOrder: 12}, true
	record := &workloadtest.Record{T: t}
	want.Report(record)
	got, err := load.ReadSummary(record.Result())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Seconds, got.Seconds); diff != "" || got.Scored != 3*time.Second {
		t.Errorf("seconds of %v scored (-want +got):\n%s", got.Scored, diff)
	}
	if diff := cmp.Diff(want.RTT, got.RTT); diff != "" || got.Usage.Busy != .25 || got.Usage.Opened != 7 || got.Usage.Rejected != 3 || got.Segments != want.Segments || !got.Unrecovered {
		t.Errorf("usage %+v, segments %+v, handshakes (-want +got):\n%s", got.Usage, got.Segments, diff)
	}
	if h := got.ReceiveLag; h == nil || h.TotalCount() != 1500 || h.Max() != want.ReceiveLag.Max() {
		t.Errorf("%v answers were read late, want 1500 as reported", h)
	}
	for i, o := range got.Ops {
		if diff := cmp.Diff(want.Ops[i].Counts, o.Counts); diff != "" {
			t.Errorf("counts of %s (-want +got):\n%s", got.Names[i], diff)
		}
		sum := histogram.New(int64(load.Longest))
		for _, latencies := range got.Seconds.Latencies {
			h, err := histogram.Decode(latencies[i])
			if err != nil {
				t.Fatal(err)
			}
			if sum, err = histogram.Merge(sum, h); err != nil {
				t.Fatal(err)
			}
		}
		if sum.TotalCount() != 750 || sum.TotalCount() != o.Latency.TotalCount() || sum.Max() != o.Latency.Max() {
			t.Errorf("%s: the seconds have %d latencies up to %d, all have %d up to %d, want 750",
				got.Names[i], sum.TotalCount(), sum.Max(), o.Latency.TotalCount(), o.Latency.Max())
		}
	}
}

// TestDaysAreThinned: of a task of a day the latencies of some thousand seconds
// are reported, evenly chosen, and what all of them count up to as it is.
func TestDaysAreThinned(t *testing.T) {
	want := score(4, 500).Summary([]string{"a", "b"}, load.Usage{})
	want.Scored = 24 * time.Hour
	for index := 5; index < 86400; index++ {
		want.Seconds.Index = append(want.Seconds.Index, index)
		want.Seconds.Due, want.Seconds.OK, want.Seconds.Replies = append(want.Seconds.Due, 1), append(want.Seconds.OK, 1), append(want.Seconds.Replies, 1)
		want.Seconds.Latencies = append(want.Seconds.Latencies, want.Seconds.Latencies[0])
		want.RTT = append(want.RTT, load.Handshake{At: time.Duration(index) * time.Second, Took: time.Millisecond, Lost: index%10 == 0})
	}
	record := &workloadtest.Record{T: t}
	want.Report(record)
	got, err := load.ReadSummary(record.Result())
	if err != nil {
		t.Fatal(err)
	}
	distributions := 0
	for _, latencies := range got.Seconds.Latencies {
		if latencies[0] != "" {
			distributions++
		}
	}
	if distributions < 1000 || distributions > 4000 || len(got.RTT) < 20000 || len(got.RTT) > 40000 {
		t.Errorf("%d distributions and %d handshakes, want some thousand and some ten thousand", distributions, len(got.RTT))
	}
	if diff := cmp.Diff(want.Seconds.Replies, got.Seconds.Replies); diff != "" {
		t.Errorf("replies by second (-want +got):\n%s", diff)
	}
}

// TestScorerStaysSmall: an hour's seconds do not take an hour of histograms.
func TestScorerStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	const seconds, most = 150, 8 << 10 // bytes of a second with two operations
	inUse := func() int64 {
		runtime.GC()
		runtime.GC() // what is pooled, to be used again, is kept for one more
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	scorer := score(seconds, 200)
	grown := inUse() - before
	if n := scorer.Summary([]string{"a", "b"}, load.Usage{}).Seconds.Len(); n != seconds-1 {
		t.Fatalf("%d seconds are scored, want %d", n, seconds-1)
	}
	if grown > seconds*most+2<<20 {
		t.Errorf("%d scored seconds take %d KB each, want at most %d", seconds, grown>>10/seconds, most>>10)
	}
}
