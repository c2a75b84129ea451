package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/test/loadserver"
)

// TestMain lets the test binary be scalebench itself: a copy of it by that
// name is on the PATH, and starts agents and workloads from itself as the real
// program does.
//
// Tests that measure have the machine for themselves. The others, which are
// parallel, come after them, and mostly wait: several at a time, whatever the
// processors.
func TestMain(m *testing.M) {
	if code, is := loadserver.Child(); is {
		os.Exit(code)
	}
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"scalebench": func() {
		env, err := cli.OSEnv()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main(env))
	}})
}
