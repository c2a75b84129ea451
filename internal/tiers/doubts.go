package tiers

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// doubts collects what could not be read.
type doubts struct {
	mu           sync.Mutex
	began, ended time.Time // of all readings
	sources      []*source
	at           []failures // the later ones are only counted
	total        int
}

// failures are how many there were until a second had passed since.
type failures struct {
	at    time.Time
	total int
}

// source is where readings come from.
type source struct {
	name             string
	readings, failed int
	first            error     // of its failures
	at               time.Time // of that
}

// maxPoints is how many seconds of failures have a time.
const maxPoints = 10_000

// source is the one of this name.
func (d *doubts) source(name string) *source {
	i := slices.IndexFunc(d.sources, func(s *source) bool { return s.name == name })
	if i < 0 {
		i, d.sources = len(d.sources), append(d.sources, &source{name: name})
	}
	return d.sources[i]
}

// read counts a reading of a source, whether it fails or not.
func (d *doubts) read(source string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.source(source).readings++
}

// failed takes what went wrong with a reading, or with preparing it.
func (d *doubts) failed(source string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, s := time.Now(), d.source(source)
	d.count(now)
	if s.failed++; s.failed == 1 {
		s.first, s.at = err, now
	}
}

// again counts once more what could not be prepared: it fails with each reading.
func (d *doubts) again() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sources {
		if s.readings == 0 {
			d.count(time.Now())
		}
	}
}

// count counts a failure. Those of a second have one time.
func (d *doubts) count(now time.Time) {
	d.total++
	switch n := len(d.at); {
	case n > 0 && now.Sub(d.at[n-1].at) < time.Second:
		d.at[n-1].total = d.total
	case n < maxPoints:
		d.at = append(d.at, failures{now, d.total})
	}
}

// series is the number of failures so far, at the beginning, in each second with
// failures and at the end.
func (d *doubts) series(started time.Time) model.HostSeries {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := model.HostSeries{Metric: "probe_failed", Unit: "1", Counter: true}
	put := func(at time.Time, n float64) {
		s.Offsets, s.Values = append(s.Offsets, at.Sub(started).Nanoseconds()), append(s.Values, n)
	}
	put(d.began, 0)
	for _, x := range d.at {
		put(x.at, float64(x.total))
	}
	put(d.ended, float64(d.total))
	return s
}

func (d *doubts) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortStableFunc(d.sources, func(a, b *source) int { return a.at.Compare(b.at) })
	var list []string
	for _, s := range d.sources {
		switch {
		case s.failed == 0:
		case s.readings > 0:
			list = append(list, fmt.Sprintf("%s: %d of %d readings failed, the first after %.1f s: %v", s.name, s.failed,
				s.readings, s.at.Sub(d.began).Seconds(), s.first))
		default:
			list = append(list, fmt.Sprintf("%s: %v", s.name, s.first))
		}
	}
	return list
}
