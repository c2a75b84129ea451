package recording

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// scripted is a source that counts its readings, may lack a value, and may
// take long.
type scripted struct {
	n      int
	lacks  map[int]bool
	takes  map[int]time.Duration
	closed int
	limit  int
	atEnd  bool
}

func (s *scripted) Read(out func(string, float64)) {
	if d := s.takes[s.n]; d > 0 {
		<-time.After(d)
	}
	out("sched.forks", float64(1000+10*s.n))
	if !s.lacks[s.n] {
		out("sched.running", float64(s.n))
	}
	s.n++
}

func (s *scripted) Close() { s.closed++ }

// record starts a recording of a scripted source, and of nothing else.
func record(t *testing.T, ctx context.Context, s *scripted) *Recording { //nolint:revive // as testing's own helpers
	t.Helper()
	return Start(ctx, Config{Step: time.Second, Sources: []Source{s}, Metric: metric, Limit: s.limit, AtEnd: s.atEnd})
}

// metric: all but two are counters.
func metric(name string) Metric {
	return Metric{Name: name, Unit: "1", Counter: name != "sched.running" && name != "memory.free"}
}

// offsets returns those of a metric in ms, and its values.
func offsets(t *testing.T, list []model.HostSeries, metric string) (ms []int64, values []float64) {
	t.Helper()
	for _, s := range list {
		if s.Metric != metric {
			continue
		}
		for _, o := range s.Offsets {
			ms = append(ms, o/1e6)
		}
		return ms, s.Values
	}
	t.Fatalf("no series %s", metric)
	return nil, nil
}

func wantPoints(t *testing.T, r *Recording, started time.Time, metric string, ms []int64, values []float64) {
	t.Helper()
	gotMS, gotValues := offsets(t, r.Series(started), metric)
	if d := cmp.Diff(ms, gotMS); d != "" {
		t.Errorf("times of %s in ms (-want +got):\n%s", metric, d)
	}
	if d := cmp.Diff(values, gotValues); d != "" {
		t.Errorf("values of %s (-want +got):\n%s", metric, d)
	}
}

// TestSchedule: a reading at the start, one each second, one at the end;
// offsets count from the task's start.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{lacks: map[int]bool{2: true}}
		r := record(t, t.Context(), s)
		started := time.Now().Add(250 * time.Millisecond)
		<-time.After(3700 * time.Millisecond)
		r.Stop()
		r.Stop()
		wantPoints(t, r, started, "sched.forks", []int64{-250, 750, 1750, 2750, 3450}, []float64{0, 10, 20, 30, 40})
		wantPoints(t, r, started, "sched.running", []int64{-250, 750, 2750, 3450}, []float64{0, 1, 3, 4})
		if s.closed != 1 {
			t.Errorf("the source was closed %d times, want once", s.closed)
		}
	})
}

// growing tells of a second counter from its third reading on, and of a third one then;
// at every other reading of a sum, and from the third on of a part of it.
type growing struct{ n int }

func (g *growing) Read(out func(string, float64)) {
	out("all", float64(100+10*g.n))
	if g.n >= 2 {
		out("late", float64(4*g.n))
		out("other", float64(4*g.n))
	}
	if g.n%2 == 0 {
		out("sum", float64(g.n))
		if g.n >= 2 {
			out("sum[part]", float64(g.n))
		}
	}
	g.n++
}

func (*growing) Close() {}

// TestLate: a counter that is told when it is no longer 0 was 0 at the reading before;
// another one begins where it is. A part was 0 when the sum of all was told before.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Start(t.Context(), Config{Step: time.Second, Sources: []Source{&growing{}}, Metric: func(name string) Metric {
			return Metric{Name: name, Counter: true, Late: name == "late" || name == "sum[part]"}
		}})
		started := time.Now()
		<-time.After(2500 * time.Millisecond)
		r.Stop()
		wantPoints(t, r, started, "late", []int64{1000, 2000, 2500}, []float64{0, 8, 12})
		wantPoints(t, r, started, "other", []int64{2000, 2500}, []float64{0, 4})
		wantPoints(t, r, started, "sum[part]", []int64{0, 2000}, []float64{0, 2})
		at := Start(t.Context(), Config{Step: time.Second, Sources: []Source{&growing{n: 2}}, Metric: func(name string) Metric {
			return Metric{Name: name, Counter: true, Late: true}
		}})
		started = time.Now()
		<-time.After(500 * time.Millisecond)
		at.Stop()
		wantPoints(t, at, started, "late", []int64{0, 500}, []float64{0, 4})
	})
}

// TestLastReplaces: the end comes 100 ms after a reading, which it replaces.
func TestLastReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, t.Context(), &scripted{})
		started := time.Now()
		<-time.After(2100 * time.Millisecond)
		r.Stop()
		wantPoints(t, r, started, "sched.forks", []int64{0, 1000, 2100}, []float64{0, 10, 30})
	})
}

// TestShort: the first and the last reading stay, however close.
func TestShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, t.Context(), &scripted{})
		started := time.Now()
		<-time.After(20 * time.Millisecond)
		r.Stop()
		wantPoints(t, r, started, "sched.forks", []int64{0, 20}, []float64{0, 10})
	})
}

