package load

import (
	"fmt"
	"math"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

// Seconds are the scored seconds of a window, by column: entry i of every
// column is about the same second. The generator fills it, the store keeps it
// as series, and charts draw its columns.
type Seconds struct {
	// Index counts the seconds from 0, the start of the run; ascending.
	Index []int
	// Due and OK count operations of all kinds that were due in that second;
	// Replies those that ended well in it, whenever they were due.
	Due, OK, Replies []int64
	// P50 and P90 are the latencies, in seconds, within which these shares of
	// what was due in that second were answered; NaN where fewer were. They
	// are known once the generators of a window are added up, for percentiles
	// of several cannot be.
	P50, P90 []float64
	// Latencies are those of one generator: histograms by kind of operation,
	// in ns, of what was due in that second and ended OK; empty where there is
	// none. They are encoded as package histogram does it: one takes 200 KB of
	// memory otherwise, and a run may have hours of seconds.
	Latencies [][]string
}

// Len is how many seconds there are.
func (s Seconds) Len() int { return len(s.Index) }

// at finds or adds a second of a window with so many kinds of operations.
func (s *Seconds) at(index, ops int) int {
	i, found := slices.BinarySearch(s.Index, index)
	if !found {
		s.Index = slices.Insert(s.Index, i, index)
		s.Due, s.OK, s.Replies = slices.Insert(s.Due, i, 0), slices.Insert(s.OK, i, 0), slices.Insert(s.Replies, i, 0)
		s.Latencies = slices.Insert(s.Latencies, i, make([]string, ops))
	}
	return i
}

// add takes the next second of a run.
func (s *Seconds) add(x Second) {
	i := s.at(x.Index, len(x.Ops))
	s.Replies[i] = x.Replies
	for k, o := range x.Ops {
		s.Due[i] += o.Due
		s.OK[i] += o.OK
		if o.OK > 0 {
			s.Latencies[i][k] = histogram.Encode(o.Latency)
		}
	}
}

// sumOfSeconds adds up the seconds of several generators, count by count, and
// takes the percentiles of the sums.
func sumOfSeconds(parts []Seconds) (sum Seconds, err error) {
	for _, p := range parts {
		for _, index := range p.Index {
			sum.at(index, 0)
		}
	}
	next := make([]int, len(parts)) // of each part
	for i, index := range sum.Index {
		var latencies *hdr.Histogram
		for k, p := range parts {
			at := next[k]
			if at == p.Len() || p.Index[at] != index {
				continue
			}
			next[k]++
			sum.Due[i], sum.OK[i], sum.Replies[i] = sum.Due[i]+p.Due[at], sum.OK[i]+p.OK[at], sum.Replies[i]+p.Replies[at]
			if latencies, err = mergeEncoded(latencies, p.Latencies[at]); err != nil {
				return Seconds{}, fmt.Errorf("latencies of second %d: %w", index, err)
			}
		}
		sum.P50 = append(sum.P50, secondsOfDue(latencies, sum.Due[i], .5))
		sum.P90 = append(sum.P90, secondsOfDue(latencies, sum.Due[i], .9))
	}
	sum.Latencies = nil
	return sum, nil
}

func mergeEncoded(sum *hdr.Histogram, encoded []string) (*hdr.Histogram, error) {
	for _, text := range encoded {
		if text == "" {
			continue
		}
		h, err := histogram.Decode(text)
		if err == nil {
			sum, err = histogram.Merge(sum, h)
		}
		if err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// secondsOfDue is quantileOfDue in seconds, NaN where it is not known.
func secondsOfDue(h *hdr.Histogram, due int64, q float64) float64 {
	d, known := quantileOfDue(h, due, q)
	if !known {
		return math.NaN()
	}
	return d.Seconds()
}
