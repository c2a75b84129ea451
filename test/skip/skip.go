// Package skip says which of a package's tests `make test` and the race detector leave out,
// in the test itself.
package skip

import (
	"os"
	"testing"
)

// UnlessLong skips a test that `make test` has no time for: a measurement that others of its kind
// stand for there, or a table of error rates. `make test-long` runs it.
func UnlessLong(t testing.TB) {
	t.Helper()
	if os.Getenv("LONG") == "" {
		t.Skip("long; make test-long runs it")
	}
}

// WithRace skips a test in runs with the race detector, which have -short: arithmetic on one
// goroutine, or programs by the hundred of which the output is read. There is nothing for the
// detector to find, and it would take a minute.
func WithRace(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("no goroutines; not raced")
	}
}
