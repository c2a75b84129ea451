package attack

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scalebench/scalebench/internal/cli"
)

// TestMain lets the test binary be scalebench itself: a copy of it by that name
// is on the PATH, and starts agents and workloads from itself.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"scalebench": func() {
		env, err := cli.OSEnv()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main(env))
	}})
}
