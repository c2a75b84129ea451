package tiers

import (
	"fmt"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// doubts collects what could not be read.
type doubts struct {
	mu           sync.Mutex
	began, ended time.Time
	sources      []*doubtful    // that failed, in the order of their first failure
	readings     map[string]int // by source
	at           []time.Time    // of failures; the later ones are only counted
	total        int
}

// doubtful is a source that failed.
type doubtful struct {
	name   string
	failed int
	first  error
	at     time.Time
}

// maxPoints is how many failures have a time.
const maxPoints = 10_000

func (d *doubts) begin(at time.Time) {
	d.began, d.readings = at, map[string]int{}
}

// end is called when all readings have ended.
func (d *doubts) end(at time.Time) { d.ended = at }

// read counts a reading of a source, whether it fails or not.
func (d *doubts) read(source string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.readings[source]++
}

// failed takes what went wrong with a reading, or with preparing it.
func (d *doubts) failed(source string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.total++; len(d.at) < maxPoints {
		d.at = append(d.at, now)
	}
	for _, s := range d.sources {
		if s.name == source {
			s.failed++
			return
		}
	}
	d.sources = append(d.sources, &doubtful{name: source, failed: 1, first: err, at: now})
}

// series is the number of failures so far, at the beginning, at each failure and
// at the end.
func (d *doubts) series(started time.Time) model.HostSeries {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := model.HostSeries{Metric: "probe_failed", Unit: "1", Counter: true}
	put := func(at time.Time, n int) {
		s.Offsets, s.Values = append(s.Offsets, at.Sub(started).Nanoseconds()), append(s.Values, float64(n))
	}
	put(d.began, 0)
	for i, at := range d.at {
		put(at, i+1)
	}
	put(d.ended, d.total)
	return s
}

func (d *doubts) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, s := range d.sources {
		if n := d.readings[s.name]; n > 0 {
			list = append(list, fmt.Sprintf("%s: %d of %d readings failed, the first after %.1f s: %v", s.name, s.failed, n, s.at.Sub(d.began).Seconds(), s.first))
		} else {
			list = append(list, fmt.Sprintf("%s: %v", s.name, s.first))
		}
	}
	return list
}
