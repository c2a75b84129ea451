package e2e_test

import (
	"os"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// The tests, which are parallel, mostly wait: several at a time, whatever the processors.
func TestMain(m *testing.M) { program.Main(m, 6, os.Exit) }

// installation is one of the program, with what tests of this package ask of it.
type installation struct{ *program.Installation }

func install(t testing.TB, serverArgs ...string) *installation {
	t.Helper()
	return &installation{program.Install(t, serverArgs...)}
}
