package workload_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// TestPublishUntil: there is progress several times a second, and the last
// reading is of the end.
func TestPublishUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, done := time.Now(), make(chan struct{})
		time.AfterFunc(450*time.Millisecond, func() { close(done) })
		r := &workloadtest.Record{T: t, Start: begin}
		workload.PublishUntil(done, r, "m", "op", func() float64 { return time.Since(begin).Seconds() })
		want := map[string][]workloadtest.Reading{"m": {
			{After: 200 * time.Millisecond, Value: .2}, {After: 400 * time.Millisecond, Value: .4}, {After: 450 * time.Millisecond, Value: .45},
		}}
		if diff := cmp.Diff(want, r.Readings); diff != "" || r.Units["m"] != "op" {
			t.Errorf("progress in %s (-want +got):\n%s", r.Units["m"], diff)
		}
	})
}
