package tiers

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNeverPrepared: what cannot be prepared fails as long as the rest is read, and many
// failures at once take one point.
func TestNeverPrepared(t *testing.T) {
	began := time.Now()
	d := &doubts{began: began, ended: began.Add(20 * time.Second)}
	d.failed("never", errors.New("it is not there"))
	d.failed("at first", errors.New("not yet"))
	d.read("at first")
	d.again()
	if d.total != 3 {
		t.Errorf("%d failures, want a second of what was never read alone", d.total)
	}
	d.at = nil
	for _, at := range []time.Duration{0, 500 * time.Millisecond, time.Second, 10 * time.Second} {
		d.count(began.Add(at))
	}
	s := d.series(began)
	if diff := cmp.Diff([]float64{0, 5, 6, 7, 7}, s.Values); diff != "" || s.Offsets[3] != (10*time.Second).Nanoseconds() {
		t.Errorf("series %v at %v (-want +got):\n%s", s.Values, s.Offsets, diff)
	}
}
