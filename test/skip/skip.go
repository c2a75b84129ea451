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

// IfShort skips a test in runs with -short, which those with the race detector have:
// arithmetic on one goroutine, or programs by the hundred of which the output is read. There
// is nothing for the detector to find, and it would take a minute.
func IfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs without -short only, which the race detector has")
	}
}
