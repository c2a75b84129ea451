package objectstore

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// published collects what a ledger says.
type published struct{ readings []reading }

func (p *published) add(after time.Duration, bytes int64) {
	p.readings = append(p.readings, reading{after, bytes})
}

// TestLedger follows two transfers. One fails at its end: none of its bytes may
// ever be published, and those of the other at the times at which they moved.
func TestLedger(t *testing.T) {
	var got published
	l := newLedger(got.add)
	l.read(0)
	good, bad := l.begin(100), l.begin(100)
	good.moved.Add(30)
	bad.moved.Add(60)
	l.read(1)
	good.moved.Add(40)
	bad.moved.Add(40)
	l.read(2)
	if diff := cmp.Diff([]reading{{0, 0}}, got.readings, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("before the transfers ended (-want +got):\n%s", diff)
	}
	l.end(bad, false)
	good.moved.Add(30)
	l.end(good, true)
	l.read(3)
	want := []reading{{0, 0}, {1, 30}, {2, 70}, {3, 100}}
	if diff := cmp.Diff(want, got.readings, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// TestLedgerQueue checks that what the kernel still holds does not count.
func TestLedgerQueue(t *testing.T) {
	var got published
	l := newLedger(got.add)
	tr, queued := l.begin(100), int64(0)
	queue := func() int64 { return queued }
	tr.queue.Store(&queue)
	for i, step := range []struct{ moved, queued int64 }{{80, 80}, {0, 30}, {20, 50}, {0, 120}, {0, 0}} {
		tr.moved.Add(step.moved)
		queued = step.queued
		l.read(time.Duration(i))
	}
	l.end(tr, true)
	l.read(5)
	want := []reading{{0, 0}, {1, 50}, {2, 50}, {3, 50}, {4, 100}, {5, 100}}
	if diff := cmp.Diff(want, got.readings, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// TestLedgerProperties plays random transfers. Whatever happens, the series
// never goes down, never is above the bytes of transfers that succeed, and ends
// at exactly the completed bytes; every reading is published once, in order.
func TestLedgerProperties(t *testing.T) {
	for seed := range uint64(300) {
		lot := rand.New(rand.NewPCG(seed, 1))
		var got published
		l := newLedger(got.add)
		var active []*transfer
		var completed, clock int64
		for range 200 {
			switch lot.IntN(4) {
			case 0:
				active = append(active, l.begin(lot.Int64N(1000)))
			case 1:
				for _, tr := range active {
					tr.moved.Add(lot.Int64N(max(1, tr.size-tr.moved.Load()+1)))
				}
			case 2:
				if len(active) > 0 {
					i, ok := lot.IntN(len(active)), lot.IntN(3) > 0
					l.end(active[i], ok)
					if ok {
						completed += active[i].size
					}
					active = append(active[:i], active[i+1:]...)
				}
			case 3:
				clock++
				l.read(time.Duration(clock))
			}
		}
		for _, tr := range active {
			l.end(tr, false)
		}
		l.read(time.Duration(clock + 1))
		checkPublished(t, seed, got.readings, int(clock)+1, completed)
	}
}

func checkPublished(t *testing.T, seed uint64, got []reading, n int, completed int64) {
	t.Helper()
	if len(got) != n || got[n-1].bytes != completed {
		t.Fatalf("seed %d: %d readings ending at %v, want %d ending at %d", seed, len(got), got[len(got)-1], n, completed)
	}
	for i, r := range got {
		if r.after != time.Duration(i+1) || i > 0 && r.bytes < got[i-1].bytes || r.bytes < 0 {
			t.Fatalf("seed %d: reading %d is %v after %v", seed, i, r, got[max(0, i-1)])
		}
	}
}

// TestLedgerEvenly counts an operation in the readings that it spans with the
// share of its time before them.
func TestLedgerEvenly(t *testing.T) {
	var got published
	l := newLedger(got.add)
	l.read(0)
	good, bad := l.begin(1000), l.begin(1000)
	for i := 1; i <= 4; i++ {
		l.read(time.Duration(10 * i))
	}
	l.endEvenly(bad, 2, 38, false)
	l.endEvenly(good, 5, 45, true)
	l.read(50)
	want := []reading{{0, 0}, {10, 125}, {20, 375}, {30, 625}, {40, 875}, {50, 1000}}
	if diff := cmp.Diff(want, got.readings, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

func TestShareBefore(t *testing.T) {
	tests := []struct {
		name                 string
		moment, begun, ended time.Duration
		want                 float64
	}{
		{"before", 10, 5, 9, 1},
		{"across", 10, 8, 16, 0.25},
		{"after", 10, 11, 12, 0},
		{"at its beginning", 10, 10, 12, 0},
	}
	for _, tt := range tests {
		if got := shareBefore(tt.moment, tt.begun, tt.ended); got != tt.want {
			t.Errorf("%s: shareBefore(%d, %d, %d) = %v, want %v", tt.name, tt.moment, tt.begun, tt.ended, got, tt.want)
		}
	}
}
