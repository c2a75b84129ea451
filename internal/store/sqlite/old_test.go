package sqlite_test

import (
	_ "embed"
	"path/filepath"
	"testing"

	"github.com/scalebench/scalebench/test/storetest"
)

//go:embed testdata/version1.sql
var version1 string

// TestOldVersion: a file of an earlier program is brought up to date and
// loses nothing.
func TestOldVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	execute(t, raw(t, path), version1)
	storetest.CheckVersion1(t, mustOpen(t, path))
}
