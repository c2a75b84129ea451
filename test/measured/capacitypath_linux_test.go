package measured_test

import (
	"testing"

	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/skip"
)

// TestLabPath: behind a link of 20 Mbit/s, the path is at its limit and not the
// server, whatever answers then take. No capacity is reported, and the figures
// show the link.
func TestLabPath(t *testing.T) {
	skip.UnlessLong(t)
	program.CheckLabPath(t, "duration: 1s, warm_up: 0s, start: 150op/s, resolution: 0.1, windows: 8")
}
