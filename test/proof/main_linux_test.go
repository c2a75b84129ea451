//go:build proof

package proof_test

import (
	"os"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

func TestMain(m *testing.M) { program.Main(m, 0, os.Exit) }

// installation is one of the program, with what tests of this package ask of it.
type installation struct{ *program.Installation }

func install(t testing.TB, serverArgs ...string) *installation {
	t.Helper()
	return &installation{program.Install(t, serverArgs...)}
}

func installForLabs(t *testing.T) *installation {
	t.Helper()
	return &installation{program.InstallForLabs(t)}
}
