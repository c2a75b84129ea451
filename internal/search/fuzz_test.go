package search_test

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/search"
)

// FuzzObserve lets a search meet any windows at all, a bit each: it never
// panics, always ends, and what it reports is what was tried.
func FuzzObserve(f *testing.F) {
	f.Add([]byte{0xff, 0x0f}, .025, 1., 1e6, false)
	f.Add([]byte{0x00}, .001, 100., 100., false)
	f.Add([]byte{0x55, 0xaa, 0x55}, .5, 1e-3, 1e9, true)
	f.Add([]byte{}, .1, 50., 101., false)
	f.Fuzz(func(t *testing.T, outcomes []byte, resolution, low, high float64, paper bool) {
		if resolution == 0 {
			resolution = .05
		}
		o := search.Options{Start: 100, Min: low, Max: high, Resolution: resolution}
		if paper {
			o.Algorithm = search.Paper
		}
		s, err := search.New(o)
		if err != nil {
			return
		}
		n := 0
		for load, _, ok := s.Next(); ok; load, _, ok = s.Next() {
			if !(load > 0 && load <= max(high, o.Start*(1<<24))) || n >= 40 {
				t.Fatalf("window %d at load %v", n+1, load)
			}
			if again, _, _ := s.Next(); again != load {
				t.Fatalf("Next() = %v, then %v", load, again)
			}
			s.Observe(bit(outcomes, n))
			n++
			checkResult(t, o, s.Result(), n)
		}
		s.Observe(true) // of no consequence
		checkResult(t, o, s.Result(), n)
	})
}

// bit is the i-th bit of data that repeat.
func bit(data []byte, i int) bool {
	if len(data) == 0 {
		return false
	}
	return data[i/8%len(data)]>>(i%8)&1 == 1
}

// checkResult checks what any result must be after n windows.
func checkResult(t *testing.T, o search.Options, r search.Result, n int) {
	t.Helper()
	if len(r.Trials) != n {
		t.Fatalf("%d trials after %d windows", len(r.Trials), n)
	}
	passes, fails := map[float64]int{}, map[float64]int{}
	for _, trial := range r.Trials {
		if trial.Passed {
			passes[trial.Load]++
		} else {
			fails[trial.Load]++
		}
	}
	known, failed := !math.IsNaN(r.Passed), !math.IsNaN(r.Failed)
	if known && passes[r.Passed] == 0 || failed && fails[r.Failed] == 0 {
		t.Fatalf("passed %v, failed %v: never so tried in %+v", r.Passed, r.Failed, r.Trials)
	}
	if known && failed && r.Passed >= r.Failed {
		t.Fatalf("passed %v is not below failed %v", r.Passed, r.Failed)
	}
	if !math.IsNaN(r.Low) && !(r.Low < r.High) || r.Estimate < r.Low || r.Estimate > r.High {
		t.Fatalf("estimate %v in [%v, %v]", r.Estimate, r.Low, r.High)
	}
	if !r.Confirmed {
		return
	}
	if !r.Floored && (passes[r.Passed] < 2 || passes[r.Passed] <= fails[r.Passed]) {
		t.Fatalf("confirmed %v, which passed %d times and failed %d", r.Passed, passes[r.Passed], fails[r.Passed])
	}
	if !r.Capped && (fails[r.Failed] < 2 || fails[r.Failed] <= passes[r.Failed]) {
		t.Fatalf("confirmed %v, which failed %d times and passed %d", r.Failed, fails[r.Failed], passes[r.Failed])
	}
	if !r.Capped && !r.Floored && r.Failed > r.Passed*(1+o.Resolution) {
		t.Fatalf("confirmed %v and %v, too far apart", r.Passed, r.Failed)
	}
}
