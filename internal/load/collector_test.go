package load_test

import (
	"math/rand/v2"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
)

// expect computes what the records come to without shards and collectors.
func expect(records []record, index int) (c load.Counts, replies int64) {
	for _, r := range records {
		if r.end == 0 && int(r.done/time.Second) == index {
			replies++
		}
		if int(r.due/time.Second) != index {
			continue
		}
		c.Due++
		switch r.end {
		case 0:
			c.OK++
		case 1:
			c.Errors[r.kind]++
		case 2:
			c.Dropped++
			continue
		case 3:
			c.Unfinished++
		}
		if r.free > r.due {
			c.Waited++
		}
		if r.sent-max(r.due, r.free) > load.LateAfter {
			c.Late++
		}
	}
	return c, replies
}

// TestCollectorAddsUp: whatever number of loops share the operations, every
// second has the counts of the operations due in it, and the same histograms.
func TestCollectorAddsUp(t *testing.T) {
	const until = 12 * time.Second
	records := randomRecords(rand.New(rand.NewPCG(2, 3)), 3000)
	one := collect(records, 1, until)
	for i, s := range one {
		var total load.Counts
		for _, c := range s.Counts {
			total.Add(c)
		}
		want, replies := expect(records, i)
		if diff := gocmp.Diff(want, total); diff != "" || s.Replies != replies || s.Index != i {
			t.Errorf("second %d has index %d, %d replies, want %d; counts (-want +got):\n%s", i, s.Index, s.Replies, replies, diff)
		}
	}
	for _, shards := range []int{2, 7} {
		if diff := gocmp.Diff(one, collect(records, shards, until)); diff != "" {
			t.Errorf("%d shards do not add up to one (-one +all):\n%s", shards, diff)
		}
	}
}

// TestCountsAreComplete: every operation that was due has one end, in every
// second, and what was sent is in the histogram of the lag.
func TestCountsAreComplete(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 0))
		for _, s := range collect(randomRecords(rng, 500), 1+rng.IntN(4), 10*time.Second) {
			var total load.Counts
			for _, c := range s.Counts {
				total.Add(c)
			}
			if total.Due != total.Settled() {
				t.Errorf("seed %d, second %d: due %d, settled %d: %+v", seed, s.Index, total.Due, total.Settled(), total)
			}
			if sent := total.Due - total.Dropped; s.Lag.total() != sent {
				t.Errorf("seed %d, second %d: the lag of %d operations, want %d", seed, s.Index, s.Lag.total(), sent)
			}
			if n := s.ReceiveLag.total(); n != total.OK {
				t.Errorf("seed %d, second %d: %d answers were read, want %d", seed, s.Index, n, total.OK)
			}
		}
	}
}

// TestSecondsWithoutOperations are handed on as well.
func TestSecondsWithoutOperations(t *testing.T) {
	var got collected
	c := load.NewCollector(1, 1, got.each)
	s := c.Shard(0)
	s.Due(0, 3500*time.Millisecond)
	s.Drop(0, 3500*time.Millisecond)
	s.Flush(6*time.Second - 1)
	s.Close()
	c.Wait()
	for i, x := range got.seconds {
		want := int64(0)
		if i == 3 {
			want = 1
		}
		if x.Index != i || x.Counts[0].Due != want {
			t.Errorf("second %d has index %d and %d operations, want %d", i, x.Index, x.Counts[0].Due, want)
		}
	}
	if len(got.seconds) != 6 {
		t.Errorf("%d seconds, want 6", len(got.seconds))
	}
}

// TestShardsThatCloseEarly: they delay no other shard, and lose nothing.
func TestShardsThatCloseEarly(t *testing.T) {
	var got collected
	c := load.NewCollector(3, 1, got.each)
	due := func(shard int, seconds ...int) {
		for _, i := range seconds {
			at := time.Duration(i) * time.Second
			c.Shard(shard).Due(0, at)
			c.Shard(shard).Unfinish(0, at)
			c.Shard(shard).Flush(at)
		}
		c.Shard(shard).Close()
	}
	due(0)
	due(1, 0, 1)
	due(2, 0, 2, 4)
	c.Wait()
	var counts []int64
	for _, s := range got.seconds {
		counts = append(counts, s.Counts[0].Due)
	}
	if diff := gocmp.Diff([]int64{2, 1, 1, 0, 1}, counts); diff != "" {
		t.Errorf("operations by second (-want +got):\n%s", diff)
	}
}

// TestSecondsWaitForAllShards: a second is not handed on while a loop may add
// to it.
func TestSecondsWaitForAllShards(t *testing.T) {
	seconds := make(chan int, 10)
	c := load.NewCollector(2, 1, func(s load.Second) { seconds <- int(s.Total().Due)*100 + s.Index })
	c.Shard(0).Due(0, 0)
	c.Shard(0).Drop(0, 0)
	c.Shard(0).Flush(3 * time.Second)
	c.Shard(1).Due(0, time.Millisecond)
	c.Shard(1).Drop(0, time.Millisecond)
	c.Shard(1).Flush(time.Second) // now second 0 is complete, and no other
	if got := <-seconds; got != 200 {
		t.Errorf("first handed on: %d, want second 0 with 2 operations", got)
	}
	c.Shard(1).Due(0, time.Second)
	c.Shard(1).Drop(0, time.Second)
	c.Shard(1).Close()
	if got := <-seconds; got != 101 {
		t.Errorf("then handed on: %d, want second 1 with 1 operation", got)
	}
	c.Shard(0).Close()
	c.Wait()
}

