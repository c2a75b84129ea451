package capacity

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// lose has a share of a window's operations fail in a way.
func lose(w *load.Window, share float64, kind load.Kind) {
	n := int64(share * float64(w.Counts.Due))
	w.Counts.OK, w.Replies = w.Counts.OK-n, w.Replies-n
	w.Counts.Errors[kind] += n
	for _, h := range []**hdr.Histogram{&w.Latencies, &w.Services} {
		d := time.Duration((*h).ValueAtPercentile(50))
		(*h).Reset()
		histogram.RecordMany(*h, int64(d), w.Counts.OK)
	}
}

// TestRecordsLost: a target that loses records once has lost a window, whichever it
// is and however many are gone; the result is what it would have been, and says so.
// One that loses them again ends the search, and no capacity is reported.
func TestRecordsLost(t *testing.T) {
	const target = 730
	whole := newWorld(target).search(t, config(t), 100).Answer
	rng := rand.New(rand.NewPCG(25, 4))
	for range 30 {
		times, gone := 1+rng.IntN(2), .02+.97*rng.Float64()
		at := [2]int{rng.IntN(whole.Counted / 2), 0}
		at[1] = at[0] + 1 + rng.IntN(whole.Counted/2-1)
		w := newWorld(target)
		w.change = func(k int, w *load.Window) {
			if k == at[0] || times > 1 && k == at[1] {
				lose(w, gone, load.ErrMissing)
			}
			if k == at[0]+1 {
				w.RecordsLoaded = 1000
			}
		}
		a := w.search(t, config(t), 100).Answer
		doubt := doubtOf(a, "records_lost")
		switch {
		case doubt == nil || !strings.Contains(doubt.Text, "found no such record"):
			t.Fatalf("%d losses of %.2f at %v: doubts %v, want records_lost", times, gone, at, a.Doubts)
		case times == 1 && (a.Limit != LimitTarget || !a.Confirmed || *a.Passed != *whole.Passed || *a.Failed != *whole.Failed || doubt.Severity != model.Warning):
			t.Errorf("lost once, at %d: %v %v %v, want %v %v", at[0], a.Limit, a.Passed, a.Failed, *whole.Passed, *whole.Failed)
		case times == 2 && (a.Limit != LimitRecords || a.Estimate != nil || a.Confirmed || doubt.Severity != model.Problem || len(a.Windows) != at[1]+1):
			t.Errorf("lost at %v: %v after %d windows, estimate %v", at, a.Limit, len(a.Windows), a.Estimate)
		case times == 2:
			s := Search{Answer: a, Config: config(t)}
			if err := s.gate(0); !errors.Is(err, model.ErrInvalid) || !strings.HasPrefix(a.sentence(), "Capacity not found: the server lost records") {
				t.Errorf("gate %v, %q", err, a.sentence())
			}
		}
	}
}

// TestRecordsLostOrNot: what is not for the sake of lost records is not told as that.
func TestRecordsLostOrNot(t *testing.T) {
	window := func(share float64, kind load.Kind, also float64) load.Window {
		w := answered(1000, 1000, time.Millisecond)
		lose(&w, share, kind)
		lose(&w, also, load.ErrMissing)
		return w
	}
	for name, c := range map[string]struct {
		w    load.Window
		lost bool
	}{
		"all is gone":                         {window(0, 0, .999), true},
		"2 % are gone":                        {window(0, 0, .02), true},
		"a restart, and some are gone":        {window(.03, load.ErrClosed, .01), true},
		"few are gone, and the SLA is kept":   {window(0, 0, .009), false},
		"wrong answers":                       {window(.5, load.ErrWrong, 0), false},
		"refused, and a replica lags behind":  {window(.5, load.ErrStatus, .002), false},
		"no answer in time, and few are gone": {window(.3, load.ErrTimeout, .003), false},
	} {
		if got := recordsLost(c.w, missed(config(t).SLA, c.w)); (got != nil) != c.lost {
			t.Errorf("%s: %v, want %t", name, got, c.lost)
		}
	}
}

// TestRecordsGoneBetween: what is gone before a window that is no first one is told.
func TestRecordsGoneBetween(t *testing.T) {
	for at, told := range map[int]bool{0: false, 1: true, 5: true} {
		w := newWorld(730)
		w.change = func(k int, w *load.Window) {
			if k == at {
				w.RecordsLoaded = 40
			}
		}
		a := w.search(t, config(t), 100).Answer
		if d := doubtOf(a, "records_lost"); (d != nil) != told || a.Limit != LimitTarget || !a.Confirmed {
			t.Errorf("before window %d: %v %v", at, d, a.Limit)
		}
	}
}

func doubtOf(a Answer, code string) *model.Doubt {
	for _, d := range a.Doubts {
		if d.Code == code {
			return &d
		}
	}
	return nil
}
