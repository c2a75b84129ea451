package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scalebench/scalebench/test/program"
)

// Tests that measure have the machine for themselves. The others, which are parallel,
// come after them, and mostly wait: several at a time, whatever the processors.
func TestMain(m *testing.M) { program.Main(m, 6, os.Exit) }

// TestScripts runs what a person would type: testdata/script/*.txtar.
// `go test -run TestScripts -update` rewrites expected output.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SCALEBENCH_DATA", e.WorkDir+"/data")
			return nil
		},
	})
}
