// Package histogram keeps distributions of measured values as HdrHistograms:
// constant memory, a known relative error, and merging count by count, so that
// percentiles of many nodes are those of all their operations together.
package histogram

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Digits is how many significant digits values keep: percentiles are within
// .1 % of the values they stand for.
const Digits = 3

// New makes a histogram of whole numbers from 1 to highest.
func New(highest int64) *hdr.Histogram { return hdr.New(1, highest, Digits) }

// Record counts a value. One outside of what h tracks is counted as the
// nearest that it does, so that no operation is lost.
func Record(h *hdr.Histogram, value int64) { RecordMany(h, value, 1) }

// RecordMany counts a value that was seen n times, n ≥ 0.
func RecordMany(h *hdr.Histogram, value, n int64) {
	_ = h.RecordValues(min(max(value, 0), h.HighestTrackableValue()), n) // in range
}

// Decode reads what Encode, or another HdrHistogram library, has made.
func Decode(encoded string) (*hdr.Histogram, error) {
	h, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram: %w", err)
	}
	return h, nil
}

// Merge returns the sum of two histograms, which may change a; either may be
// nil. Where a would have to drop or to round values of b, the sum is a new
// one that covers both.
func Merge(a, b *hdr.Histogram) (*hdr.Histogram, error) {
	switch {
	case b == nil:
		return a, nil
	case a == nil:
		return b, nil
	case fits(a, b):
		a.Merge(b)
		return a, nil
	}
	sum := hdr.New(min(a.LowestTrackableValue(), b.LowestTrackableValue()),
		max(a.HighestTrackableValue(), b.HighestTrackableValue()),
		int(max(a.SignificantFigures(), b.SignificantFigures())))
	if dropped := sum.Merge(a) + sum.Merge(b); dropped > 0 {
		return nil, fmt.Errorf("%d values do not fit into the sum of two histograms", dropped)
	}
	return sum, nil
}

// Add returns the sum of a histogram and an encoded one, as [Merge].
func Add(sum *hdr.Histogram, encoded string) (*hdr.Histogram, error) {
	h, err := Decode(encoded)
	if err != nil {
		return nil, err
	}
	return Merge(sum, h)
}

// Trim returns h with room for no more than its largest value; nil stays nil. A
// histogram that has room for minutes takes 200 KB, whatever is in it.
func Trim(h *hdr.Histogram) *hdr.Histogram {
	if h == nil {
		return nil
	}
	small := hdr.New(h.LowestTrackableValue(), max(h.Max(), 2*h.LowestTrackableValue()), int(h.SignificantFigures()))
	if small.ByteSize() >= h.ByteSize() || small.Merge(h) > 0 {
		return h
	}
	return small
}

// fits reports whether everything in h has a place of the same width in into.
func fits(into, h *hdr.Histogram) bool {
	return into.LowestTrackableValue() == h.LowestTrackableValue() && into.SignificantFigures() == h.SignificantFigures() &&
		into.HighestTrackableValue() >= h.HighestTrackableValue()
}
