package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Benchmark measures PutResult with one caller, and with many at once as after
// a parallel step. A result has 4 samples and 2 series of 60 points, and as
// "monitored" 60 series of the node's metrics, too.
func Benchmark(b *testing.B, open func(*testing.B) store.Store) {
	for name, metrics := range map[string]int{"bare": 0, "monitored": 60} {
		b.Run(name, func(b *testing.B) { benchmark(b, open, metrics) })
	}
}

func benchmark(b *testing.B, open func(*testing.B) store.Store, metrics int) {
	b.Run("alone", func(b *testing.B) {
		s, results := prepare(b, open, metrics)
		for _, r := range results {
			benchPut(b, s, r)
		}
	})
	for _, callers := range []int{16, 500} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, results := prepare(b, open, metrics)
			var next atomic.Int64
			b.SetParallelism(callers) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					benchPut(b, s, results[next.Add(1)-1])
				}
			})
		})
	}
}

// prepare stores a run with a task for every iteration.
func prepare(b *testing.B, open func(*testing.B) store.Store, metrics int) (store.Store, []model.Result) {
	b.Helper()
	s := open(b)
	const nodes = 100
	f := New(1, nodes, b.N/nodes+1)
	if err := f.Start(context.Background(), s); err != nil {
		b.Fatal(err)
	}
	results := f.Results()[:b.N]
	for i := range results {
		results[i].Host, results[i].Histograms = monitored(metrics, 60), nil
	}
	b.ResetTimer()
	return s, results
}

func benchPut(b *testing.B, s store.Store, r model.Result) {
	if stored, err := s.PutResult(context.Background(), r); !stored || err != nil {
		b.Errorf("PutResult = %v, %v, want true", stored, err)
	}
}

// monitored are metrics of a node as a task of so many seconds has them: two
// in three are counters, and every other counter has decimals.
func monitored(metrics, points int) []model.HostSeries {
	list := make([]model.HostSeries, metrics)
	for i := range list {
		x := series(fmt.Sprintf("metric%d", i), "1", points, float64(i)+float64(i%2)/7)
		// Readings of a node share their times.
		list[i] = model.HostSeries{Metric: x.Metric, Unit: x.Unit, Counter: i%3 > 0, Offsets: x.Offsets, Values: x.Values}
	}
	return list
}

// readNodes is how many nodes the run has that the benchmarks read.
const readNodes = 4000

// BenchmarkRead measures reading a run of 4,000 nodes with the results of the
// case "monitored": 60 metrics of the node at 60 points each. size returns how
// many bytes the store takes.
func BenchmarkRead(b *testing.B, s store.Store, size func() int64) {
	ctx := context.Background()
	f := New(1, readNodes, 1)
	must(b, f.Start(ctx, s))
	before := size()
	host := monitored(60, 60)
	results := f.Results()
	for i := range results {
		results[i].Host = host
	}
	must(b, Deliver(ctx, s, results, 64, func() {}, func(model.Result) {}))
	perResult := float64(size()-before) / float64(len(results))

	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			d, err := s.Data(ctx, f.Run.ID)
			if err != nil || len(d.Results) != readNodes {
				b.Fatalf("Data: %d results, %v", len(d.Results), err)
			}
		}
		b.ReportMetric(perResult, "B/result")
	})
	b.Run("heads", func(b *testing.B) {
		for b.Loop() {
			d, err := s.Heads(ctx, f.Run.ID, 0)
			if err != nil || len(d.Results) != readNodes {
				b.Fatalf("Heads: %d results, %v", len(d.Results), err)
			}
		}
	})
	b.Run("one metric", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, err := range s.Host(ctx, f.Run.ID, store.Selection{Metrics: []string{host[30].Metric}}) {
				must(b, err)
				n++
			}
			if n != readNodes {
				b.Fatalf("Host yields %d series, want %d", n, readNodes)
			}
		}
	})
}

// yearOfHalfHours is how many repetitions the campaign of the benchmark has.
const yearOfHalfHours = 365 * 48

// BenchmarkCampaign measures what commands ask of a campaign of a year beside
// one other run: each repetition has four nodes, six steps and an experiment
// file of 6 kB, and has measured 24 numbers.
func BenchmarkCampaign(b *testing.B, s store.Store) {
	ctx := context.Background()
	c := newCampaign(1)
	c.Source = strings.Repeat("# a line of the experiment file\n", 192)
	must(b, s.PutCampaign(ctx, c))
	Started(b, s, 4, 6)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for number := worker + 1; number <= yearOfHalfHours; number += 8 {
				must(b, putRepetition(ctx, s, c, number))
			}
		})
	}
	group.Wait()
	run := func(name string, want int, count func() (int, error)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := count(); n != want || err != nil {
					b.Fatalf("%d, %v, want %d", n, err, want)
				}
			}
		})
	}
	run("runs without repetitions", 1, func() (int, error) {
		list, err := s.Runs(ctx, store.Filter{WithoutRepetitions: true, Limit: 20})
		return list.Matching, err
	})
	run("newest runs", yearOfHalfHours+1, func() (int, error) {
		list, err := s.Runs(ctx, store.Filter{Limit: 20})
		return list.Matching, err
	})
	run("latest run", yearOfHalfHours, func() (int, error) {
		run, err := s.Run(ctx, "latest")
		return run.Repetition, err
	})
	run("progress", yearOfHalfHours, func() (int, error) {
		p, err := s.Progress(ctx, c.ID)
		return p.Measured, err
	})
	run("repetitions", yearOfHalfHours, func() (int, error) {
		reps, err := s.Repetitions(ctx, c.ID, 0, 0)
		return len(reps), err
	})
	run("last repetitions", 20, func() (int, error) {
		reps, err := s.Repetitions(ctx, c.ID, yearOfHalfHours-19, 0)
		return len(reps), err
	})
	run("measured", yearOfHalfHours, func() (n int, err error) {
		for _, err := range s.Measured(ctx, c.ID) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	})
}

func putRepetition(ctx context.Context, s store.Store, c model.Campaign, number int) error {
	rep, f := repetition(c, number)
	f.Run.Source = c.Source
	for i := range 3 {
		f.Nodes = append(f.Nodes, newNode(i+1))
	}
	f.Steps = nil
	for i := range 6 {
		f.Steps = append(f.Steps, newStep(f, i))
	}
	if _, err := s.CreateRepetition(ctx, rep, f.Run, f.Nodes, f.Steps); err != nil {
		return err
	}
	if err := s.SetRunState(ctx, rep.Run, model.RunDone, "", rep.Due.Add(10*time.Minute)); err != nil {
		return err
	}
	row := `{"workload":"disk","metric":"write_rate","phase":"parallel","unit":"byte/s","better":"higher","values":[%d.25,%d.5,%d.75,%d],"times":[%d,%d,%d,%d],"facts":[{"name":"node","levels":["","n1","n2","n3","n4"],"codes":[1,2,3,4]},{"name":"zone","levels":["","a","b"],"codes":[1,1,2,2]}]}`
	var frames []string
	for i := range 6 {
		x := number*7919 + i
		frames = append(frames, fmt.Sprintf(row, x, x+1, x+2, x+3, x*1000, x*1000, x*1000, x*1000))
	}
	return s.PutMeasured(ctx, c.ID, number, []byte("["+strings.Join(frames, ",")+"]"))
}