// TestLateEndsAreNotLost: what ends after its second was handed on, against the
// rules, is counted in the first that is open.
func TestLateEndsAreNotLost(t *testing.T) {
	var got collected
	c := load.NewCollector(1, 1, got.each)
	s := c.Shard(0)
	s.Due(0, 0)
	s.Flush(2 * time.Second)
	s.Sent(0, 0, 0, 0)
	s.OK(0, 0, 0, 2500*time.Millisecond)
	s.Close()
	c.Wait()
	if x := got.seconds[2]; len(got.seconds) != 3 || x.Counts[0].OK != 1 || x.Replies != 1 {
		t.Errorf("second 2 is %+v, want the operation", x.Counts[0])
	}
}

// TestMemoryIsUsedAgain: however long a run is, its seconds live in the same
// few places.
func TestMemoryIsUsedAgain(t *testing.T) {
	const shards, seconds = 2, 500
	places := map[*hdr.Histogram]bool{}
	handed := make(chan bool)
	c := load.NewCollector(shards, 1, func(s load.Second) {
		places[s.Lag] = true
		if s.Lag.TotalCount() != shards || s.Total().Due != shards {
			t.Errorf("second %d: %d operations, want %d", s.Index, s.Total().Due, shards)
		}
		handed <- true
	})
	for i := range seconds {
		at := time.Duration(i) * time.Second
		for k := range shards {
			c.Shard(k).Due(0, at)
			c.Shard(k).Sent(0, at, at, at)
			c.Shard(k).OK(0, at, at, at)
			c.Shard(k).Flush(at + time.Second)
		}
		<-handed
	}
	go func() {
		<-handed // the second that began with the last Flush
	}()
	for k := range shards {
		c.Shard(k).Due(0, seconds*time.Second)
		c.Shard(k).Sent(0, seconds*time.Second, 0, seconds*time.Second)
		c.Shard(k).Unfinish(0, seconds*time.Second)
		c.Shard(k).Close()
	}
	c.Wait()
	if len(places) > 4*shards {
		t.Errorf("%d seconds lived in %d places, want at most %d", seconds, len(places), 4*shards)
	}
}

// TestLongAndNegativeTimes are clamped, not lost.
func TestLongAndNegativeTimes(t *testing.T) {
	var latency, lag *hdr.Histogram
	c := load.NewCollector(1, 1, func(s load.Second) {
		latency, lag = s.Ops[0].Latency.Clone(), s.Lag.Clone()
	})
	s := c.Shard(0)
	const long = 2 * load.Longest
	s.Due(0, -long)
	s.Sent(0, -long, -long, -long-time.Millisecond)
	s.OK(0, -long, -long, 0)
	s.Close()
	c.Wait()
	if latency.TotalCount() != 1 || !latency.ValuesAreEquivalent(latency.Max(), int64(load.Longest)) {
		t.Errorf("%d latencies, the longest %v; want 1 of %v", latency.TotalCount(), time.Duration(latency.Max()), load.Longest)
	}
	if lag.TotalCount() != 1 || lag.Min() != 0 {
		t.Errorf("%d lags of %v, want 1 of 0", lag.TotalCount(), time.Duration(lag.Min()))
	}
}

// TestNoGarbage: a loop that records allocates nothing.
func TestNoGarbage(t *testing.T) {
	c := load.NewCollector(1, 2, func(load.Second) {})
	s := c.Shard(0)
	allocs := testing.AllocsPerRun(1000, func() {
		s.Due(1, 0)
		s.Sent(1, 0, 0, 100)
		s.OK(1, 0, 100, 10_000)
		s.Read(0, 30_000)
		s.Bytes(100, 1, 1)
		s.Flush(0)
	})
	if allocs != 0 {
		t.Errorf("%v allocations an operation, want 0", allocs)
	}
	s.Close()
	c.Wait()
}

func BenchmarkShard(b *testing.B) {
	c := load.NewCollector(1, 1, func(load.Second) {})
	s := c.Shard(0)
	b.ReportAllocs()
	for b.Loop() {
		s.Due(0, 0)
		s.Sent(0, 0, 0, 20_000)
		s.OK(0, 0, 20_000, 120_000)
	}
	s.Close()
	c.Wait()
}

// BenchmarkMerge is what a second costs the collector for each shard beyond
// the first.
func BenchmarkMerge(b *testing.B) {
	handed := make(chan bool)
	c := load.NewCollector(2, 1, func(load.Second) { handed <- true })
	b.ReportAllocs()
	i := 0
	for ; b.Loop(); i++ {
		at := time.Duration(i) * time.Second
		for k := range 2 {
			for x := range 200 {
				c.Shard(k).Due(0, at)
				c.Shard(k).Sent(0, at, at, at+time.Duration(x*x*1000))
				c.Shard(k).OK(0, at, at, at+time.Duration(x*x*10_000))
			}
			c.Shard(k).Flush(at + time.Second)
		}
		<-handed
	}
	go func() { <-handed }()
	c.Shard(0).Close()
	c.Shard(1).Close()
	c.Wait()
}
