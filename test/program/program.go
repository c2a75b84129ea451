// Package program lets a test binary be scalebench itself.
package program

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scalebench/scalebench/internal/cli"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/slots"
)

// Main is a TestMain: a copy of the test binary by the name scalebench is on the PATH,
// and starts agents, workloads and servers of load from itself as the real program does.
// That many parallel tests run at once; 0: as many as there are processors. exit is os.Exit,
// which only a main may call.
func Main(m *testing.M, parallel int, exit func(code int)) {
	if code, is := loadserver.Child(); is {
		exit(code)
	}
	if parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			panic(err)
		}
	}
	testscript.Main(m, map[string]func(){"scalebench": func() { exit(run()) }})
}

func run() (code int) {
	env, err := cli.OSEnv()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env.More = []workload.Kind{slots.Kind()}
	return cli.Main(env)
}