// TestStall: a reading that takes long stands at its middle; those it covers
// are missing, and the schedule stays.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, t.Context(), &scripted{takes: map[int]time.Duration{2: 2600 * time.Millisecond}})
		started := time.Now()
		<-time.After(6500 * time.Millisecond)
		r.Stop()
		// The third begins at 2 s and ends at 4.6 s; 5 s is too close after it.
		wantPoints(t, r, started, "sched.forks", []int64{0, 1000, 3300, 6000, 6500}, []float64{0, 10, 20, 30, 40})
	})
}

// TestAtEnd: of a source that waits for an answer the time is that of the answer.
func TestAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, t.Context(), &scripted{atEnd: true, takes: map[int]time.Duration{1: 400 * time.Millisecond}})
		started := time.Now()
		<-time.After(2500 * time.Millisecond)
		r.Stop()
		wantPoints(t, r, started, "sched.forks", []int64{0, 1400, 2000, 2500}, []float64{0, 10, 20, 30})
	})
}

// TestContextEnds: no reading after it, but the one that Stop takes.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := record(t, ctx, &scripted{})
		started := time.Now()
		<-time.After(1500 * time.Millisecond)
		cancel()
		<-time.After(3 * time.Second)
		r.Stop()
		wantPoints(t, r, started, "sched.forks", []int64{0, 1000, 4500}, []float64{0, 10, 20})
	})
}

// TestThinning: memory is bounded; whole hours are kept at a coarser step, and
// the last reading is there.
func TestThinning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := record(t, t.Context(), &scripted{limit: 16})
		started := time.Now()
		<-time.After(101 * time.Second)
		r.Stop()
		ms, values := offsets(t, r.Series(started), "sched.forks")
		if len(ms) > 17 || ms[0] != 0 || ms[len(ms)-1] != 101_000 {
			t.Errorf("%d points from %d to %d ms, want at most 17 from 0 to 101000: %v", len(ms), ms[0], ms[len(ms)-1], ms)
		}
		for i := 1; i < len(ms)-1; i++ {
			if ms[i]-ms[i-1] != 8000 {
				t.Errorf("points at %d and %d ms, want them 8 s apart", ms[i-1], ms[i])
			}
			if values[i] <= values[i-1] {
				t.Errorf("the counter goes from %v to %v", values[i-1], values[i])
			}
		}
	})
}

// TestRecent: of a recording without an end the latest rows stay, at the same step, and
// counters count from the first of all. Each reading is told of once.
func TestRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		r := Start(t.Context(), Config{Step: time.Second, Sources: []Source{&scripted{}}, Metric: metric, Recent: 4,
			Limit: 16, After: func(r *Recording) {
				told++
				if n := len(r.Series(time.Time{})[0].Values); n != min(told+1, 4) {
					t.Errorf("%d rows after %d readings", n, told)
				}
			}})
		started := time.Now()
		<-time.After(20_000*time.Second + time.Millisecond)
		wantPoints(t, r, started, "sched.forks", []int64{19_997_000, 19_998_000, 19_999_000, 20_000_000},
			[]float64{199_970, 199_980, 199_990, 200_000})
		if rows, values := cap(r.table.at), cap(r.table.columns[0].values); rows > 16 || values > 16 || told != 20_000 {
			t.Errorf("room for %d rows and %d values after %d readings, want a few and 20000", rows, values, told)
		}
		r.Stop()
	})
}

// TestTable: whatever comes in, columns are what model.HostSeries promises.
func TestTable(t *testing.T) {
	s := &table{metric: metric, index: map[string]int{}}
	nan := math.NaN()
	rows := []map[string]float64{
		{"cpu.iowait": 7, "memory.free": 5},
		{"cpu.iowait": 9, "memory.free": 3, "disk.sda.reads": 100},
		{"cpu.iowait": 8.5, "disk.sda.reads": 104},
		{"cpu.iowait": 9.5, "memory.free": 4},
	}
	for i, row := range rows {
		s.begin(int64(i))
		for name, v := range row {
			s.put(name, v)
		}
		s.end(time.Duration(i) * time.Second)
	}
	want := map[string][]float64{"cpu.iowait": {0, 2, 2, 2.5}, "memory.free": {5, 3, nan, 4}, "disk.sda.reads": {nan, 0, 4, nan}}
	list := s.series(-time.Second)
	if len(list) != len(want) {
		t.Errorf("%d series, want %d", len(list), len(want))
	}
	for _, x := range list {
		var offsets []int64
		var values []float64
		for i, v := range want[x.Metric] {
			if !math.IsNaN(v) {
				offsets, values = append(offsets, int64(i-1)*1e9), append(values, v)
			}
		}
		if d := cmp.Diff(offsets, x.Offsets) + cmp.Diff(values, x.Values); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.Metric, d)
		}
		if counter := x.Metric != "memory.free"; x.Counter != counter || x.Unit == "" {
			t.Errorf("%s: counter %v, unit %q, want counter %v and a unit", x.Metric, x.Counter, x.Unit, counter)
		}
	}
}
