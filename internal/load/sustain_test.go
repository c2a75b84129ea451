package load_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// warmUp is that of all windows here.
const warmUp = 2 * time.Second

// fluid is a window of a server that does capacity operations per second, one
// after another in equal times, and is offered an overload of a share x.
func fluid(x float64, scored time.Duration) load.Window {
	const capacityRate = 1000.
	rate := capacityRate * (1 + x)
	w := answered(0, 0)
	w.Load, w.Scored = rate, scored
	from, end := warmUp.Seconds(), (warmUp + scored).Seconds()
	for i := 0; float64(i)/rate < end; i++ {
		due, done := float64(i)/rate, float64(i+1)/capacityRate
		if due >= from {
			w.Counts.Due++
			w.Counts.OK++
			histogram.Record(w.Latencies, int64((done-due)*1e9))
		}
		if done >= from && done < end {
			w.Replies++
		}
	}
	return w
}

// TestUnnoticed: an overload that is a little less than what windows are said
// to miss is missed, and one that is a little more is not; and windows as long
// as Scored says notice 2 %.
func TestUnnoticed(t *testing.T) {
	for _, text := range []string{"p99=500ms", "p99=200ms", "p50=30ms", "p90=150ms,p50=100ms", "max=100ms"} {
		sla, err := load.ParseSLA(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, scored := range []time.Duration{3 * time.Second, 10 * time.Second, 20 * time.Second, sla.Scored(warmUp)} {
			x := sla.Unnoticed(warmUp, scored)
			if less := fluid(.95*x, scored); x < .1 && len(sla.Judge(less)) > 0 {
				t.Errorf("%s, %v: an overload of %.2f %% is noticed: %v", text, scored, 95*x, sla.Judge(less))
			}
			if more := fluid(1.1*x+.002, scored); len(sla.Judge(more)) == 0 {
				t.Errorf("%s, %v: an overload of %.2f %% is not noticed", text, scored, 110*x+.2)
			}
		}
		if x := sla.Unnoticed(warmUp, sla.Scored(warmUp)); x > .02 {
			t.Errorf("%s: windows of %v do not notice %.2f %%", text, sla.Scored(warmUp), 100*x)
		}
	}
}

// TestScored has lengths by arithmetic.
func TestScored(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"p90=150ms":        10 * time.Second, // 50 x 0.15 s - 2 s is less
		"p99=500ms":        24 * time.Second, // (50 x 0.5 - 2) / 0.99 = 23.2 s
		"max=2s":           98 * time.Second,
		"p99=2s,p50=100ms": 10 * time.Second, // the median alone tells
	} {
		sla, err := load.ParseSLA(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := sla.Scored(warmUp); got != want {
			t.Errorf("%s: windows of %v, want %v", text, got, want)
		}
	}
	sla := load.SLA{Terms: []load.Term{{Quantile: .9, Latency: 150 * time.Millisecond}}}
	if got := sla.Unnoticed(time.Second, 2*time.Second); math.Abs(got-.15/2.8) > 1e-9 {
		t.Errorf("unnoticed after 1 s in 2 s: %v, want 0.15 / 2.8", got)
	}
}

// TestFallsBehind: a server that answers everything, but not while it is asked,
// has not passed, however late its answers may be.
func TestFallsBehind(t *testing.T) {
	sla, err := load.ParseSLA("p90=5s")
	if err != nil {
		t.Fatal(err)
	}
	if misses := sla.Judge(fluid(.1, 10*time.Second)); len(misses) != 1 || !strings.Contains(misses[0].Text, "fell behind") {
		t.Errorf("10 %% more than it can do for 10 s: %v, want that it fell behind", misses)
	}
	if misses := sla.Judge(fluid(-.1, 10*time.Second)); len(misses) > 0 {
		t.Errorf("10 %% less than it can do: %v", misses)
	}
	w := answered(20, 20, time.Second)
	if w.Replies = 12; len(sla.Judge(w)) > 0 { // 8 more under way at the end
		t.Errorf("a few operations more under way: %v", sla.Judge(w))
	}
}
